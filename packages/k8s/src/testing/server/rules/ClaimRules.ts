/**
 * `ClaimRules`: validates PersistentVolumeClaims and their updates: the volume can be set once, and in a bound claim
 * the requested storage (down to just above its current capacity) and the VolumeAttributesClass can change.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, `ValidatePersistentVolumeClaimSpec` and
 * `ValidatePersistentVolumeClaimUpdate`.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as Quantity from "../../../api/Quantity.ts"
import * as LabelSelectorRules from "./LabelSelectorRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]

/** Faults of access modes. */
export const modeFaults = (given: ReadonlyArray<unknown>, path: string): Faults => {
  const known = given.filter((mode) => modes.includes(String(mode)))
  return [
    ...given.filter((mode) => !known.includes(mode)).map((mode) => FieldError.notSupported(path, mode, modes)),
    ...(known.includes("ReadWriteOncePod") && new Set(known).size > 1
      ? [FieldError.forbidden(path, "may not use ReadWriteOncePod with other access modes")]
      : [])
  ]
}

const storageFaults = (storage: unknown, path: string): Faults => {
  if (storage === undefined) return [FieldError.required(path, "")]
  return Quantity.compare(String(storage), "0") > 0
    ? []
    : [FieldError.invalid(path, storage, "must be greater than zero")]
}

const className = (spec: unknown, field: string, path: string): Faults => {
  const name = stringAt(spec, field)
  return name === "" ? [] : Names.dnsSubdomain(name).map((fault) => FieldError.invalid(`${path}.${field}`, name, fault))
}

