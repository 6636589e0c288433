/**
 * `ClaimRules`: what a PersistentVolumeClaim must be. Data sources are taken as they are.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, `ValidatePersistentVolumeClaimSpec`.
 */
import * as FieldError from "../schema/FieldError.ts"
import * as Names from "../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as Quantity from "./Quantity.ts"
import type { Strategy } from "./Strategy.ts"
import * as WorkloadRules from "./WorkloadRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]

const modeFaults = (given: ReadonlyArray<unknown>): Faults => {
  const path = "spec.accessModes"
  const known = given.filter((mode) => modes.includes(String(mode)))
  return [
    ...(given.length === 0 ? [FieldError.required(path, "at least 1 access mode is required")] : []),
    ...given.filter((mode) => !known.includes(mode)).map((mode) => FieldError.notSupported(path, mode, modes)),
    ...(known.includes("ReadWriteOncePod") && new Set(known).size > 1
      ? [FieldError.forbidden(path, "may not use ReadWriteOncePod with other access modes")]
      : [])
  ]
}

const storageFaults = (storage: unknown): Faults => {
  const path = "spec.resources[storage]"
  if (storage === undefined) return [FieldError.required(path, "")]
  return Quantity.compare(String(storage), "0") > 0
    ? []
    : [FieldError.invalid(path, storage, "must be greater than zero")]
}

export const validate: Strategy["validate"] = (claim) => {
  const spec = objectAt(claim, "spec")
  const storageClass = stringAt(spec, "storageClassName")
  const mode = at(spec, "volumeMode")
  return [
    ...modeFaults(arrayAt(spec, "accessModes")),
    ...WorkloadRules.selectorFaults(at(spec, "selector"), "spec.selector"),
    ...storageFaults(at(spec, "resources", "requests", "storage")),
    ...(storageClass === ""
      ? []
      : Names.dnsSubdomain(storageClass).map((fault) =>
        FieldError.invalid("spec.storageClassName", storageClass, fault)
      )),
    ...(mode === undefined || mode === "Block" || mode === "Filesystem"
      ? []
      : [FieldError.notSupported("spec.volumeMode", mode, ["Block", "Filesystem"])])
  ]
}
