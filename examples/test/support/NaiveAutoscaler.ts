/**
 * An Autoscaler as one would write it first: it remembers in its status how many Pods it has made, and makes the rest.
 *
 * It works, as long as nothing goes wrong; docs/simulation.md tells what does.
 */
import { Action, Controller, KubeClient, OwnerLabel } from "@effect-operator/core"
import { Autoscaler } from "@effect-operator/examples/autoscaler/resource"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"

const owner = OwnerLabel.make("test.skuber.io/autoscaler")

export const controller = Controller.make("naive-autoscaler", {
  for: Autoscaler,

  reconcile: Effect.fn("NaiveAutoscaler.reconcile")(function*(autoscaler) {
    const client = yield* KubeClient.KubeClient
    const { desiredReplicas, image, targetNamespace } = autoscaler.spec
    const made = autoscaler.status?.availableReplicas ?? 0
    for (let i = made; i < desiredReplicas; i++) {
      yield* client.create(Pod, {
        metadata: {
          generateName: `${autoscaler.metadata.name}-`,
          namespace: targetNamespace,
          ...OwnerLabel.metadata(owner, autoscaler)
        },
        spec: { containers: [{ name: "replica", image }] }
      })
      const status = { availableReplicas: i + 1, ready: i + 1 === desiredReplicas }
      yield* client.patch(Autoscaler, autoscaler, KubeClient.Patch.merge({ status }), { subresource: "status" })
    }
    return Action.done
  })
})
