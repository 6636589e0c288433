import { Action, Cache, Controller, KubeClient, ObjectStatus } from "@effect-operator/core"
import { controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { PodSet } from "./resource.ts"

const isDead = ({ status }: Pod) => status?.phase === "Failed" || status?.phase === "Succeeded"

/** The PodSet's Pods that are not terminating, oldest first. */
const ownedPods = Effect.fnUntraced(function*(podset: PodSet) {
  const pods = yield* Cache.list(Pod, { namespace: podset.metadata.namespace, owner: podset })
  return pods.filter((pod) => !isTerminating(pod)).sort((a, b) =>
    a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp) ||
    a.metadata.name.localeCompare(b.metadata.name)
  )
})

/** A label value has at most 63 characters, a name up to 253. */
const labelValue = (name: string) => name.slice(0, 63).replace(/[^a-z0-9]+$/, "")

const createPod = Effect.fnUntraced(function*(podset: PodSet) {
  const client = yield* KubeClient.KubeClient
  return yield* client.create(Pod, {
    metadata: {
      generateName: `${podset.metadata.name}-pod-`,
      namespace: podset.metadata.namespace,
      labels: { app: labelValue(podset.metadata.name), version: "v0.1" },
      ownerReferences: [controllerReference(podset)]
    },
    spec: { containers: [{ name: "busybox", image: "busybox", command: ["sleep", "3600"] }] }
  })
})

export const controller = Controller.make("podset", {
  for: PodSet,
  owns: [Pod],

  reconcile: Effect.fn("PodSet.reconcile")(function*(podset, { events }) {
    const client = yield* KubeClient.KubeClient
    const pods = yield* ownedPods(podset)
    const available = pods.filter((pod) => !isDead(pod))

    for (let i = available.length; i < podset.spec.replicas; i++) {
      const pod = yield* createPod(podset)
      yield* events.normal({ reason: "PodCreated", note: `created Pod ${pod.metadata.name}` })
    }
    for (const pod of [...pods.filter(isDead), ...available.slice(podset.spec.replicas)]) {
      yield* client.delete(Pod, pod).pipe(
        Effect.andThen(events.normal({ reason: "PodDeleted", note: `deleted Pod ${pod.metadata.name}` })),
        Effect.catchReason("KubeError", "NotFound", () => Effect.void)
      )
    }

    // The cache already shows the writes above.
    const podNames = (yield* ownedPods(podset)).filter((pod) => !isDead(pod)).map(({ metadata }) => metadata.name)
      .sort()
    yield* ObjectStatus.write(PodSet, podset, { readyReplicas: podNames.length, podNames })
    return Action.done
  })
})
