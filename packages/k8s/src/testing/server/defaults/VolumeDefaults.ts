/**
 * `VolumeDefaults`: defaults of volumes in Pods and of PersistentVolumes.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go.
 */
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import { edit, fill, type Filled, map } from "./Filling.ts"
import { pullPolicy } from "./PullPolicy.ts"

const fieldRef = (item: unknown): Filled => edit(objectAt(item), "fieldRef", (ref) => fill(ref, { apiVersion: "v1" }))

const files = (source: unknown): Filled => map(fill(source, { defaultMode: 420 }), "items", fieldRef)

const projection = (source: unknown): Filled =>
  edit(
    edit(objectAt(source), "serviceAccountToken", (token) => fill(token, { expirationSeconds: 3600 })),
    "downwardAPI",
    (api) => map(objectAt(api), "items", fieldRef)
  )

const azureDisk: Filled = { cachingMode: "ReadWrite", fsType: "ext4", kind: "Shared", readOnly: false }
const rbd: Filled = { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" }

/** Defaults of sources that Pods and PersistentVolumes share. */
const shared: Readonly<Record<string, (source: unknown) => unknown>> = {
  hostPath: (source) => fill(source, { type: "" }),
  iscsi: (source) => fill(source, { iscsiInterface: "default" }),
  rbd: (source) => fill(source, rbd),
  azureDisk: (source) => fill(source, azureDisk),
  scaleIO: (source) => fill(source, { storageMode: "ThinProvisioned", fsType: "xfs" })
}

const ofPod: Readonly<Record<string, (source: unknown) => unknown>> = {
  ...shared,
  secret: files,
  configMap: files,
  downwardAPI: files,
  image: (source) => fill(source, { pullPolicy: pullPolicy(stringAt(source, "reference")) }),
  projected: (source) => map(files(source), "sources", projection),
  ephemeral: (source) =>
    edit(
      objectAt(source),
      "volumeClaimTemplate",
      (claim) => edit(objectAt(claim), "spec", (spec) => fill(spec, { volumeMode: "Filesystem" }))
    )
}

const apply = (volume: Filled, table: typeof ofPod): Filled =>
  Object.entries(table).reduce((filled, [key, f]) => edit(filled, key, f), volume)

/** A volume of a Pod. Without a source it is an `emptyDir`. */
export const volume = (value: unknown): Filled => {
  const own = objectAt(value)
  return apply(Object.keys(own).some((key) => key !== "name") ? own : { ...own, emptyDir: {} }, ofPod)
}

/** The spec of a PersistentVolume. */
export const persistentVolume = (value: unknown): Filled =>
  apply(fill(value, { persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" }), shared)

/** With host networking, the host ports default to the container ports. */
export const hostPorts = (container: unknown): Filled =>
  map(objectAt(container), "ports", (port) => fill(port, { hostPort: at(port, "containerPort") }))
