import {
  Action,
  Cache,
  Conditions,
  Controller,
  type EventRecorder,
  KubeClient,
  ObjectStatus,
  Sync
} from "@effect-operator/core"
import { controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { BasicDeployment, BasicReplicaSet } from "./resource.ts"
import * as Rollout from "./rollout.ts"

export const revisionAnnotation = "apps.example.com/revision"
/** The generation of the BasicDeployment for which a set was last current. */
export const generationAnnotation = "apps.example.com/deployment-generation"

const isDead = ({ status }: Pod) => status?.phase === "Failed" || status?.phase === "Succeeded"
export const isReady = (pod: Pod) =>
  !isTerminating(pod) &&
  pod.status?.conditions?.some(({ status, type }) => type === "Ready" && status === "True") === true

/** The set's Pods, those to keep first: ready before unready, then old before young. */
const ownedPods = Effect.fnUntraced(function*(set: BasicReplicaSet) {
  const pods = yield* Cache.list(Pod, { namespace: set.metadata.namespace, owner: set })
  return pods.filter((pod) => !isTerminating(pod)).sort((a, b) =>
    Number(isReady(b)) - Number(isReady(a)) ||
    a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp) ||
    a.metadata.name.localeCompare(b.metadata.name)
  )
})

export const replicaSets = Controller.make("basicreplicaset", {
  for: BasicReplicaSet,
  owns: [Pod],

  reconcile: Effect.fn("BasicReplicaSet.reconcile")(function*(set, { events }) {
    const client = yield* KubeClient.KubeClient
    const { image, replicas } = set.spec
    const pods = yield* ownedPods(set)
    const live = pods.filter((pod) => !isDead(pod))
    for (let i = live.length; i < replicas; i++) {
      const { metadata } = yield* client.create(Pod, {
        metadata: {
          generateName: `${set.metadata.name.slice(0, 50)}-`,
          namespace: set.metadata.namespace,
          ownerReferences: [controllerReference(set)]
        },
        spec: { containers: [{ name: "app", image }] }
      })
      yield* events.normal({ reason: "PodCreated", note: `created Pod ${metadata.name}` })
    }
    for (const pod of [...pods.filter(isDead), ...live.slice(replicas)]) {
      yield* client.delete(Pod, pod).pipe(
        Effect.andThen(events.normal({ reason: "PodDeleted", note: `deleted Pod ${pod.metadata.name}` })),
        Effect.catchReason("KubeError", "NotFound", () => Effect.void)
      )
    }
    const left = yield* ownedPods(set)
    yield* ObjectStatus.write(BasicReplicaSet, set, {
      replicas: left.length,
      activeReplicas: left.filter(isReady).length,
      observedGeneration: set.metadata.generation ?? 0
    })
    return Action.done
  })
})

const revisionOf = (set: BasicReplicaSet) => Number(set.metadata.annotations?.[revisionAnnotation] ?? 0)

const generationOf = (set: BasicReplicaSet | undefined) =>
  Number(set?.metadata.annotations?.[generationAnnotation] ?? 0)

const toRevision = (set: BasicReplicaSet): Rollout.Revision => ({
  name: set.metadata.name,
  image: set.spec.image,
  revision: revisionOf(set),
  replicas: set.spec.replicas,
  active: set.status?.activeReplicas ?? 0,
  answered: set.status?.observedGeneration === set.metadata.generation
})

/** Turns `rollbackTo` into a change of the image, which then rolls out like any other. */
const rollBack = Effect.fnUntraced(function*(
  deployment: BasicDeployment,
  sets: ReadonlyArray<Rollout.Revision>,
  rollbackTo: number,
  events: EventRecorder.EventRecorder
) {
  const client = yield* KubeClient.KubeClient
  const byAge = sets.toSorted((a, b) => a.revision - b.revision)
  const to = rollbackTo === 0 ? byAge.at(-2) : byAge.find(({ revision }) => revision === rollbackTo)
  yield* client.patch(
    BasicDeployment,
    deployment,
    KubeClient.Patch.merge({
      // If the spec has changed meanwhile, this is a conflict, and the reconcile is repeated.
      metadata: { resourceVersion: deployment.metadata.resourceVersion },
      spec: { rollbackTo: null, ...(to === undefined ? {} : { image: to.image }) }
    })
  )
  const which = rollbackTo === 0 ? "before the last" : `${rollbackTo}`
  yield* to === undefined
    ? events.warning({ reason: "RollbackRevisionNotFound", note: `there is no revision ${which}` })
    : events.normal({ reason: "RolledBack", note: `rolls back to revision ${to.revision}, ${to.image}` })
})

export const deployments = Controller.make("basicdeployment", {
  for: BasicDeployment,
  owns: [BasicReplicaSet],

  reconcile: Effect.fn("BasicDeployment.reconcile")(function*(deployment, { events }) {
    const { namespace, name, generation = 0 } = deployment.metadata
    const { rollbackTo, ...spec } = deployment.spec
    const found = yield* Cache.list(BasicReplicaSet, { namespace, owner: deployment })
    // A set that was made for a later generation shows that the cached spec is stale: acting on it would roll back.
    if (found.some((set) => generationOf(set) > generation)) return Action.awaitChange
    const sets = found.filter((set) => !isTerminating(set)).map(toRevision)
    if (rollbackTo !== undefined) {
      yield* rollBack(deployment, sets, rollbackTo, events)
      return Action.done
    }

    const wanted = Rollout.next({ name, ...spec }, sets)
    const [current] = wanted
    const byName = new Map(found.map((set) => [set.metadata.name, set]))
    yield* Sync.children(
      deployment,
      [BasicReplicaSet],
      wanted.map(({ image, name, replicas, revision }) =>
        Sync.child(BasicReplicaSet, {
          metadata: {
            name,
            annotations: {
              [revisionAnnotation]: `${revision}`,
              [generationAnnotation]: `${name === current.name ? generation : generationOf(byName.get(name))}`
            }
          },
          spec: { image, replicas }
        })
      )
    )
    const before = sets.find(({ image }) => image === spec.image)
    if (current.revision !== before?.revision) {
      yield* events.normal({
        reason: "RolloutStarted",
        note: `rolls out ${spec.image} as revision ${current.revision}`
      })
    }

    const active = Math.min(current.active, current.replicas)
    const pods = Rollout.total(wanted)
    const ready = active === spec.replicas && pods === spec.replicas && current.answered
    if (ready && deployment.status?.ready === false) {
      yield* events.normal({ reason: "RolloutDone", note: `revision ${current.revision} is rolled out` })
    }
    const conditions = yield* Conditions.state(deployment, deployment.status?.conditions, {
      type: "Ready",
      status: ready,
      reason: ready ? "RolledOut" : "RollingOut",
      message: ready
        ? `revision ${current.revision} is rolled out`
        : `${current.name}: ${active} of ${spec.replicas} ready; ${pods - current.replicas} of older revisions`
    })
    yield* ObjectStatus.write(BasicDeployment, deployment, {
      ready,
      revision: current.revision,
      replicas: pods,
      updatedReplicas: current.replicas,
      availableReplicas: Rollout.available(wanted),
      observedGeneration: generation,
      conditions
    })
    return Action.done
  })
})

export const controllers = [deployments, replicaSets]
