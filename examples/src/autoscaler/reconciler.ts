import { Action, Adoption, Cache, Controller, KubeClient, ObjectStatus, OwnerLabel, Watch } from "@effect-operator/core"
import type { EventRecorder } from "@effect-operator/core/EventRecorder"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { Autoscaler } from "./resource.ts"

/** Marks a Pod with its Autoscaler. An owner reference cannot, since the Pods may live in another namespace. */
export const owner = OwnerLabel.make("test.skuber.io/autoscaler")

const isDead = ({ status }: Pod) => status?.phase === "Failed" || status?.phase === "Succeeded"
const isRunning = ({ status }: Pod) => status?.phase === "Running"

/** The Autoscaler's Pods, grouped by what should happen to them. */
const survey = Effect.fnUntraced(function*(autoscaler: Autoscaler) {
  const { desiredReplicas, image, targetNamespace } = autoscaler.spec
  const owned = yield* Cache.list(Pod, { labels: OwnerLabel.selector(owner, autoscaler) })
  const live = owned.filter((pod) => !isTerminating(pod))
  const available = live.filter((pod) => !isDead(pod) && pod.metadata.namespace === targetNamespace)
  const current = available.filter((pod) => pod.spec.containers[0]?.image === image)
  const outdated = available.filter((pod) => !current.includes(pod))
  // Keep running Pods first, and of those the oldest, so that scaling down disturbs as little as possible.
  const byMerit = current.toSorted((a, b) =>
    Number(isRunning(b)) - Number(isRunning(a)) ||
    a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp) ||
    a.metadata.name.localeCompare(b.metadata.name)
  )
  const running = current.filter(isRunning).length
  return {
    owned,
    available,
    ready: running === desiredReplicas && available.length === desiredReplicas,
    missing: Math.max(0, desiredReplicas - current.length),
    surplus: [
      ...live.filter((pod) => !available.includes(pod)),
      ...byMerit.slice(desiredReplicas),
      // Pods of an old image are deleted once the new ones run.
      ...(running >= desiredReplicas ? outdated : [])
    ]
  }
})

/** Names are made of the uid and a number, so that repeating a create whose response was lost never leaves two Pods. */
function* freeNames(autoscaler: Autoscaler, owned: ReadonlyArray<Pod>): Generator<string, never> {
  const taken = new Set(owned.map(({ metadata }) => metadata.name))
  const base = autoscaler.metadata.name.slice(0, 40).replace(/[^a-z0-9]+$/, "")
  for (let i = 0; true; i++) {
    const name = `${base}-${autoscaler.metadata.uid.slice(0, 8)}-${i}`
    if (!taken.has(name)) yield name
  }
}

/**
 * Creates the Pod. Returns whether a Pod of that name now belongs to the Autoscaler, created now or by a lost request.
 */
const createPod = Effect.fnUntraced(function*(
  autoscaler: Autoscaler,
  name: string,
  events: EventRecorder
) {
  const client = yield* KubeClient.KubeClient
  const { image, targetNamespace } = autoscaler.spec
  const metadata = { name, namespace: targetNamespace, ...OwnerLabel.metadata(owner, autoscaler) }
  return yield* client.create(Pod, { metadata, spec: { containers: [{ name: "replica", image }] } }).pipe(
    Effect.andThen(events.normal({ reason: "REPLICA_CREATED", note: `created Pod ${targetNamespace}/${name}` })),
    Effect.as(true),
    Effect.catchReason(
      "KubeError",
      "AlreadyExists",
      () => Effect.map(client.get(Pod, metadata), (pod) => pod.metadata.labels?.[owner.key] === autoscaler.metadata.uid)
    )
  )
})

const deletePod = Effect.fnUntraced(function*(pod: Pod, events: EventRecorder) {
  const client = yield* KubeClient.KubeClient
  const { name, namespace } = pod.metadata
  yield* client.delete(Pod, pod).pipe(
    Effect.andThen(events.normal({ reason: "REPLICA_DELETED", note: `deleted Pod ${namespace}/${name}` })),
    Effect.catchReason("KubeError", "NotFound", () => Effect.void)
  )
})

export const controller = Controller.make("autoscaler", {
  for: Autoscaler,
  watches: [Watch.labelled(Pod, owner)],

  reconcile: Effect.fn("Autoscaler.reconcile")(function*(autoscaler, { events }) {
    const { missing, owned, surplus } = yield* survey(autoscaler)
    // The cache may be stale, and Pods of an Autoscaler that is already gone would stay forever.
    if (missing > 0 && !(yield* Adoption.isAlive(Autoscaler, autoscaler))) return Action.done
    const names = freeNames(autoscaler, owned)
    for (let made = 0; made < missing;) if (yield* createPod(autoscaler, names.next().value, events)) made += 1
    for (const pod of surplus) yield* deletePod(pod, events)

    // The cache already shows the writes above.
    const { available, ready } = yield* survey(autoscaler)
    yield* ObjectStatus.write(Autoscaler, autoscaler, { availableReplicas: available.length, ready })
    return Action.done
  }),

  finalize: Effect.fn("Autoscaler.finalize")(function*(autoscaler, { events }) {
    const { owned } = yield* survey(autoscaler)
    for (const pod of owned) if (!isTerminating(pod)) yield* deletePod(pod, events)
    const { owned: left } = yield* survey(autoscaler)
    // The deletion of the last Pod triggers the next reconcile; the delay is only a safety net.
    return left.length === 0 ? Action.done : Action.requeueAfter("1 minute")
  })
})
