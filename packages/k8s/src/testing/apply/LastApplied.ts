/**
 * `LastApplied`: the annotation of kubectl's client-side apply, maintained during its server-side apply.
 *
 * The server does this only for the manager "kubectl". Fields that the annotation contains and the object still has
 * count as kubectl's own, although an update wrote them: applying them is no conflict. An existing annotation is
 * updated to the applied configuration, so that returning to client-side apply works.
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

/** An empty object of the kind. */
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

/** The fields that have the value in the annotation; undefined if there is no annotation. */
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

/** The configuration in the form of the annotation: compact JSON with a newline, without the annotation itself. */
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

/** The maximum size of all annotations of an object, including keys, in bytes. */
const maxSize = 256 * 1024

const size = (annotations: JsonValue.JsonObject): number =>
  Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Names.byteLength(key) + Names.byteLength(String(value)),
    0
  )

/** The result of an apply with an updated annotation, if it exists. */
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
