/**
 * `PersistentVolumes`: binds claims to existing volumes that fit, or provisions volumes for them.
 *
 * Among the available volumes of the class that match the selector, have the access modes and are large enough, the
 * smallest is bound. If there is none, the class provisions one after `provisionDelay`; with `WaitForFirstConsumer`
 * that starts only when a Pod with the claim is on a node. A volume whose claim is deleted is released. A provisioned
 * volume is then deleted if its reclaim policy says so, and grows with its claim if its class allows that.
 *
 * Not simulated: recycling, default classes assigned later, node affinity of volumes, snapshots.
 *
 * Source: k8s.io/kubernetes/pkg/controller/volume/persistentvolume/pv_controller.go, k8s.io/component-helpers/storage.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { PersistentVolume, PersistentVolumeClaim, Pod } from "../kinds/core.v1.ts"
import { StorageClass } from "../kinds/storage.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as Quantity from "../api/Quantity.ts"
import type * as Agenda from "./sim/Agenda.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import * as Recorder from "./sim/Recorder.ts"

export const defaults = {
  /** From the provisioning request until the volume exists. */
  provisionDelay: "1 second"
} as const

export interface Options {
  readonly provisionDelay?: Duration.Input | undefined
}

/** Binds and provisions volumes until the scope closes. */
export const layer = (options: Options = {}): Layer.Layer<never, never, KubeClient> =>
  Layer.effectDiscard(Effect.suspend(() => run(options))).pipe(Layer.provide(Informers.layer))

const boundByController = "pv.kubernetes.io/bound-by-controller"
const bindCompleted = "pv.kubernetes.io/bind-completed"
const provisionedBy = "pv.kubernetes.io/provisioned-by"
const provisioner = "volume.kubernetes.io/storage-provisioner"
const selectedNode = "volume.kubernetes.io/selected-node"

