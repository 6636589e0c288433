/**
 * `NetworkDiskRules`: validates iSCSI and Fibre Channel disks, in Pods and as persistent volumes.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateISCSIVolumeSource`,
 * `validateISCSIPersistentVolumeSource`, `validateFCVolumeSource`.
 */
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, required, when } from "../Checks.ts"

const outside = (lun: unknown): boolean => typeof lun === "number" && (lun < 0 || lun > 255)

const lunFaults = (source: unknown, path: string): Faults =>
  when(
    outside(at(source, "lun")),
    FieldError.invalid(`${path}.lun`, at(source, "lun"), "must be between 0 and 255, inclusive")
  )

/** The formats of iSCSI names, by prefix. */
const formats: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/
}

const nameFaults = (name: string, path: string, beginnings: string): Faults => {
  const format = formats[name.slice(0, 3)]
  return format?.test(name) === true
    ? []
    : [FieldError.invalid(path, name, `must be valid format${format === undefined ? beginnings : ""}`)]
}

/** The messages that differ between Pods and persistent volumes. */
interface Words {
  /** The allowed prefixes, in the message about an unknown one. */
  readonly beginnings: string
  /** Faults of the portal and the secret. */
  readonly portal: Faults
  readonly secret: Faults
}

const iscsiFaults = (source: unknown, path: string, { beginnings, portal, secret }: Words): Faults => {
  const [iqn, initiator] = [stringAt(source, "iqn"), at(source, "initiatorName")]
  const authenticates = at(source, "chapAuthDiscovery") === true || at(source, "chapAuthSession") === true
  return [
    ...required(source, path, "targetPortal"),
    ...portal,
    ...(iqn === "" ? required(source, path, "iqn") : nameFaults(iqn, `${path}.iqn`, beginnings)),
    ...lunFaults(source, path),
    ...when(
      authenticates && at(source, "secretRef") === undefined,
      FieldError.required(`${path}.secretRef`, "")
    ),
    ...secret,
    ...(typeof initiator === "string" ? nameFaults(initiator, `${path}.initiatorname`, beginnings) : [])
  ]
}

/** Faults of an iSCSI disk of a Pod. */
export const iscsi = (source: unknown, path: string): Faults =>
  iscsiFaults(source, path, { beginnings: " starting with iqn, eui, or naa", portal: [], secret: [] })

/** Faults of the iSCSI disk of the persistent volume with this name. */
export const iscsiVolume = (source: unknown, path: string, name: string): Faults => {
  const portal = stringAt(source, "targetPortal")
  return iscsiFaults(source, path, {
    beginnings: "",
    portal: when(
      at(source, "initiatorName") !== undefined && `${name}:${portal}`.length > 64,
      FieldError.invalid(
        `${path}.targetportal`,
        portal,
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is " +
          "specified."
      )
    ),
    secret: at(source, "secretRef") === undefined ? [] : required(at(source, "secretRef"), `${path}.secretRef`, "name")
  })
}

/** Faults of a Fibre Channel disk. */
export const fc = (source: unknown, path: string): Faults => {
  const [targets, wwids] = [arrayAt(source, "targetWWNs"), arrayAt(source, "wwids")]
  return [
    ...when(
      targets.length === 0 && wwids.length === 0,
      FieldError.required(`${path}.targetWWNs`, "must specify either targetWWNs or wwids, but not both")
    ),
    ...when(
      targets.length > 0 && wwids.length > 0,
      FieldError.invalid(`${path}.targetWWNs`, targets, "targetWWNs and wwids can not be specified simultaneously")
    ),
    ...(targets.length === 0
      ? []
      : at(source, "lun") === undefined
      ? [FieldError.required(`${path}.lun`, "lun is required if targetWWNs is specified")]
      : lunFaults(source, path))
  ]
}
