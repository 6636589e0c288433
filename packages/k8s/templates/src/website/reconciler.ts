import { Action, Cache, Conditions, Controller, ObjectStatus, Sync } from "@effect-operator/core"
import { Deployment } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { Website } from "./resource.ts"

/** The desired Deployment of a Website. */
const deploymentOf = ({ metadata: { name }, spec: { image, replicas } }: Website) => {
  const labels = { "app.kubernetes.io/name": "website", "app.kubernetes.io/instance": name }
  return Sync.child(Deployment, {
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "website", image }] } }
    }
  })
}

/** Called whenever a Website or its Deployment changes. Brings the cluster to the state that the Website declares. */
export const controller = Controller.make("website", {
  for: Website,
  owns: [Deployment],

  reconcile: Effect.fn("Website.reconcile")(function*(website) {
    yield* Sync.children(website, [Deployment], [deploymentOf(website)])

    const { replicas } = website.spec
    const availableReplicas = (yield* Cache.get(Deployment, website.metadata))?.status?.availableReplicas ?? 0
    const ready = availableReplicas === replicas
    const conditions = yield* Conditions.state(website, website.status?.conditions, {
      type: "Ready",
      status: ready,
      reason: ready ? "Available" : "Progressing",
      message: `${availableReplicas} of ${replicas} Pods are available`
    })
    yield* ObjectStatus.write(Website, website, { availableReplicas, conditions })
    return Action.done
  })
})
