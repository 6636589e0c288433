/**
 * `Conversion`: converts the few built-in kinds that differ between versions or groups.
 *
 * All other kinds change only their apiVersion. Events are stored in their core form, which has more fields. For
 * HorizontalPodAutoscalers see `AutoscalerConversion`.
 *
 * Source: k8s.io/kubernetes/pkg/apis/events/v1/conversion.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as JsonValue from "../../schema/JsonValue.ts"
import { asObject, stringAt } from "../../api/Plain.ts"
import type { FieldReader } from "../../api/Selecting.ts"

/** The object with another apiVersion; the same object if it has that one already. */
export const withApiVersion = (object: KubeObject, apiVersion: string): KubeObject =>
  object.apiVersion === apiVersion ? object : { ...object, apiVersion }

/** Renames top-level fields. Fields that are not in `names` keep their names. */
const rename = (object: KubeObject, names: ReadonlyMap<string, string>, apiVersion: string): KubeObject => {
  const renamed = Object.fromEntries(Object.entries(object).map(([key, value]) => [names.get(key) ?? key, value]))
  return asObject({ ...renamed, apiVersion })
}

const eventNames: ReadonlyArray<readonly [core: string, events: string]> = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"]
]

const toEvents = new Map(eventNames)
const toCore = new Map(eventNames.map(([core, events]) => [events, core]))

/** The field labels of events.k8s.io/v1, read from the core form of an Event. */
export const eventFields = (fields: Readonly<Record<string, FieldReader>>): Readonly<Record<string, FieldReader>> =>
  Object.fromEntries(
    Object.entries(fields).filter(([field]) => field !== "source").map(([field, read]) => {
      const [first, ...rest] = field.split(".")
      return [[toEvents.get(first!) ?? first!, ...rest].join("."), read]
    })
  )

/** Empty strings that one form contains and the other omits. */
const reporting = ["reportingController", "reportingInstance"]

/** A core Event in the form of events.k8s.io/v1. */
export const eventFromCore = (event: KubeObject): KubeObject => {
  const renamed = rename(event, toEvents, "events.k8s.io/v1")
  const empty = reporting.filter((key) => stringAt(renamed, key) === "")
  return empty.reduce((object, key) => JsonValue.remove(object as never, key) as never, renamed)
}

/** An Event of events.k8s.io/v1 in core form. */
export const eventToCore = (event: KubeObject): KubeObject => {
  const renamed = rename(event, toCore, "v1")
  return { reportingComponent: "", reportingInstance: "", ...renamed } as KubeObject
}
