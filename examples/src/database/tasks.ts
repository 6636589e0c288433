/**
 * One-time tasks of a Database. Each is a Job whose name says what it is for, so that a crash neither repeats nor
 * forgets it.
 */
import { Cache, KubeClient, type KubeError, OwnerLabel } from "@effect-operator/core"
import { controllerReference, isTerminating, type ObjectRef } from "@effect-operator/core/KubeObject"
import { Job, PersistentVolumeClaim } from "@effect-operator/k8s/kinds"
import { Clock, Effect } from "effect"
import type { Database } from "./resource.ts"

/** Marks Pods and claims. Claims have no owner reference, since backups outlive their Database. */
export const owner = OwnerLabel.make("stable.imaginedata.com/database")
/** Annotation of a backup's claim: when the backup was completed. */
export const completed = "stable.imaginedata.com/completed"
/** Annotation of a backup's claim: what the backup was made for. */
export const purpose = "stable.imaginedata.com/backup"

/**
 * How long to wait for a running task before checking it again, in milliseconds. Usually the end of its Job triggers
 * the reconcile, but not if the Job has lost its owner reference.
 */
export const patience = 30_000

const nameOf = ({ metadata }: Database, what: string) =>
  `${metadata.name.slice(0, 28).replace(/[^a-z0-9]+$/, "")}-${metadata.uid.slice(0, 8)}-${what}`

export const outcome = ({ status }: Job): "Running" | "Succeeded" | "Failed" => {
  const ended = (type: string) => status?.conditions?.some((c) => c.type === type && c.status === "True") === true
  return ended("Complete") ? "Succeeded" : ended("Failed") ? "Failed" : "Running"
}

/** How long a failed Job is kept until the next attempt, in milliseconds. */
export const untilRetry = ({ status }: Job) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const failed = status?.conditions?.find(({ type }) => type === "Failed")?.lastTransitionTime
    return Math.max(0, Date.parse(failed ?? "1970-01-01T00:00:00Z") + 60_000 - now)
  })

/** If the object exists already, this has created it before: its name contains the owner's uid. */
const unlessThere = <A>(create: Effect.Effect<A, KubeError.KubeError>): Effect.Effect<unknown, KubeError.KubeError> =>
  Effect.catchReason(create, "KubeError", "AlreadyExists", () => Effect.void)

/**
 * Deletes an object and what it owns. A claim is deleted only if it is unchanged: the cached claim may not show yet
 * that its backup is complete, or the cached Jobs which Job filled it. Then the delete is a conflict, and the reconcile
 * is repeated.
 */
export const remove = Effect.fnUntraced(function*(object: Job | PersistentVolumeClaim) {
  const client = yield* KubeClient.KubeClient
  const options = { propagationPolicy: "Background" } as const
  if (isTerminating(object)) return
  const { resourceVersion, uid } = object.metadata
  const deleted: Effect.Effect<unknown, KubeError.KubeError> = object.kind === "Job"
    ? client.delete(Job, object, options)
    : client.delete(PersistentVolumeClaim, object, { ...options, preconditions: { uid, resourceVersion } })
  yield* Effect.catchReason(deleted, "KubeError", "NotFound", () => Effect.void)
})

/** The outcome of a task, which the first call starts. `claim` is mounted as `/backup`. */
export const run = Effect.fnUntraced(function*(
  database: Database,
  what: string,
  command: ReadonlyArray<string>,
  { claim, image = database.status?.image ?? database.spec.image }: {
    readonly claim?: string
    readonly image?: string
  } = {}
) {
  const client = yield* KubeClient.KubeClient
  const { namespace, name: databaseName } = database.metadata
  const name = nameOf(database, what)
  const job = yield* Cache.get(Job, { namespace, name })
  if (job !== undefined) return outcome(job)
  const volumes = claim === undefined ? [] : [{ name: "backup", persistentVolumeClaim: { claimName: claim } }]
  const container = {
    name: what.replace(/-.*/, ""),
    image,
    command: [...command],
    envFrom: [{ configMapRef: { name: `${databaseName}-connection` } }, {
      secretRef: { name: `${databaseName}-credentials` }
    }],
    volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))
  }
  yield* unlessThere(client.create(Job, {
    metadata: { namespace, name, ownerReferences: [controllerReference(database)] },
    spec: { backoffLimit: 0, template: { spec: { restartPolicy: "Never", containers: [container], volumes } } }
  }))
  return "Running" as const
})

/**
 * A backup: a claim without an owner reference, so that it outlives the Database, and a Job that fills it. It counts
 * once the claim is annotated as complete, whatever happens to the Job.
 */
export const backup = Effect.fnUntraced(function*(database: Database, what: string) {
  const client = yield* KubeClient.KubeClient
  const { namespace } = database.metadata
  const name = nameOf(database, `backup-${what}`)
  const claim = yield* Cache.get(PersistentVolumeClaim, { namespace, name })
  if (claim?.metadata.annotations?.[completed] !== undefined) return { name, outcome: "Succeeded" } as const
  if (claim === undefined) {
    const { annotations, labels } = OwnerLabel.metadata(owner, database)
    yield* unlessThere(client.create(PersistentVolumeClaim, {
      metadata: { namespace, name, labels, annotations: { ...annotations, [purpose]: what } },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: database.spec["storage-size"] } } }
    }))
  }
  const outcome = yield* run(database, `backup-${what}`, ["dump", "--to", "/backup"], { claim: name })
  if (outcome === "Succeeded") yield* complete({ namespace, name })
  return { name, outcome }
})

/** Annotates a claim as complete once its Job has succeeded. */
const complete = Effect.fnUntraced(function*(claim: ObjectRef) {
  const client = yield* KubeClient.KubeClient
  const job = yield* Cache.get(Job, claim)
  if (job === undefined || outcome(job) !== "Succeeded") return
  const annotations = { [completed]: job.status?.completionTime ?? "" }
  yield* client.patch(PersistentVolumeClaim, claim, KubeClient.Patch.merge({ metadata: { annotations } }))
})

/** The claims of a Database's backups: complete ones by time of completion, and incomplete ones. */
export const backups = Effect.fnUntraced(function*(database: Database) {
  const { namespace } = database.metadata
  const claims = yield* Cache.list(PersistentVolumeClaim, { namespace, labels: OwnerLabel.selector(owner, database) })
  const found = claims.filter((claim) => purpose in (claim.metadata.annotations ?? {}) && !isTerminating(claim))
  const when = (claim: PersistentVolumeClaim) => claim.metadata.annotations?.[completed] ?? ""
  return {
    complete: found.filter((claim) => when(claim) !== "").sort((a, b) =>
      when(a).localeCompare(when(b)) || a.metadata.name.localeCompare(b.metadata.name)
    ),
    incomplete: found.filter((claim) => when(claim) === "")
  }
})

/**
 * Completes the backups whose end triggered no reconcile, for instance because the Job had lost its owner reference.
 */
export const completeAll = Effect.fnUntraced(function*(database: Database) {
  const { incomplete } = yield* backups(database)
  for (const { metadata } of incomplete) yield* complete(metadata)
})
