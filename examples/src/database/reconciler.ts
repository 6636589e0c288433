import {
  Action,
  Cache,
  Controller,
  type EventRecorder,
  KubeClient,
  ObjectStatus,
  OwnerLabel,
  Sync,
  Watch
} from "@effect-operator/core"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { ConfigMap, Job, PersistentVolumeClaim, Pod, Secret, Service, StatefulSet } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Backups from "./backups.ts"
import * as Children from "./children.ts"
import { Database } from "./resource.ts"
import { say, sayRefused, type Status } from "./status.ts"
import * as Tasks from "./tasks.ts"

const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"

/** Not from `Random`, whose numbers can be predicted. */
const generated = SecureRandom.SecureRandom.use(({ intBetween }) =>
  Effect.map(
    Effect.replicateEffect(intBetween(0, letters.length, { halfOpen: true }), 24),
    (drawn) => drawn.map((index) => letters[index]!).join("")
  )
)

/**
 * The password: generated once, afterwards read from the Secret. If the cache has no Secret, the server is asked: the
 * cache may be stale, and a new password would overwrite the existing one.
 */
const password = Effect.fnUntraced(function*({ metadata: { name, namespace } }: Database) {
  const key = { namespace, name: `${name}-credentials` }
  const live = KubeClient.KubeClient.use((client) => client.get(Secret, key)).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
  )
  const secret = (yield* Cache.get(Secret, key)) ?? (yield* live)
  const known = secret?.data?.["DATABASE_PASSWORD"]
  if (known !== undefined) return known
  return btoa(yield* Effect.provide(generated, SecureRandom.layerWebCrypto))
})

/** An upgrade: makes a backup, runs the upgrade, and restores the backup if the upgrade fails. */
const upgrade = Effect.fnUntraced(function*(
  database: Database,
  { upgradingTo: image = database.spec.image, ...status }: Status,
  events: EventRecorder.EventRecorder
) {
  const revision = status.revision + 1
  const upgrading: Status = { ...status, phase: "Upgrading", upgradingTo: image }
  if (database.status?.upgradingTo === undefined) {
    // Written before the upgrade starts: later changes of the spec wait until it has ended. And only if the status is
    // unchanged: a stale one may not show that this image was tried and rejected.
    const { resourceVersion } = database.metadata
    const client = yield* KubeClient.KubeClient
    const said = { metadata: { resourceVersion }, status: { phase: upgrading.phase, upgradingTo: image } }
    yield* client.patch(Database, database, KubeClient.Patch.merge(said), { subresource: "status" })
  }
  const backup = yield* Tasks.backup(database, `before-${revision}`)
  if (backup.outcome === "Running") return upgrading
  const tried = backup.outcome === "Failed"
    ? "Failed"
    : yield* Tasks.run(database, `upgrade-${revision}`, ["upgrade"], { image })
  if (tried === "Running") return upgrading
  if (tried === "Succeeded") {
    yield* events.normal({ reason: "Upgraded", note: `upgraded from ${status.image} to ${image}` })
    const { rejectedImage: _, ...rest } = status
    return { ...rest, image, revision } satisfies Status
  }
  // If the backup failed, the upgrade has not started, and there is nothing to restore.
  if (backup.outcome === "Succeeded") {
    const restored = yield* Tasks.run(database, `restore-${revision}`, ["restore", "--from", "/backup"], {
      claim: backup.name
    })
    if (restored !== "Succeeded") return upgrading
  }
  yield* events.warning({
    reason: "UpgradeRolledBack",
    note: `could not upgrade to ${image}, goes on with ${status.image}`
  })
  return { ...status, rejectedImage: image, revision } satisfies Status
})

/** Deletes surplus and failed backups, and the Jobs of finished tasks. Returns the remaining backups. */
const tidy = Effect.fnUntraced(function*(database: Database, status: Status) {
  const jobs = yield* Cache.list(Job, { namespace: database.metadata.namespace, owner: database })
  const { complete, incomplete } = yield* Tasks.backups(database)
  const jobOf = (claim: PersistentVolumeClaim) => jobs.find(({ metadata }) => metadata.name === claim.metadata.name)
  const isScheduled = (claim: PersistentVolumeClaim) => claim.metadata.annotations?.[Tasks.purpose]?.startsWith("at-")
  const beyond = (claims: ReadonlyArray<PersistentVolumeClaim>, keep: number) =>
    claims.slice(0, Math.max(0, claims.length - keep))
  const surplus = [
    ...beyond(complete.filter(isScheduled), database.spec.backup?.keep ?? 3),
    ...beyond(complete.filter((claim) => !isScheduled(claim)), 1)
  ]
  const failed = incomplete.filter((claim) => {
    const job = jobOf(claim)
    return job !== undefined && Tasks.outcome(job) === "Failed"
  })
  // Keep the newest failed backup for investigation. It is not retried, since its Job still exists.
  const newest = failed.toSorted((a, b) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp)).at(
    -1
  )
  const gone = [...surplus, ...failed.filter((claim) => claim !== newest)]
  for (const claim of gone) yield* Tasks.remove(claim)
  const unfinished = new Set(incomplete.filter((claim) => !gone.includes(claim)).map(({ metadata }) => metadata.name))
  for (const job of jobs) {
    const [, kind, of] = /-(backup|upgrade|restore|init)(?:-(.*))?$/.exec(job.metadata.name) ?? []
    const over = kind === "backup"
      ? !unfinished.has(job.metadata.name)
      : kind === "init"
      ? false
      : Number(of) <= status.revision
    if (over && Tasks.outcome(job) !== "Running") yield* Tasks.remove(job)
  }
  return complete.filter((claim) => !gone.includes(claim)).map(({ metadata }) => metadata.name)
})

