/**
 * `EventRules`: validates Events. An Event with an `eventTime` is validated by the rules of events.k8s.io/v1.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/events.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as MetadataRules from "../../../api/MetadataRules.ts"
import * as Names from "../../../api/Names.ts"
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

/** A required string of at most 128 characters. */
const named = (event: unknown, field: string, key = field): ReadonlyArray<FieldError.FieldError> => {
  const value = stringAt(event, key)
  if (value === "") return [FieldError.required(field, "")]
  return Names.byteLength(value) > 128 ? [FieldError.invalid(field, "", "can have at most 128 characters")] : []
}

/** Fields that clients of events.k8s.io/v1 may not set: their core names, and their names in that API. */
const deprecated: ReadonlyArray<readonly [field: string, key: string]> = [
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["source", "deprecatedSource"]
]

const isUnset = (value: unknown): boolean =>
  value === undefined || value === null || value === 0 ||
  (typeof value === "object" && Object.values(value).every((part) => part === ""))

const series = (event: KubeObject): Faults => {
  const value = at(event, "series")
  if (value === undefined || value === null) return []
  return [
    ...(Number(at(value, "count") ?? 0) < 2 ? [FieldError.invalid("series.count", "", "should be at least 2")] : []),
    ...(stringAt(value, "lastObservedTime") === "" ? [FieldError.required("series.lastObservedTime", "")] : [])
  ]
}

const isNew = (event: KubeObject): boolean => event.apiVersion !== "v1"

/** Additional rules for Events that are created through events.k8s.io/v1. */
const strict = (event: KubeObject): Faults => {
  const type = stringAt(event, "type")
  return [
    ...MetadataRules.validateObjectMeta(event.metadata, { namespaced: true, nameRule: "subdomain", builtIn: true }),
    ...series(event),
    ...(stringAt(event, "eventTime") === "" ? [FieldError.required("eventTime", "")] : []),
    ...(type === "Normal" || type === "Warning" ? [] : [FieldError.invalid("type", "", `has invalid value: ${type}`)]),
    ...deprecated.flatMap(([field, key]) =>
      isUnset(at(event, key)) ? [] : [FieldError.invalid(field, "", "needs to be unset")]
    )
  ]
}

/** Fields that are immutable for clients of events.k8s.io/v1. */
const fixed: ReadonlyArray<readonly [field: string, key: string]> = [
  ["involvedObject", "regarding"],
  ["reason", "reason"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reason", "reason"],
  ["type", "type"],
  ["eventTime", "eventTime"],
  ["action", "action"],
  ["related", "related"],
  ["reportingController", "reportingController"],
  ["reportingInstance", "reportingInstance"]
]

const referenceFields: GoStruct.Fields = [
  ["kind", "\"\""],
  ["namespace", "\"\""],
  ["name", "\"\""],
  ["uid", "\"\"", undefined, "UID"],
  ["apiVersion", "\"\"", undefined, "APIVersion"],
  ["resourceVersion", "\"\""],
  ["fieldPath", "\"\""]
]

const texts = new Set(["reason", "message", "type", "action", "reportingController", "reportingInstance"])

const refused = (field: string, value: unknown): FieldError.FieldError =>
  field === "involvedObject" || (field === "related" && value !== undefined)
    ? FieldError.invalidPrinted(field, GoStruct.print(value ?? {}, referenceFields), "field is immutable")
    : FieldError.invalid(field, value ?? (texts.has(field) ? "" : null), "field is immutable")

/** In an Event with an `eventTime`, only the series can change. */
export const validateUpdate: Strategy["validateUpdate"] = (next, previous) =>
  isNew(next)
    ? [
      ...MetadataRules.validateObjectMetaUpdate(next.metadata, previous.metadata, { builtIn: true }),
      ...(JsonValue.equals(at(next, "series"), at(previous, "series")) ? [] : series(next)),
      ...fixed.flatMap(([field, key]) =>
        JsonValue.equals(at(next, key) ?? null, at(previous, key) ?? null)
          ? []
          : [refused(field, at(next, key))]
      )
    ]
    : []

/** Faults of an Event of either form. */
export const validate: Strategy["validate"] = (event, previous) => [
  ...legacy(event),
  ...(previous === undefined && isNew(event) ? strict(event) : [])
]

/** The field has a different name in each API. */
const controllerField = (event: KubeObject): string => isNew(event) ? "reportingController" : "reportingComponent"

const legacy = (event: KubeObject): Faults => {
  const regarding = at(event, "involvedObject") ?? at(event, "regarding")
  const own = event.metadata.namespace ?? ""
  const other = stringAt(regarding, "namespace")
  const mismatch = [FieldError.invalid("involvedObject.namespace", other, "does not match event.namespace")]
  if (stringAt(event, "eventTime") === "") {
    return (other === "" ? own === "" || own === "default" : own === other) ? [] : mismatch
  }
  const controller = stringAt(event, "reportingComponent") || stringAt(event, "reportingController")
  const message = stringAt(event, "message") || stringAt(event, "note")
  return [
    ...(other === "" && own !== "default" && own !== "kube-system" ? mismatch : []),
    ...(controller === "" ? [FieldError.required(controllerField(event), "")] : []),
    ...Names.labelKey(controller).map((fault) => FieldError.invalid(controllerField(event), controller, fault)),
    ...named(event, "reportingInstance"),
    ...named(event, "action"),
    ...named(event, "reason"),
    ...(Names.byteLength(message) > 1024 ? [FieldError.invalid("message", "", "can have at most 1024 characters")] : [])
  ]
}
