/**
 * `ClaimRules`: what a PersistentVolumeClaim must be, and what of it may change: its volume once, and of a claim that is
 * bound the storage it asks for, down to just above what it has, and the class of its volume's attributes. Data sources
 * are taken as they are.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, `ValidatePersistentVolumeClaimSpec` and
 * `ValidatePersistentVolumeClaimUpdate`.
 */
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
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

const classAnnotation = "volume.beta.kubernetes.io/storage-class"

const annotated = (claim: unknown): unknown => at(claim, "metadata", "annotations", classAnnotation)

const classOf = (claim: unknown): unknown => at(claim, "spec", "storageClassName")

/** True if the class that an annotation named is now named by the spec. */
const movesClass = (next: unknown, previous: unknown): boolean => {
  const [before, after] = [annotated(previous), annotated(next)]
  return before !== undefined && classOf(previous) === undefined && classOf(next) === before &&
    (after === undefined || after === before)
}

/** True if a claim without a class is given one. */
const givesClass = (next: unknown, previous: unknown): boolean =>
  classOf(previous) === undefined && classOf(next) !== undefined &&
  (annotated(previous) === undefined || annotated(previous) === classOf(next))

const isBound = (claim: unknown): boolean => stringAt(claim, "status", "phase") === "Bound"

/** The new spec with what this update may change of it as it was. */
const fixed = (next: unknown, previous: unknown): JsonValue.JsonObject => {
  const [spec, before] = [objectAt(next, "spec"), objectAt(previous, "spec")]
  const requests = at(spec, "resources", "requests")
  const storage = at(before, "resources", "requests", "storage")
  const kept: JsonValue.JsonObject = {
    ...(stringAt(before, "volumeName") === "" ? { volumeName: undefined } : {}),
    ...(movesClass(next, previous) || givesClass(next, previous) ? { storageClassName: undefined } : {}),
    ...(isBound(next) ? { volumeAttributesClassName: before["volumeAttributesClassName"] } : {}),
    ...(isBound(next) && requests !== undefined
      ? { resources: { ...objectAt(spec, "resources"), requests: { ...objectAt(requests), storage } } }
      : {})
  }
  return Object.entries(kept).reduce(
    (out, [key, value]) => value === undefined ? JsonValue.remove(out, key) : JsonValue.set(out, key, value),
    spec
  )
}

const storageOf = (value: unknown, ...path: ReadonlyArray<string>): string => stringAt(value, ...path, "storage") || "0"

const shrinkFaults = (next: unknown, previous: unknown): Faults => {
  const asked = storageOf(next, "spec", "resources", "requests")
  return Quantity.compare(asked, storageOf(previous, "spec", "resources", "requests")) < 0 &&
      Quantity.compare(asked, storageOf(previous, "status", "capacity")) <= 0
    ? [FieldError.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")]
    : []
}

/** A class that is in use can be replaced, not taken away. */
const attributesFaults = (next: unknown, previous: unknown): Faults => {
  const [after, before] = [next, previous].map((claim) => at(claim, "spec", "volumeAttributesClassName"))
  if (after === before || at(previous, "status", "currentVolumeAttributesClassName") === undefined) return []
  const nothing = after === undefined ? "nil" : after === "" ? "empty string" : undefined
  return nothing === undefined ? [] : [FieldError.forbidden(
    "spec.volumeAttributesClassName",
    `update to ${nothing} is forbidden when status.currentVolumeAttributesClassName is not nil`
  )]
}

/** Faults of an update. */
export const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const [after, before] = [annotated(next), annotated(previous)]
  return [
    ...(movesClass(next, previous) || after === before
      ? []
      : [FieldError.invalid(`metadata.annotations.${classAnnotation}`, after ?? "", "field is immutable")]),
    ...(JsonValue.equals(fixed(next, previous), objectAt(previous, "spec")) ? [] : [FieldError.forbidden(
      "spec",
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
    )]),
    ...shrinkFaults(next, previous),
    ...(at(next, "spec", "volumeMode") === at(previous, "spec", "volumeMode")
      ? []
      : [FieldError.invalid("volumeMode", at(next, "spec", "volumeMode") ?? null, "field is immutable")]),
    ...attributesFaults(next, previous)
  ]
}
