import {
  Action,
  Cache,
  Controller,
  CustomResource,
  KubeClient,
  Manager,
  OwnerLabel,
  Watch
} from "@effect-operator/core"
import { LiveClient, runMain } from "@effect-operator/k8s"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect, Layer, Schema } from "effect"

export const Autoscaler = CustomResource.make({
  group: "test.skuber.io",
  version: "v1",
  kind: "Autoscaler",
  spec: Schema.Struct({
    targetNamespace: Schema.NonEmptyString,
    desiredReplicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
    image: Schema.NonEmptyString
  }),
  status: Schema.Struct({ availableReplicas: Schema.Int, ready: Schema.Boolean })
})
export type Autoscaler = typeof Autoscaler.Type

const owner = OwnerLabel.make("test.skuber.io/autoscaler")

export const controller = Controller.make("autoscaler", {
  for: Autoscaler,
  watches: [Watch.labelled(Pod, owner)],
  reconcile: Effect.fn("Autoscaler.reconcile")(function*(autoscaler, { events }) {
    const client = yield* KubeClient.KubeClient
    const { desiredReplicas, image, targetNamespace } = autoscaler.spec
    const owned = Cache.list(Pod, { namespace: targetNamespace, labels: OwnerLabel.selector(owner, autoscaler) })

    const pods = yield* owned
    for (let i = pods.length; i < desiredReplicas; i++) {
      const pod = yield* client.create(Pod, {
        metadata: { generateName: "replica-", namespace: targetNamespace, ...OwnerLabel.metadata(owner, autoscaler) },
        spec: { containers: [{ name: "replica", image }] }
      })
      yield* events.normal({ reason: "REPLICA_CREATED", note: `created ${pod.metadata.name}` })
    }
    for (const pod of pods.slice(desiredReplicas)) yield* client.delete(Pod, pod)

    const availableReplicas = (yield* owned).length // the cache already shows the writes above
    const status = { availableReplicas, ready: availableReplicas === desiredReplicas }
    if (autoscaler.status?.availableReplicas !== availableReplicas) {
      yield* client.patch(Autoscaler, autoscaler, KubeClient.Patch.merge({ status }), { subresource: "status" })
    }
    return Action.done
  })
})

// main.ts
if (import.meta.main) {
  Manager.layer([controller]).pipe(Layer.provide(LiveClient.layer), Manager.launch, runMain)
}