export const controller = Controller.make("database", {
  for: Database,
  owns: [ConfigMap, Secret, Service, StatefulSet, Job],
  watches: [Watch.labelled(PersistentVolumeClaim, Tasks.owner), Watch.labelled(Pod, Tasks.owner)],

  reconcile: Effect.fn("Database.reconcile")(function*(database, { events }) {
    const { metadata: { name, namespace }, spec } = database
    const before: Status = database.status ?? {
      phase: "Creating",
      image: spec.image,
      revision: 0,
      initialized: false,
      readyReplicas: 0,
      backups: [],
      observedGeneration: 0,
      conditions: []
    }
    // Written before acting on it: if the spec changes meanwhile, the new image must not be taken for the running one.
    if (database.status === undefined) yield* ObjectStatus.write(Database, database, before)
    const wanted = Children.wanted(database, before.image, yield* password(database))
    const { ready, waitingFor } = yield* Sync.children(database, Children.kinds, wanted).pipe(
      Effect.tapError((error) => sayRefused(database, before, error, events))
    )
    const set = yield* Cache.get(StatefulSet, { namespace, name })

    let status: Status = { ...before, phase: "Ready", readyReplicas: set?.status?.readyReplicas ?? 0 }
    let why = ""
    if (!ready) {
      status = { ...status, phase: "Creating" }
      why = `waits for ${waitingFor.join(", ")}`
    } else if (!status.initialized) {
      const outcome = spec.restoreFrom === undefined
        ? yield* Tasks.run(database, "init", ["configure"])
        : yield* Tasks.run(database, "init", ["restore", "--from", "/backup"], { claim: spec.restoreFrom })
      if (outcome === "Succeeded") {
        yield* events.normal({ reason: "Initialized", note: `database ${spec.name} is set up` })
      }
      status = outcome === "Succeeded" ? { ...status, initialized: true } : { ...status, phase: "Initializing" }
      why = outcome === "Failed" ? "the first configuration failed: see its Job" : "waits for the first configuration"
    }
    let next: number | undefined
    if (status.initialized) {
      const isNew = spec.image !== status.image && spec.image !== status.rejectedImage
      if (isNew || status.upgradingTo !== undefined) {
        status = yield* upgrade(database, status, events)
        why = `upgrades to ${status.upgradingTo ?? spec.image}`
      } else next = yield* Backups.scheduled(database, events)
    }

    // Write the outcome of finished tasks to the status before deleting their Jobs.
    const said = yield* say(database, status, {
      status: ready && status.initialized,
      reason: status.phase,
      message: status.phase === "Ready" ? "the database is set up and runs" : why
    }, events)
    const backups = yield* tidy(database, status)
    yield* ObjectStatus.write(Database, said, { ...said.status!, backups })
    if (status.revision !== before.revision) return Action.requeue
    const wait = status.phase === "Ready" ? next : Tasks.patience
    return wait === undefined || wait === Infinity ? Action.done : Action.requeueAfter(wait)
  }),

  /** Makes a last backup, then deletes the servers and their volumes. The backups stay. */
  finalize: Effect.fn("Database.finalize")(function*(database, { events }) {
    const { name, namespace } = database.metadata
    const set = yield* Cache.get(StatefulSet, { namespace, name })
    if (database.status?.initialized === true && set !== undefined && !isTerminating(set)) {
      const final = yield* Tasks.backup(database, "final")
      if (final.outcome === "Failed") {
        // Delete nothing that is not backed up.
        yield* events.warning({ reason: "FinalBackupFailed", note: `${final.name} could not be made, tries again` })
        const job = yield* Cache.get(Job, { namespace, name: final.name })
        const wait = job === undefined ? 0 : yield* Tasks.untilRetry(job)
        if (wait > 0) return Action.requeueAfter(wait)
        if (job !== undefined) yield* Tasks.remove(job)
        return Action.requeue
      }
      if (final.outcome === "Running") return Action.requeueAfter("1 minute")
    }
    if (!(yield* Sync.remove(database, Children.kinds))) return Action.requeueAfter("1 minute")
    const pods = yield* Cache.list(Pod, { namespace, labels: OwnerLabel.selector(Tasks.owner, database) })
    if (pods.length > 0) return Action.requeueAfter("1 minute")
    yield* Tasks.completeAll(database)
    for (const job of yield* Cache.list(Job, { namespace, owner: database })) yield* Tasks.remove(job)
    const claims = yield* Cache.list(PersistentVolumeClaim, {
      namespace,
      labels: OwnerLabel.selector(Tasks.owner, database)
    })
    for (const claim of claims) {
      // A Job without its owner reference would hold the claim forever.
      const job = yield* Cache.get(Job, claim.metadata)
      if (job !== undefined) yield* Tasks.remove(job)
    }
    const leaving = claims.filter((claim) => claim.metadata.annotations?.[Tasks.completed] === undefined)
    for (const claim of leaving) yield* Tasks.remove(claim)
    return leaving.length === 0 ? Action.done : Action.requeueAfter("1 minute")
  })
})
