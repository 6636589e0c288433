import { Controller, Manager } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Pod, Service } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "./planted/Box.ts"

const app = { app: "web" }

/** Serves a Pod for each unit of size; ends everything at one moment. */
const serving = Controller.make("serving", {
  for: B.Box,
  reconcile: Effect.fnUntraced(function*(box) {
    const it = yield* B.client
    if (box.status?.phase === "Made") return yield* B.done(Effect.void)
    yield* it.create(Service, { metadata: B.named("web"), spec: { clusterIP: "None", selector: app } })
    const owner = yield* it.create(ConfigMap, { metadata: B.named("owner") })
    for (let i = 0; i < box.spec.size; i++) {
      yield* it.create(Pod, {
        metadata: { ...B.named(`web-${i}`), labels: app, ownerReferences: [controllerReference(owner)] },
        spec: { containers: [{ name: "c", image: "x" }] }
      })
    }
    return yield* B.done(B.status(box, { phase: "Made" }))
  }),
  finalize: () =>
    B.done(
      B.client.use((it) => Effect.andThen(it.delete(Service, B.named("web")), it.delete(ConfigMap, B.named("owner"))))
    )
})

describe("the cluster of a simulation", () => {
  it("makes no slices again for a Service of whose end only the garbage collector knows", () => {
    const { entries, failure, objects } = Simulation.record({
      name: "serving",
      resources: B.resources,
      operator: Manager.layer([serving]),
      steps: [...B.sized(2), ...B.deleted]
    })
    assert.isUndefined(failure)
    const made = entries.filter((entry) =>
      entry._tag === "Change" && entry.change.type === "ADDED" && entry.change.object.kind === "EndpointSlice"
    )
    assert.strictEqual(made.length, 1)
    assert.deepStrictEqual(objects.filter(({ kind }) => kind !== "Event" && kind !== "Namespace"), [])
  })
})
