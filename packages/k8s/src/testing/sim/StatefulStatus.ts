/** `StatefulStatus`: the status of a StatefulSet, from its Pods. Pure. */
import type { StatefulSet, StatefulSetStatus } from "../../kinds/apps.v1.ts"
import type { Pod } from "../../kinds/core.v1.ts"
import { withoutZeros } from "./Numbers.ts"
import * as PodFacts from "./PodFacts.ts"
import { isRunningAndReady, revisionOf } from "./StatefulPods.ts"

/** The names of the current revision and the update revision, and the number of hash collisions. */
export interface Versions {
  readonly current: string
  readonly update: string
  readonly collisions: number
}

/** The canonical form of a status, without zeros. */
export const plain = (status: StatefulSetStatus | undefined): StatefulSetStatus =>
  withoutZeros(status ?? { replicas: 0 }, ["replicas", "availableReplicas", "collisionCount"])

/** The counts of the Pods. `deleted`: Pods of the current revision that were just deleted for the update. */
export const counts = (
  set: StatefulSet,
  versions: Versions,
  pods: ReadonlyArray<Pod>,
  now: number,
  deleted: number
): StatefulSetStatus => {
  const created = pods.filter(({ status }) => (status?.phase ?? "") !== "")
  const staying = created.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const ready = pods.filter(isRunningAndReady)
  const replicas = set.spec.replicas ?? 1
  const status = {
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    replicas: created.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => PodFacts.isAvailable(pod, set.spec.minReadySeconds ?? 0, now)).length,
    currentReplicas: staying.filter((pod) => revisionOf(pod) === versions.current).length - deleted,
    updatedReplicas: staying.filter((pod) => revisionOf(pod) === versions.update).length,
    currentRevision: versions.current,
    updateRevision: versions.update,
    collisionCount: versions.collisions
  }
  const complete = (set.spec.updateStrategy?.type ?? "RollingUpdate") === "RollingUpdate" &&
    status.updatedReplicas === replicas && status.readyReplicas === replicas && status.replicas === replicas
  return plain(
    complete ? { ...status, currentReplicas: status.updatedReplicas, currentRevision: status.updateRevision } : status
  )
}
