import { Action, Cache, Controller, ObjectStatus, Watch } from "@effect-operator/core"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { Autoscaler } from "./resource.ts"

/**
 * The label with which a Pod names its Autoscaler, in the same namespace. A change of such a Pod reconciles it at once.
 */
export const label = "scaling.example.com/autoscaler"

export const defaults = { minReplicas: 1, maxReplicas: 10, period: "30 seconds" } as const

const isReady = (pod: Pod) =>
  !isTerminating(pod) && pod.status?.phase === "Running" &&
  (pod.status.containerStatuses ?? []).every(({ ready }) => ready)

export const controller = Controller.make("autoscaler-observing", {
  for: Autoscaler,
  watches: [
    Watch.make(Pod, {
      map: ({ metadata: { labels, namespace } }) =>
        labels?.[label] === undefined ? [] : [{ namespace, name: labels[label] }]
    })
  ],
  concurrency: 2,

  reconcile: Effect.fn("Autoscaler.reconcile")(function*(autoscaler, { events }) {
    const { maxReplicas = defaults.maxReplicas, minReplicas = defaults.minReplicas, selector } = autoscaler.spec
    // An empty selector would select every Pod.
    const pods = Object.keys(selector).length === 0
      ? []
      : yield* Cache.list(Pod, { namespace: autoscaler.metadata.namespace, labels: selector })
    const currentReplicas = pods.filter(isReady).length
    const desiredReplicas = Math.max(minReplicas, Math.min(maxReplicas, currentReplicas))
    const message = currentReplicas === desiredReplicas
      ? `Running ${currentReplicas} replicas`
      : `Scaling from ${currentReplicas} to ${desiredReplicas} replicas`
    if (message !== autoscaler.status?.message) yield* events.normal({ reason: "Observed", note: message })
    yield* ObjectStatus.write(Autoscaler, autoscaler, { currentReplicas, desiredReplicas, message })
    return Action.requeueAfter(defaults.period)
  })
})
