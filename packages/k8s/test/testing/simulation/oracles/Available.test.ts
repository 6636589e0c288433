import { Action, Cache } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { Pod, Service } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"

/** A Service in front of a Pod of each size; it takes over the one of a Box that is gone, and turns it with that. */
const fronted = B.boxes((box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const labels = { size: `v${box.spec.size}` }
    const pod = B.podOf(box, { name: labels.size })
    if (!(yield* Cache.list(Pod, { owner: box })).some(({ metadata }) => metadata.name === labels.size)) {
      yield* B.unlessThere(it.create(Pod, { ...pod, metadata: { ...pod.metadata, labels } }))
    }
    const metadata = { ...B.named("front"), ownerReferences: [controllerReference(box)] }
    yield* it.apply(Service, { metadata, spec: { selector: labels, ports: [{ port: 80 }] } }, { force: true })
    for (const old of yield* Cache.list(Pod, { owner: box })) {
      if (old.metadata.name !== labels.size) yield* B.unlessGone(it.delete(Pod, old))
    }
    return Action.done
  }), { owns: [Pod, Service] })

const explored = (steps: B.Steps) =>
  Simulation.checkConvergence({ name: "fronted", resources: B.resources, operator: fronted, steps }, {
    depth: 1,
    faults: ["together"],
    interleavings: 0,
    shrinking: "0 seconds"
  })

describe("Services select only ready Pods", () => {
  it.live("says nothing of a Service that the next Box of its name takes over from one that is gone", () =>
    Effect.gen(function*() {
      const { run } = yield* explored([...B.sized(1), ...B.deleted, { name: "anew", act: B.write(2) }])
      assert.isAbove(run, 0)
    }))

  it.live("says that the Service of a Box is turned too soon", () =>
    Effect.gen(function*() {
      const { oracle } = yield* Effect.flip(explored(B.sized(1, 2)))
      assert.strictEqual(oracle, "Services select only ready Pods")
    }))
})