const isFor = ({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean => {
  const { name, namespace, uid = metadata.uid } = spec?.claimRef ?? {}
  return name === metadata.name && namespace === metadata.namespace && uid === metadata.uid
}

/** Whether an available volume fits a claim. */
const fits = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean => {
  const [have, want] = [volume.spec ?? {}, claim.spec ?? {}]
  const selector = want.selector === undefined ? [] : Selector.fromObject(want.selector)
  return volume.status?.phase === "Available" && volume.metadata.deletionTimestamp === undefined &&
    have.claimRef === undefined &&
    (have.storageClassName ?? "") === (want.storageClassName ?? "") &&
    (have.volumeMode ?? "Filesystem") === (want.volumeMode ?? "Filesystem") &&
    (want.accessModes ?? []).every((mode) => have.accessModes?.includes(mode) === true) &&
    selector !== undefined && Selector.matchesLabels(selector, volume.metadata.labels) &&
    Quantity.compare(sizeOf(have.capacity), sizeOf(want.resources?.requests)) >= 0
}

const sizeOf = (amounts: Readonly<Record<string, string | number>> | undefined): string =>
  String(amounts?.["storage"] ?? "0")

const run: (
  options: Options
) => Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.fnUntraced(function*(options) {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const volumes = yield* informers.of(PersistentVolume)
  const claims = yield* informers.of(PersistentVolumeClaim)
  const classes = yield* informers.of(StorageClass)
  const pods = yield* informers.of(Pod)
  const recorder = yield* Recorder.make("persistentvolume-controller")
  const delay = Duration.toMillis(Duration.fromInputUnsafe(options.provisionDelay ?? defaults.provisionDelay))
  /** When requested volumes will exist, by the uid of their claim. */
  const pending = new Map<string, number>()

  const setVolumePhase = (volume: PersistentVolume, phase: string): Effect.Effect<PersistentVolume, KubeError> =>
    volume.status?.phase === phase
      ? Effect.succeed(volume)
      : client.replace(PersistentVolume, { ...volume, status: { phase } }, { subresource: "status" })

  const setClaimStatus = (claim: PersistentVolumeClaim, status: NonNullable<PersistentVolumeClaim["status"]>) =>
    JsonValue.equals(claim.status, status)
      ? Effect.void
      : client.replace(PersistentVolumeClaim, { ...claim, status }, { subresource: "status" })

  /** The volume after its driver has expanded it, if its claim requests more. */
  const grown = (
    volume: PersistentVolume,
    claim: PersistentVolumeClaim
  ): Effect.Effect<PersistentVolume, KubeError> => {
    const storage = sizeOf(claim.spec?.resources?.requests)
    const storageClass = classes.get({ name: volume.spec?.storageClassName ?? "" })
    const grows = storageClass?.allowVolumeExpansion === true &&
      volume.metadata.annotations?.[provisionedBy] !== undefined &&
      Quantity.compare(storage, sizeOf(volume.spec?.capacity)) > 0
    return grows
      ? client.replace(PersistentVolume, { ...volume, spec: { ...volume.spec, capacity: { storage } } })
      : Effect.succeed(volume)
  }

  /** Binds the volume to the claim, then the claim to the volume. */
  const bind = Effect.fnUntraced(function*(
    volume: PersistentVolume,
    claim: PersistentVolumeClaim
  ): Effect.fn.Return<void, KubeError> {
    const { name, namespace, resourceVersion, uid } = claim.metadata
    const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion }
    const taken = volume.spec?.claimRef?.uid === uid ? volume : yield* client.replace(PersistentVolume, {
      ...volume,
      metadata: {
        ...volume.metadata,
        annotations: {
          ...volume.metadata.annotations,
          ...(volume.spec?.claimRef === undefined ? { [boundByController]: "yes" } : {})
        }
      },
      spec: { ...volume.spec, claimRef }
    })
    const sized = yield* grown(yield* setVolumePhase(taken, "Bound"), claim)
    const { annotations } = claim.metadata
    const { accessModes = [], capacity = {} } = sized.spec ?? {}
    const isBound = claim.spec?.volumeName === taken.metadata.name && annotations?.[bindCompleted] === "yes"
    const bound = isBound ? claim : yield* client.replace(PersistentVolumeClaim, {
      ...claim,
      metadata: {
        ...claim.metadata,
        annotations: {
          ...annotations,
          [bindCompleted]: "yes",
          ...(claim.spec?.volumeName === undefined ? { [boundByController]: "yes" } : {})
        }
      },
      spec: { ...claim.spec, volumeName: taken.metadata.name }
    })
    yield* setClaimStatus(bound, { ...bound.status, phase: "Bound", accessModes, capacity })
  })

  const consumerOf = ({ metadata }: PersistentVolumeClaim): Pod | undefined =>
    [...pods.inNamespace(metadata.namespace)].find(({ spec }) =>
      spec.nodeName !== undefined &&
      spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === metadata.name)
    )

  const provision = Effect.fnUntraced(function*(
    key: string,
    claim: PersistentVolumeClaim,
    storageClass: StorageClass
  ): Effect.fn.Return<void, KubeError> {
    const { name, namespace, resourceVersion, uid } = claim.metadata
    const due = pending.get(uid)
    if (due === undefined) {
      pending.set(uid, clock.currentTimeMillisUnsafe() + delay)
      const node = consumerOf(claim)?.spec.nodeName
      const annotations = {
        [provisioner]: storageClass.provisioner,
        [`volume.beta.kubernetes.io/storage-provisioner`]: storageClass.provisioner,
        ...(storageClass.volumeBindingMode !== "WaitForFirstConsumer" || node === undefined
          ? {}
          : { [selectedNode]: node })
      }
      yield* client.patch(PersistentVolumeClaim, claim, Patch.merge({ metadata: { annotations } }))
      const message = `Waiting for a volume to be created either by the external provisioner ` +
        `'${storageClass.provisioner}' or manually by the system administrator. If volume creation is delayed, please ` +
        "verify that the provisioner is running and correctly registered."
      yield* recorder.normal(claim, "ExternalProvisioning", message)
      return agenda.soon(key, pending.get(uid)!)
    }
    if (due > clock.currentTimeMillisUnsafe()) return agenda.soon(key, due)
    const { accessModes, resources, volumeMode } = claim.spec ?? {}
    const volume = `pvc-${uid}`
    yield* client.create(PersistentVolume, {
      metadata: { name: volume, annotations: { [provisionedBy]: storageClass.provisioner } },
      spec: {
        capacity: { storage: sizeOf(resources?.requests) },
        ...(accessModes === undefined ? {} : { accessModes }),
        ...(volumeMode === undefined ? {} : { volumeMode }),
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion },
        persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
        storageClassName: storageClass.metadata.name,
        // A provisioner whose name contains a slash has no CSI driver.
        ...(storageClass.provisioner.includes("/")
          ? { hostPath: { path: `/var/lib/volumes/${volume}` } }
          : { csi: { driver: storageClass.provisioner, volumeHandle: volume } })
      }
    })
    pending.delete(uid)
    yield* recorder.normal(claim, "ProvisioningSucceeded", `Successfully provisioned volume ${volume}`)
  })

  const syncUnbound = Effect.fnUntraced(function*(
    key: string,
    claim: PersistentVolumeClaim
  ): Effect.fn.Return<void, KubeError> {
    const className = claim.spec?.storageClassName ?? ""
    const storageClass = classes.get({ name: className })
    const waits = storageClass?.volumeBindingMode === "WaitForFirstConsumer" && consumerOf(claim) === undefined
    const wanted = claim.spec?.volumeName
    const found = wanted === undefined
      ? [...volumes.all()].find((volume) => isFor(volume, claim)) ?? (waits ? undefined : smallest(claim))
      : volumes.get({ name: wanted })
    if (found !== undefined && (found.spec?.claimRef === undefined || isFor(found, claim))) {
      return yield* bind(found, claim)
    }
    yield* setClaimStatus(claim, { ...claim.status, phase: "Pending" })
    if (wanted !== undefined) {
      if (found === undefined) return
      const message = `volume "${wanted}" already bound to a different claim.`
      return yield* recorder.warning(claim, "FailedBinding", message)
    }
    if (className === "") {
      const message = "no persistent volumes available for this claim and no storage class is set"
      return yield* recorder.normal(claim, "FailedBinding", message)
    }
    if (storageClass === undefined) {
      const message = `storageclass.storage.k8s.io "${className}" not found`
      return yield* recorder.warning(claim, "ProvisioningFailed", message)
    }
    if (waits) {
      const message = "waiting for first consumer to be created before binding"
      return yield* recorder.normal(claim, "WaitForFirstConsumer", message)
    }
    if (storageClass.provisioner !== "kubernetes.io/no-provisioner") {
      yield* provision(key, claims.get(claim) ?? claim, storageClass)
    }
  })

  const smallest = (claim: PersistentVolumeClaim): PersistentVolume | undefined =>
    [...volumes.all()].filter((volume) => fits(volume, claim)).sort((a, b) =>
      Quantity.compare(sizeOf(a.spec?.capacity), sizeOf(b.spec?.capacity))
    )[0]

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const claim = claims.get(parseKey(key))
    if (claim === undefined) return
    if (claim.metadata.annotations?.[bindCompleted] !== "yes") return yield* syncUnbound(key, claim)
    const volume = volumes.get({ name: claim.spec?.volumeName ?? "" })
    if (volume !== undefined && (volume.spec?.claimRef === undefined || isFor(volume, claim))) {
      return yield* bind(volume, claim)
    }
    if (claim.status?.phase === "Lost") return
    yield* setClaimStatus(claim, { phase: "Lost" })
    yield* volume === undefined
      ? recorder.warning(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
      : recorder.warning(
        claim,
        "ClaimMisbound",
        "Two claims are bound to the same volume, this one is bound incorrectly"
      )
  })

  const syncVolume = Effect.fnUntraced(function*(name: string): Effect.fn.Return<void, KubeError> {
    const volume = volumes.get({ name })
    if (volume === undefined) return
    const { claimRef, persistentVolumeReclaimPolicy } = volume.spec ?? {}
    if (claimRef?.uid === undefined) return yield* Effect.asVoid(setVolumePhase(volume, "Available"))
    const claim = claims.get({ namespace: claimRef.namespace, name: claimRef.name ?? "" })
    if (claim?.metadata.uid === claimRef.uid) return agenda.now(keyString(claim!))
    const released = yield* setVolumePhase(volume, "Released")
    const isOurs = volume.metadata.annotations?.[provisionedBy] !== undefined
    if (persistentVolumeReclaimPolicy === "Delete" && isOurs) yield* client.delete(PersistentVolume, released)
  })

  const reads = [volumes, claims, classes, pods]
  const agenda: Agenda.Agenda = yield* Loop.make({ sync, reads })
  const ofVolumes = yield* Loop.make({ sync: syncVolume, reads })

  const wakeUnbound = (): void => {
    for (const claim of claims.all()) if (claim.status?.phase !== "Bound") agenda.now(keyString(claim))
  }
  claims.listen((claim, before) => {
    const { spec } = (claim ?? before)!
    if (claim !== undefined) agenda.now(keyString(claim))
    else pending.delete(before!.metadata.uid)
    if (spec?.volumeName !== undefined) ofVolumes.now(spec.volumeName)
  })
  volumes.listen((volume, before) => {
    if (volume !== undefined) ofVolumes.now(volume.metadata.name)
    const { claimRef } = (volume ?? before)!.spec ?? {}
    if (claimRef !== undefined) agenda.now(`${claimRef.namespace}/${claimRef.name}`)
    else if (volume?.status?.phase === "Available") wakeUnbound()
  })
  classes.listen(wakeUnbound)
  pods.listen((pod, before) => {
    if (pod?.spec.nodeName === undefined || before?.spec.nodeName !== undefined) return
    for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
      if (persistentVolumeClaim !== undefined) {
        agenda.now(`${pod.metadata.namespace}/${persistentVolumeClaim.claimName}`)
      }
    }
  })
})
