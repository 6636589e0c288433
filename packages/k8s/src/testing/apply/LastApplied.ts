/**
 * `LastApplied`: kubectl's annotation of client-side apply, kept in step by its server-side apply.
 *
 * The server does this for the manager "kubectl" alone. What the annotation holds and the object still has is kubectl's
 * own, though it was written by an update: an apply of that is no conflict. And where the annotation is, it is brought up
 * to date with what was applied, so that a return to client-side apply works.
 *
 * Source: k8s.io/apimachinery/pkg/util/managedfields/internal/{lastappliedmanager,lastappliedupdater}.go.
 */
import * as Checking from "./Checking.ts"
import { compare } from "./Comparison.ts"
import * as FieldError from "../../schema/FieldError.ts"
import { fieldsOf } from "./Fields.ts"
import * as FieldSet from "./FieldSet.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Names from "../../api/Names.ts"
import { objectAt, stringAt } from "../../api/Plain.ts"
import type { Versions } from "./Updater.ts"

const annotation = "kubectl.kubernetes.io/last-applied-configuration"

/** An object of the kind that holds nothing. */
export const emptyOf = (config: JsonValue.JsonObject): JsonValue.JsonObject => ({
  apiVersion: config["apiVersion"],
  kind: config["kind"]
})

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The fields that the annotation names and the object has as named; undefined where there is no such annotation. */
export const ownedFields = (versions: Versions, live: JsonValue.JsonObject): FieldSet.FieldSet | undefined => {
  const text = stringAt(live, "metadata", "annotations", annotation)
  const last = text === "" ? undefined : parsed(text)
  const type = versions.typeOf(versions.own)!
  if (!JsonValue.isObject(last) || last["apiVersion"] !== versions.own) return undefined
  if (Checking.problems(type, last, "refused").length > 0) return undefined
  if (Checking.problems(type, live, "refused").length > 0) return undefined
  const { added, modified, removed } = compare(type, last, live, "plain")
  return [modified, added, removed].reduce(FieldSet.difference, fieldsOf(type, last))
}

/** The configuration as the annotation holds it: compact JSON with a newline, without the annotation itself. */
const textOf = (config: JsonValue.JsonObject): string => {
  const metadata = objectAt(config, "metadata")
  const { [annotation]: _, ...annotations } = objectAt(metadata, "annotations")
  const { annotations: __, ...rest } = metadata
  return `${
    FieldError.goJson({
      ...config,
      metadata: Object.keys(annotations).length === 0 ? rest : { ...rest, annotations }
    })
  }\n`
}

/** What all annotations of an object may take, keys included. */
const maxSize = 256 * 1024

const size = (annotations: JsonValue.JsonObject): number =>
  Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Names.byteLength(key) + Names.byteLength(String(value)),
    0
  )

/** The result of an apply with the annotation brought up to date, if it is there. */
export const synchronized = <A extends { readonly object: JsonValue.JsonObject | undefined }>(
  applied: A,
  { config, live }: { readonly config: JsonValue.JsonObject; readonly live: JsonValue.JsonObject }
): A => {
  const object = applied.object ?? live
  const metadata = objectAt(object, "metadata")
  const annotations = objectAt(metadata, "annotations")
  if (stringAt(annotations, annotation) === "") return applied
  const { [annotation]: before, ...others } = annotations
  const next = { ...others, [annotation]: textOf(config) }
  const fits = size(next) <= maxSize
  return before === next[annotation] && fits
    ? applied
    : { ...applied, object: { ...object, metadata: { ...metadata, annotations: fits ? next : others } } }
}
