import { Action, Cache } from "@effect-operator/core"
import { ConfigMap, Pod } from "@effect-operator/k8s/kinds"
import { External, Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"

/** Makes ConfigMaps one after the other, under names that were never given before, with what `name` makes of the number. */
const numbering = (name: (n: number) => string) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const maps = yield* Cache.list(ConfigMap, { owner: box })
      for (const extra of maps.slice(box.spec.size)) yield* B.unlessGone(it.delete(ConfigMap, extra))
      if (maps.length >= box.spec.size) return Action.done
      const next = box.status?.count ?? 0
      yield* B.status(box, { count: next + 1 })
      yield* B.unlessThere(it.create(ConfigMap, B.map(name(next), {}, box)))
      return Action.requeue
    }), { owns: [ConfigMap] })

const explored = (operator: Simulation.Operator, steps: B.Steps = B.sized(2)) =>
  Simulation.checkConvergence({ name: "numbering", resources: B.resources, operator, steps }, {
    depth: 1,
    faults: ["crashAfter"],
    interleavings: 0,
    shrinking: "0 seconds"
  })

describe("Numbered", () => {
  it.live("a number that names are made of may leave one out", () =>
    Effect.gen(function*() {
      const { run } = yield* explored(numbering((n) => `box-${n}`))
      assert.isAbove(run, 0)
    }))

  it.live("so may one that begins anew, as those of an earlier object of that name are not its own", () =>
    Effect.gen(function*() {
      const steps = [...B.sized(3), ...B.deleted, ...B.sized(1)]
      const { run } = yield* explored(numbering((n) => `box-${n}`), steps)
      assert.isAbove(run, 0)
    }))

  it.live("nor does it matter which of those names are outside, too", () =>
    Effect.gen(function*() {
      const members = External.state("members", () => new Set<string>())
      const joining = B.boxes((box) =>
        Effect.gen(function*() {
          const it = yield* B.client
          const pods = (yield* B.living(box)).filter((pod) => !B.isFailed(pod))
          const names = new Set(pods.map(({ metadata }) => metadata.name))
          const next = box.status?.count ?? 0
          if (pods.length < box.spec.size) {
            yield* B.status(box, { count: next + 1 })
            yield* B.unlessThere(it.create(Pod, B.podOf(box, { name: `box-${next}` })))
            return Action.requeue
          }
          yield* External.call(
            "members",
            () => "the members do not answer",
            Effect.map(members, (all) => {
              all.clear()
              for (const name of names) all.add(name)
            })
          )
          return Action.done
        })
      )
      const { run } = yield* explored(joining)
      assert.isAbove(run, 0)
    }))

  it.live("a number that counts something else may not", () =>
    Effect.gen(function*() {
      const { complaint } = yield* Effect.flip(explored(numbering((n) => (n % 2 === 0 ? "even" : "odd"))))
      assert.include(complaint, "Box.status.count")
    }))
})
