import { Action, Controller, Manager, ObjectStatus } from "@effect-operator/core"
import * as Shards from "@effect-operator/core/internal/shardState"
import { ConfigMap, Pod } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import * as Fault from "@effect-operator/k8s/testing/simulation/recording/Fault"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "./planted/Box.ts"

/**
 * What the framework does by itself, in an operator that has nothing in it to go wrong: reflectors and caches, the
 * queue, finalizers, statuses, retries.
 */
const boxes = Controller.make("boxes", {
  for: B.Box,
  owns: [ConfigMap, Pod],
  reconcile: Effect.fnUntraced(function*(box) {
    yield* B.keep(box, "settings", { size: String(box.spec.size) })
    yield* ObjectStatus.write(B.Box, box, {
      count: box.spec.size,
      ...(box.metadata.generation === undefined ? {} : { observedGeneration: box.metadata.generation })
    })
    return Action.requeueAfter("10 minutes")
  }),
  // What is kept elsewhere: one more write, and one that may be done already.
  finalize: () =>
    B.done(
      B.client.use((it) => B.unlessThere(it.create(ConfigMap, B.map("farewell", {}))))
    )
})

const scenario: Simulation.Scenario = {
  name: "framework",
  resources: B.resources,
  operator: Manager.layer([boxes]),
  steps: [
    {
      name: "create",
      act: B.write(1),
      desired: (objects) => objects.some(({ metadata }) => metadata.name === "settings")
    },
    { name: "delete", act: B.remove, desired: (objects) => !objects.some(({ kind }) => kind === B.Box.kind) }
  ]
}

/** Two replicas that share the objects, of which there are several. */
const shared = Controller.make("boxes", {
  for: B.Box,
  owns: [ConfigMap],
  reconcile: (box) => B.done(B.keep(box, box.metadata.name, { size: String(box.spec.size) }))
})
const several = ["red", "green", "blue", "white"]
const sized = (size: number): Simulation.Scenario["steps"][number] => ({
  name: `size ${size}`,
  act: Effect.forEach(several, (name) => B.write(size, { namespace: "default", name }), { discard: true }),
  desired: (objects) =>
    several.every((name) =>
      objects.some((object) =>
        object.kind === "ConfigMap" && object.metadata.name === name &&
        (object as ConfigMap).data?.["size"] === String(size)
      )
    )
})
const sharing: Simulation.Scenario = {
  name: "sharing",
  resources: B.resources,
  replicas: 2,
  operator: ({ identity }) =>
    Manager.layer([shared], {
      identity,
      leaderElection: { namespace: "default", name: "boxes", identity: `op-${identity}`, per: "object" }
    }),
  steps: [sized(1), sized(2)]
}

describe("the framework under simulation", () => {
  it.live("hears everything whatever becomes of its watches, at every event", () =>
    Effect.gen(function*() {
      const options = { depth: 1, faults: Fault.allEventFaults, interleavings: 3 } as const
      const report = yield* Simulation.checkConvergence(scenario, options)
      assert.isTrue(report.exhaustive, Simulation.summary(report))
      assert.isAtLeast(report.points, 7 * 4)
    }))

  it.live("goes on after a crash at every request, with old lists and with new ones", () =>
    Effect.gen(function*() {
      const faults = ["crashBefore", "crashAfter", "staleRestart", "oldRestart"] as const
      const report = yield* Simulation.checkConvergence(scenario, { depth: 1, faults, interleavings: 0 })
      assert.isTrue(report.exhaustive, Simulation.summary(report))
      assert.isAtLeast(report.points, 4 * 5)
    }))

  it.live("tries again whatever is answered to every request", () =>
    Effect.gen(function*() {
      const faults = ["serverError", "unavailable", "throttled", "conflict", "lostRequest", "lostAnswer"] as const
      const report = yield* Simulation.checkConvergence(scenario, { depth: 1, faults, interleavings: 0 })
      assert.isTrue(report.exhaustive, Simulation.summary(report))
    }))

  it.live(
    "shares objects among replicas, whatever becomes of their leases, their connections, and themselves",
    () =>
      Effect.gen(function*() {
        const members = ["op-replica-0", "op-replica-1"]
        const owners = new Set(several.map((name) => Shards.ownerOf(members, `default/${name}`)))
        assert.deepStrictEqual([...owners].sort(), members, "both have something to do")
        const report = yield* Simulation.checkConvergence(sharing, {
          depth: 1,
          runs: 28,
          interleavings: 1,
          budget: "2 minutes"
        })
        assert.isAbove(report.byFault["cutOff"]!.run, 1)
        assert.isAbove(report.histories, 18)
      }),
    { timeout: 300_000 }
  )
})
