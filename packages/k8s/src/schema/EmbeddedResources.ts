/**
 * `EmbeddedResources`: whole objects inside objects, and the metadata of both.
 *
 * A schema with `x-kubernetes-embedded-resource` describes a complete object: apiVersion and kind are required, and its
 * metadata is an ObjectMeta. An ObjectMeta is decoded strictly: unknown fields are dropped, and a wrong type refuses
 * the object. The outer object is treated the same, except that `validate` does not check it.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta.
 */
import type { PartialObjectMeta } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import * as FieldError from "./FieldError.ts"
import * as JsonValue from "./JsonValue.ts"
import * as MetadataRules from "../api/MetadataRules.ts"
import * as Names from "../api/Names.ts"
import * as ObjectMetaShape from "./ObjectMetaShape.ts"
import * as Schema from "./Schema.ts"

/** Faults of embedded objects (not of the object itself). */
export const validate = (schema: Schema.Schema, object: unknown): ReadonlyArray<FieldError.FieldError> =>
  validateAt(schema, object, "")

const validateAt = (
  schema: Schema.Schema | undefined,
  value: unknown,
  path: string
): ReadonlyArray<FieldError.FieldError> => {
  if (schema === undefined || !Schema.embeds(schema)) return []
  if (JsonValue.isArray(value)) {
    return schema.items === undefined
      ? []
      : value.flatMap((item, index) => validateAt(schema.items, item, `${path}[${index}]`))
  }
  if (!JsonValue.isObject(value)) return []
  return [
    ...(schema["x-kubernetes-embedded-resource"] === true ? validateResource(value, path) : []),
    ...Object.entries(value).flatMap(([key, item]) => {
      const known = Schema.property(schema, key)
      return known === undefined
        ? validateAt(Schema.mapValue(schema), item, Schema.keyPath(path, key))
        : validateAt(known, item, Schema.childPath(path, key))
    })
  ]
}

const validateResource = (value: JsonValue.JsonObject, path: string): ReadonlyArray<FieldError.FieldError> => {
  const errors: Array<FieldError.FieldError> = []
  const at = (name: string): string => Schema.childPath(path, name)
  for (const name of ["apiVersion", "kind"]) {
    if (!JsonValue.has(value, name)) {
      errors.push(FieldError.required(at(name), ""))
      continue
    }
    const text = value[name]
    if (typeof text !== "string") {
      errors.push(FieldError.invalid(at(name), text, "must be a string"))
    } else if (text === "") {
      errors.push(FieldError.invalid(at(name), text, "must not be empty"))
    } else if (name === "apiVersion") {
      if (text.split("/").length > 2) {
        errors.push(FieldError.invalid(at(name), text, `unexpected GroupVersion string: ${text}`))
      }
    } else {
      const faults = Names.dns1035Label(text.toLowerCase())
      if (faults.length > 0) {
        errors.push(FieldError.invalid(
          at(name),
          text,
          `may have mixed case, but should otherwise match: ${faults.join(",")}`
        ))
      }
    }
  }
  if (!JsonValue.has(value, "metadata")) return errors
  const meta = ObjectMetaShape.decode(value["metadata"])
  if (Result.isFailure(meta)) {
    errors.push(FieldError.invalid(at("metadata"), value["metadata"], meta.failure))
    return errors
  }
  const decoded = meta.success.metadata as PartialObjectMeta
  const named = (decoded.name ?? "") === "" ? { ...decoded, name: "fakename" } : decoded
  const ofMeta = MetadataRules.validateObjectMeta(
    named,
    { namespaced: (decoded.namespace ?? "") !== "", nameRule: "pathSegment" },
    at("metadata")
  )
  return [...errors, ...ofMeta]
}

/** An object whose metadata, and that of its embedded objects, has only known fields of the right types. */
export interface Coerced {
  readonly object: unknown
  /** Paths of dropped fields, sorted. */
  readonly unknown: ReadonlyArray<string>
}

/** The text of a `coerceMetadata` failure in the 400 response: for the object's own metadata without the field. */
export const decodeMessage = (error: FieldError.FieldError): string =>
  error.field === "metadata" ? error.detail : FieldError.format(error)

/**
 * Drops unknown fields from the metadata of the object and of embedded objects.
 *
 * Fails at the first field with a wrong type.
 */
export const coerceMetadata = (
  schema: Schema.Schema,
  object: unknown
): Result.Result<Coerced, FieldError.FieldError> => coerce(Schema.asRoot(schema), object)

/** As `coerceMetadata`, for a value that need not be a complete object. */
export const coerce = (schema: Schema.Schema, object: unknown): Result.Result<Coerced, FieldError.FieldError> => {
  const unknown: Array<string> = []
  let failure: FieldError.FieldError | undefined
  const walk = (inner: Schema.Schema | undefined, value: unknown, path: string): unknown => {
    if (inner === undefined || failure !== undefined || !Schema.embeds(inner)) return value
    if (JsonValue.isArray(value)) {
      return JsonValue.mapArray(value, (item, index) => walk(inner.items, item, `${path}[${index}]`))
    }
    if (!JsonValue.isObject(value)) return value
    return JsonValue.mapObject(value, (item, key) => {
      const at = Schema.childPath(path, key)
      if (inner["x-kubernetes-embedded-resource"] === true) {
        if ((key === "apiVersion" || key === "kind") && typeof item !== "string") {
          failure ??= FieldError.invalid(at, item, "must be a string")
          return item
        }
        if (key === "metadata") {
          const meta = ObjectMetaShape.decode(item)
          if (Result.isFailure(meta)) {
            failure ??= FieldError.invalid(at, item, meta.failure)
            return item
          }
          for (const name of meta.success.unknown) unknown.push(`${at}.${name}`)
          return meta.success.metadata
        }
      }
      const known = Schema.property(inner, key)
      return known === undefined
        ? walk(Schema.mapValue(inner), item, Schema.keyPath(path, key))
        : walk(known, item, at)
    })
  }
  const coerced = walk(schema, object, "")
  return failure === undefined
    ? Result.succeed({ object: coerced, unknown: unknown.sort() })
    : Result.fail(failure)
}
