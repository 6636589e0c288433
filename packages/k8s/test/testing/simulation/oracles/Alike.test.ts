import { Action, Cache, Controller, CustomResource, Manager } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { alike } from "@effect-operator/k8s/testing/simulation/oracles/Alike"
import * as Reference from "@effect-operator/k8s/testing/simulation/running/Reference"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as B from "../planted/Box.ts"

const said = (operator: Simulation.Operator, steps: B.Steps): string | undefined => {
  const scenario = { name: "alike", resources: B.resources, operator, steps }
  const reference = Reference.of(scenario, whole(scenario), 1, false)
  return alike.judge(reference.recording, reference)
}

/** A ConfigMap that says the size, under a generated name: one for each, or one for all that `are` found. */
const noting = (found: (box: B.Box) => Effect.Effect<ReadonlyArray<ConfigMap>, unknown, any>, more = Action.done) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      if ((yield* found(box)).length > 0) return more
      const { data, metadata } = B.map("box-", { size: String(box.spec.size) }, box)
      const { name: generateName, ...rest } = metadata
      yield* it.create(ConfigMap, { data, metadata: { ...rest, generateName } })
      return Action.done
    })
  )

const all = () => Cache.list(ConfigMap, { namespace: "default" })
const own = (box: B.Box) => Cache.list(ConfigMap, { owner: box })

describe("Alike", () => {
  it("says who has nothing, as it takes what another has for its own", () => {
    assert.strictEqual(
      said(noting(all), B.sized(1)),
      "Box box has 1 of kind ConfigMap; another one like it, box-too, has only 0, and nothing reports that " +
        "(one takes over what belongs to the other, by a label that both share, for example)"
    )
    assert.isUndefined(said(noting(own), B.sized(1)))
  })

  it("nothing where that is told, in a word or a number", () => {
    const telling = (status: (isFirst: boolean) => NonNullable<B.Box["status"]>) =>
      B.boxes((box) =>
        Effect.gen(function*() {
          const it = yield* B.client
          const { data, metadata: { name: generateName, ...metadata } } = B.map("box-", {}, box)
          const maps = yield* all()
          const mine = yield* own(box)
          if (maps.length === 0) yield* it.create(ConfigMap, { data, metadata: { ...metadata, generateName } })
          yield* B.status(box, status(maps.length === mine.length))
          return Action.done
        })
      )
    assert.isUndefined(said(telling((isFirst) => ({ phase: isFirst ? "Ready" : "Waiting" })), B.sized(1)))
    assert.isUndefined(said(telling((isFirst) => ({ count: isFirst ? 1 : 0 })), B.sized(1)))
    assert.isDefined(said(telling(() => ({ count: 1, phase: "Ready" })), B.sized(1)))
  })

  it("nothing of what is for all that have the same word in their specs", () => {
    const Club = CustomResource.make({
      group: "planted.example.com",
      version: "v1",
      kind: "Club",
      spec: Schema.Struct({ team: Schema.String })
    })
    const clubs = (labelled: boolean) =>
      Manager.layer([Controller.make("clubs", {
        for: Club,
        owns: [ConfigMap],
        reconcile: (club) =>
          B.client.use((it) =>
            Effect.gen(function*() {
              const labels = { team: labelled ? club.spec.team : "all" }
              const ownerReferences = [controllerReference(club)]
              const metadata = { namespace: "default", generateName: "club-", labels, ownerReferences }
              if ((yield* Cache.list(ConfigMap, { labels })).length === 0) yield* it.create(ConfigMap, { metadata })
              return Action.done
            })
          )
      })])
    const found = (labelled: boolean, team = "red") => {
      const act = B.client.use((it) => it.create(Club, { metadata: B.key, spec: { team } }))
      const scenario = { name: "clubs", resources: [Club], operator: clubs(labelled), steps: [{ name: "a club", act }] }
      const reference = Reference.of(scenario, whole(scenario), 1, false)
      return alike.judge(reference.recording, reference)
    }
    assert.isUndefined(found(true))
    assert.isDefined(found(false))
    // There is a namespace of that name, which is nobody's doing.
    assert.isDefined(found(false, "default"))
  })

  it("nothing of what is a history of what was asked for, nor of what has a name of the program's own", () => {
    const history = noting((box) =>
      Effect.map(own(box), (maps) => maps.filter(({ data }) => data?.["size"] === String(box.spec.size)))
    )
    assert.isUndefined(said(history, B.sized(1, 2)))
    assert.isUndefined(said(B.boxes((box) => B.done(B.keep(box, "box-settings", {}))), B.sized(1)))
  })
})
