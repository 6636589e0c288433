/**
 * The second controller: before a Machine is deleted, its volume is backed up. The only thing it changes on the Machine
 * is its own finalizer, which the framework adds before anything else happens and removes when the backup is complete.
 * The Machine's own controller does not know that this one exists.
 */
import { Action, Cache, Controller, KubeClient, Watch } from "@effect-operator/core"
import { isTerminating, keyString, type ObjectKey, parseKey } from "@effect-operator/core/KubeObject"
import { Job, PersistentVolumeClaim, Pod } from "@effect-operator/k8s/kinds"
import { Clock, Effect } from "effect"
import { Machine } from "./resource.ts"

/**
 * Annotation of a backup's claim and Job: the key of the Machine. An owner reference would delete them with the
 * Machine.
 */
export const annotation = "machines.example.com/machine"

/** How long to wait after a failed backup before the next attempt, in milliseconds. */
const retryAfter = 60_000

/** A conflict if the Job has changed since it was judged, for it may have completed; then the reconcile is repeated. */
const discard = (job: Job) => {
  const { resourceVersion, uid } = job.metadata
  return KubeClient.KubeClient.use((client) =>
    client.delete(Job, job, { propagationPolicy: "Background", preconditions: { resourceVersion, uid } })
  ).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.void))
}

const claimOf = (key: ObjectKey) =>
  KubeClient.KubeClient.use((client) => client.get(PersistentVolumeClaim, key)).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
  )

const isOf = (machine: Machine, { metadata }: PersistentVolumeClaim) =>
  metadata.annotations?.[annotation] === keyString(machine)

export const backups = Controller.make("volumebackup", {
  for: Machine,
  finalizer: "machines.example.com/volume-backup",
  watches: [
    Watch.make(Job, {
      map: ({ metadata: { annotations } }) =>
        annotations?.[annotation] === undefined ? [] : [parseKey(annotations[annotation])]
    })
  ],

  reconcile: () => Effect.succeed(Action.done),

  finalize: Effect.fn("VolumeBackup.finalize")(function*(machine, { events }) {
    const client = yield* KubeClient.KubeClient
    const { namespace, name, uid } = machine.metadata
    const key = { namespace, name: `backup-${uid}` }
    const job = yield* Cache.get(Job, key)
    const ended = (type: string) =>
      job?.status?.conditions?.some((c) => c.type === type && c.status === "True") === true
    const claim = yield* claimOf(key)
    // A backup in a terminating claim would be lost with it.
    const holds = claim !== undefined && isOf(machine, claim) && !isTerminating(claim)
    if (ended("Complete") && holds) {
      // The Job stays as a record of the backup; its Pod would keep both volumes in use.
      yield* client.deleteCollection(Pod, { namespace, labels: { "job-name": key.name } })
      yield* events.normal({
        reason: "BackedUp",
        note: `the volume of ${name} is backed up in PersistentVolumeClaim ${key.name}`
      })
      return Action.done
    }
    // A Pod would wait forever for a volume that does not exist or is terminating.
    const disk = yield* claimOf({ namespace, name })
    if (disk === undefined || isTerminating(disk)) {
      yield* events.warning({ reason: "NotBackedUp", note: `${name} has no volume that could be backed up` })
      if (job !== undefined) yield* discard(job)
      return Action.done
    }
    if (claim !== undefined && !isOf(machine, claim)) {
      yield* events.warning({
        reason: "BackupClaimTaken",
        note: `PersistentVolumeClaim ${keyString(key)} is there, and is not of the backup of ${name}: delete it, ` +
          "once what it holds is somewhere else"
      })
      return Action.requeueAfter(retryAfter)
    }
    if (ended("Complete")) {
      yield* events.warning({
        reason: "BackupLost",
        note: `PersistentVolumeClaim ${key.name} was deleted with the backup of ${name} in it, backs up again`
      })
      yield* discard(job!)
      return Action.requeueAfter("1 minute")
    }
    if (ended("Failed")) {
      const at = job?.status?.conditions?.find(({ type }) => type === "Failed")?.lastTransitionTime
      const age = (yield* Clock.currentTimeMillis) - Date.parse(at ?? "1970-01-01T00:00:00Z")
      if (age < retryAfter) return Action.requeueAfter(retryAfter - age)
      yield* events.warning({
        reason: "BackupFailed",
        note: `the volume of ${name} could not be backed up, tries again`
      })
      yield* discard(job!)
      return Action.requeueAfter("1 minute")
    }
    if (claim === undefined) {
      const storage = disk.status?.capacity?.["storage"] ?? disk.spec?.resources?.requests?.["storage"]
      yield* client.create(PersistentVolumeClaim, {
        metadata: { ...key, annotations: { [annotation]: keyString(machine) } },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { ...(storage !== undefined && { storage }) } } }
      })
    } else if (isTerminating(claim)) return Action.requeueAfter("1 minute")
    if (job === undefined) {
      yield* client.create(Job, {
        metadata: { ...key, annotations: { [annotation]: keyString(machine) } },
        spec: {
          backoffLimit: 0,
          template: {
            spec: {
              restartPolicy: "Never",
              containers: [{
                name: "backup",
                image: "busybox",
                command: ["tar", "-cf", "/backup/disk.tar", "/disk"],
                volumeMounts: [{ name: "disk", mountPath: "/disk", readOnly: true }, {
                  name: "backup",
                  mountPath: "/backup"
                }]
              }],
              volumes: [
                { name: "disk", persistentVolumeClaim: { claimName: name } },
                { name: "backup", persistentVolumeClaim: { claimName: key.name } }
              ]
            }
          }
        }
      }).pipe(Effect.catchReason("KubeError", "AlreadyExists", () => Effect.void))
    }
    return Action.requeueAfter("1 minute")
  })
})
