import {
  Action,
  Cache,
  Conditions,
  Controller,
  CustomResource,
  KubeClient,
  Manager,
  ObjectStatus,
  Sync
} from "@effect-operator/core"
import { Pod } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Canonical from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { passed } from "@effect-operator/k8s/testing/simulation/state/Passed"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { blank } from "../recordings.ts"

const Crate = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Crate",
  spec: Schema.Struct({}),
  status: Schema.Struct({ conditions: Schema.optionalKey(Schema.Array(Conditions.Condition)) })
})

/** Says that it is progressing only where it finds that its Pod is not ready. */
const crates = Controller.make("crates", {
  for: Crate,
  owns: [Pod],
  reconcile: Effect.fnUntraced(function*(crate) {
    yield* Sync.children(crate, [Pod], [
      Sync.once(Sync.child(Pod, { metadata: { name: "crate" }, spec: { containers: [{ name: "c", image: "x" }] } }))
    ])
    const pod = yield* Cache.get(Pod, { namespace: "default", name: "crate" })
    const ready = Conditions.isTrue(pod?.status?.conditions, "Ready")
    const known = crate.status?.conditions
    const conditions = ready && Conditions.get(known, "Progressing") === undefined
      ? known ?? []
      : yield* Conditions.state(crate, known, { type: "Progressing", status: !ready, reason: "Pod" })
    yield* ObjectStatus.write(Crate, crate, { conditions })
    return Action.done
  })
})

type Conditions = Readonly<Record<string, "True" | "False">>

const box = (conditions: Conditions, size = 1) => ({
  apiVersion: "planted.example.com/v1",
  kind: "Box",
  metadata: { namespace: "default", name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "" },
  spec: { size },
  status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) }
})

/** A run in which a Box shows these conditions one after the other. */
const run = (...objects: ReadonlyArray<ReturnType<typeof box>>): Recording => ({
  ...blank,
  kinds: ["Box"],
  objects: [objects.at(-1)!],
  entries: objects.map((object) => ({ _tag: "Change", at: 1, change: { type: "MODIFIED", object } }) as never)
})

const alike = (one: Recording, two: Recording): boolean => {
  const [wanted, found] = [one, two].map((its) => Canonical.state(its, new Set()))
  return passed(one, two, wanted!, found!) && passed(two, one, found!, wanted!)
}

const direct = run(box({ Ready: "True" }))
const passing = run(box({ Progressing: "True" }), box({ Progressing: "False", Ready: "True" }))

describe("Passed", () => {
  it("a condition was true on the way, and the other run has never shown it", () => {
    assert.isTrue(alike(passing, direct))
    assert.isTrue(alike(run(box({})), run(box({ Failed: "True" }), box({ Failed: "False" }))))
  })

  it.live("an operator that looks late says nothing of what is over", () =>
    Effect.gen(function*() {
      const report = yield* Simulation.checkConvergence({
        name: "crates",
        resources: [Crate],
        operator: Manager.layer([crates]),
        steps: [{
          name: "create",
          act: KubeClient.KubeClient.use((client) =>
            client.create(Crate, { metadata: { namespace: "default", name: "a" }, spec: {} })
          )
        }]
      }, { depth: 1, faults: ["lostAnswer", "crashAway"], interleavings: 0 })
      assert.notInclude(Simulation.summary(report), "NOT exhaustive")
    }))

  it("not if it was never true, still is, or the other run has removed it", () => {
    assert.isFalse(alike(run(box({ Progressing: "False" }), box({ Progressing: "False", Ready: "True" })), direct))
    assert.isFalse(alike(run(box({ Progressing: "True", Ready: "True" })), direct))
    assert.isFalse(alike(passing, run(box({ Progressing: "True" }), box({ Ready: "True" }))))
  })

  it("not if anything else is different", () => {
    assert.isFalse(alike(passing, run(box({ Ready: "True" }, 2))))
    assert.isFalse(alike(passing, run(box({ Ready: "False" }))))
    assert.isFalse(alike({ ...passing, kinds: [] }, { ...direct, kinds: [] }))
  })
})
