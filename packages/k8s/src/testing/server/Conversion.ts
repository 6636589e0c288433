/**
 * `Conversion`: the few built-in kinds that look different in another version or group.
 *
 * Everything else changes only its apiVersion. Events are stored in their core form, which is the richer one. Of
 * HorizontalPodAutoscalers see `AutoscalerConversion`.
 *
 * Source: k8s.io/kubernetes/pkg/apis/events/v1/conversion.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as JsonValue from "../../schema/JsonValue.ts"
import { asObject, stringAt } from "../../api/Plain.ts"
import type { FieldReader } from "../../api/Selecting.ts"

/** The object with another apiVersion; the same object where it has that already. */
export const withApiVersion = (object: KubeObject, apiVersion: string): KubeObject =>
  object.apiVersion === apiVersion ? object : { ...object, apiVersion }

/** New names of top-level fields; fields that are not named keep theirs. */
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

/** What field selectors may name of an Event of events.k8s.io/v1, read from its core form. */
export const eventFields = (fields: Readonly<Record<string, FieldReader>>): Readonly<Record<string, FieldReader>> =>
  Object.fromEntries(
    Object.entries(fields).filter(([field]) => field !== "source").map(([field, read]) => {
      const [first, ...rest] = field.split(".")
      return [[toEvents.get(first!) ?? first!, ...rest].join("."), read]
    })
  )

/** Empty texts that one form writes and the other leaves out. */
const reporting = ["reportingController", "reportingInstance"]

/** An Event of the core group as events.k8s.io/v1 shows it. */
export const eventFromCore = (event: KubeObject): KubeObject => {
  const renamed = rename(event, toEvents, "events.k8s.io/v1")
  const empty = reporting.filter((key) => stringAt(renamed, key) === "")
  return empty.reduce((object, key) => JsonValue.remove(object as never, key) as never, renamed)
}

/** An Event of events.k8s.io/v1 in the form of the core group. */
export const eventToCore = (event: KubeObject): KubeObject => {
  const renamed = rename(event, toCore, "v1")
  return { reportingComponent: "", reportingInstance: "", ...renamed } as KubeObject
}