/** The source of a volume's content: another claim, or an object that some populator can read. */
const sourceFaults = (source: unknown, path: string): Faults => {
  if (source === undefined) return []
  const group = stringAt(source, "apiGroup")
  const kind = stringAt(source, "kind")
  const namespace = stringAt(source, "namespace")
  return [
    ...["name", "kind"].filter((field) => stringAt(source, field) === "").map((field) =>
      FieldError.required(`${path}.${field}`, "")
    ),
    ...(group === "" && kind !== "PersistentVolumeClaim"
      ? [FieldError.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")]
      : []),
    ...(group === "" ?
      [] :
      Names.dnsSubdomain(group).map((fault) => FieldError.invalid(`${path}.apiGroup`, group, fault))),
    ...(namespace === "" ?
      [] :
      Names.dnsLabel(namespace).map((fault) => FieldError.invalid(`${path}.namespace`, namespace, fault)))
  ]
}

/** `dataSource` and `dataSourceRef` must agree. */
const sourcesFaults = (spec: unknown, path: string): Faults => {
  const [source, reference] = [at(spec, "dataSource"), at(spec, "dataSourceRef")]
  const agree = ["apiGroup", "kind", "name"].every((field) => at(source, field) === at(reference, field))
  const why = stringAt(reference, "namespace") !== ""
    ? "may not be specified when dataSourceRef.namespace is specified"
    : "must match dataSourceRef"
  return [
    ...sourceFaults(source, `${path}.dataSource`),
    ...sourceFaults(reference, `${path}.dataSourceRef`),
    ...(source === undefined || reference === undefined || (agree && stringAt(reference, "namespace") === "")
      ? []
      // The server passes the field path as the value, which JSON prints as an empty object.
      : [FieldError.invalidPrinted(path, "{}", why)])
  ]
}

/** Whether `dataSource` names a kind that it supports; others are dropped. */
const isOldSource = (source: unknown): boolean => {
  const [group, kind] = [stringAt(source, "apiGroup"), stringAt(source, "kind")]
  return (group === "" && kind === "PersistentVolumeClaim") ||
    (group === "snapshot.storage.k8s.io" && kind === "VolumeSnapshot")
}

const hasSource = (claim: unknown): boolean =>
  at(claim, "spec", "dataSource") !== undefined || at(claim, "spec", "dataSourceRef") !== undefined

/**
 * Copies `dataSource` and `dataSourceRef` to each other if one is missing. A source in another namespace belongs to a
 * feature that is off, so such a reference is dropped, unless the claim had one before.
 */
const withSources = (claim: JsonValue.JsonObject, previous?: unknown): JsonValue.JsonObject => {
  if (!hasSource(claim)) return claim
  const { dataSource, dataSourceRef: given, ...spec } = objectAt(claim, "spec")
  const isFar = stringAt(given, "namespace") !== ""
  const dataSourceRef = isFar && at(previous, "spec", "dataSourceRef") === undefined ? undefined : given
  const source = dataSourceRef !== undefined || hasSource(previous) || isOldSource(dataSource) ? dataSource : undefined
  const isLocal = stringAt(dataSourceRef, "namespace") === ""
  const { namespace: _, ...local } = objectAt(dataSourceRef)
  const old = source ?? (dataSourceRef !== undefined && isLocal ? local : undefined)
  const reference = dataSourceRef ?? source
  return {
    ...claim,
    spec: {
      ...spec,
      ...(old === undefined ? {} : { dataSource: old }),
      ...(reference === undefined ? {} : { dataSourceRef: reference })
    }
  }
}

export const prepareCreate = (claim: JsonValue.JsonObject): JsonValue.JsonObject => withSources(claim)
export const prepareUpdate = withSources

/** Faults of the spec of a claim or claim template. */
export const specFaults = (spec: JsonValue.JsonObject, path: string): Faults => {
  const modes = arrayAt(spec, "accessModes")
  const mode = at(spec, "volumeMode")
  return [
    ...(modes.length === 0 ? [FieldError.required(`${path}.accessModes`, "at least 1 access mode is required")] : []),
    ...LabelSelectorRules.validate(at(spec, "selector"), `${path}.selector`),
    ...modeFaults(modes, `${path}.accessModes`),
    ...storageFaults(at(spec, "resources", "requests", "storage"), `${path}.resources[storage]`),
    ...className(spec, "storageClassName", path),
    ...(mode === undefined || mode === "Block" || mode === "Filesystem"
      ? []
      : [FieldError.notSupported(`${path}.volumeMode`, mode, ["Block", "Filesystem"])]),
    ...sourcesFaults(spec, path),
    ...className(spec, "volumeAttributesClassName", path)
  ]
}

export const validate: Strategy["validate"] = (claim) => specFaults(objectAt(claim, "spec"), "spec")

const classAnnotation = "volume.beta.kubernetes.io/storage-class"

const annotated = (claim: unknown): unknown => at(claim, "metadata", "annotations", classAnnotation)

const classOf = (claim: unknown): unknown => at(claim, "spec", "storageClassName")

/** Whether the spec now contains the class that an annotation named before. */
const movesClass = (next: unknown, previous: unknown): boolean => {
  const [before, after] = [annotated(previous), annotated(next)]
  return before !== undefined && classOf(previous) === undefined && classOf(next) === before &&
    (after === undefined || after === before)
}

/** Whether a claim without a class gets one. */
const givesClass = (next: unknown, previous: unknown): boolean =>
  classOf(previous) === undefined && classOf(next) !== undefined &&
  (annotated(previous) === undefined || annotated(previous) === classOf(next))

const isBound = (claim: unknown): boolean => stringAt(claim, "status", "phase") === "Bound"

/** The new spec, with the old values of the fields that this update may change. */
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

/** A VolumeAttributesClass can be replaced, but not removed. */
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

/** The resources of a claim's status: unqualified and Kubernetes' own names must be `storage`. */
const resourceFaults = (name: string, path: string): Faults => {
  const faults = Names.labelKey(name).map((fault) => FieldError.invalid(path, name, fault))
  const own = !name.includes("/") || name.includes("kubernetes.io/")
  return faults.length > 0 || name === "storage" || !own ? faults : [FieldError.notSupported(path, name, ["storage"])]
}

const unit = 1_000_000_000n

const amountFaults = (amount: unknown, path: string): Faults => {
  const exact = Quantity.billionths(String(amount))
  const whole = exact / unit - (exact % unit === 0n ? 0n : 1n)
  return exact < 0n ? [FieldError.invalid(path, Number(whole), "must be a valid resource quantity")] : []
}

const resizing = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending"
]

/** Faults of a status. */
export const validateStatus: Strategy["validateStatus"] = (claim) => {
  const { allocatedResourceStatuses: statuses, allocatedResources: allocated, capacity } = objectAt(claim, "status")
  const path = "status.allocatedResources"
  return [
    ...Object.entries(objectAt(capacity)).flatMap(([name, amount]) => amountFaults(amount, `status.capacity[${name}]`)),
    ...Object.entries(objectAt(statuses)).flatMap(([name, status]) => [
      ...resourceFaults(name, "status.allocatedResourceStatuses"),
      // The fault contains the name rather than the status.
      ...(resizing.includes(String(status))
        ? []
        : [FieldError.notSupported("status.allocatedResourceStatuses", name, resizing)])
    ]),
    ...Object.entries(objectAt(allocated)).flatMap(([name, amount]) => {
      const faults = resourceFaults(name, path)
      return faults.length > 0 ? faults : amountFaults(amount, `${path}[${name}]`)
    })
  ]
}
