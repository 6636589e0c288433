/**
 * `CustomBody`: decodes a body as a custom kind: coerces metadata, prunes unknown fields, fills in defaults. What
 * mutating admission has made of an object only gets defaults.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
 */
import * as Result from "effect/Result"
import type * as JsonValue from "../schema/JsonValue.ts"
import * as ObjectMetaShape from "../schema/ObjectMetaShape.ts"
import * as StructuralSchema from "../schema/StructuralSchema.ts"
import { at, stringAt } from "./Plain.ts"
import * as StatusError from "./StatusError.ts"

/** A body decoded as the resource's type. */
export interface Decoded {
  readonly object: JsonValue.JsonObject
  /** Paths of pruned unknown fields: first those of the object's metadata, last those of embedded metadata. */
  readonly unknown: ReadonlyArray<string>
  /** Paths of empty lists that were dropped although a field manager owns them. */
  readonly emptied?: ReadonlyArray<string>
}

const isOwn = (path: string): boolean => path.startsWith("metadata.")

/**
 * A decoder for bodies of a kind in one version. A body of another kind or group only has its metadata coerced; a body
 * of another version is decoded by the schema of that, or without one if there is none. Whether either is acceptable is
 * for the verbs to decide. Nulls that the schema does not allow are dropped, except (`merged`) from the result of a
 * server-side apply, which Go does not decode.
 */
export const decoder = (
  { group, kind, version }: { readonly group: string; readonly kind: string; readonly version: string },
  schemas: ReadonlyMap<string, StructuralSchema.Schema>
) =>
(body: JsonValue.JsonObject, merged = false): Result.Result<Decoded, StatusError.StatusError> => {
  const [ofGroup = "", ofVersion = ""] = stringAt(body, "apiVersion").split("/")
  const own = ofGroup === group && stringAt(body, "kind") === kind
  const used = own ? schemas.get(ofVersion) ?? {} : {}
  const coerced = StructuralSchema.coerceMetadata(used, body)
  if (Result.isFailure(coerced)) {
    return Result.fail(StatusError.badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: ${
        StructuralSchema.decodeMessage(coerced.failure)
      }`
    ))
  }
  const { object, unknown } = coerced.success
  const defaulted = merged ? StructuralSchema.fillDefaults : StructuralSchema.applyDefaults
  const pruned = own ? StructuralSchema.pruneWithPaths(used, object) : { object, unknown: [] }
  return Result.succeed(
    {
      object: (own ? defaulted(used, pruned.object) : object) as JsonValue.JsonObject,
      unknown: [...unknown.filter(isOwn), ...pruned.unknown, ...unknown.filter((path) => !isOwn(path))]
    } satisfies Decoded
  )
}

/**
 * Reads what mutating admission has made of an object: fills in defaults. Unknown fields stay until the object is read
 * from the store, and nulls that the schema does not allow stay for validation to refuse. Metadata loses what is unknown
 * or of a wrong type.
 */
export const adopted = (schema: StructuralSchema.Schema, object: JsonValue.JsonObject): JsonValue.JsonObject => {
  const whole = { ...object, metadata: ObjectMetaShape.decodeLeniently(at(object, "metadata")) }
  // Wrong types in embedded metadata are refused by validation.
  const coerced = Result.match(StructuralSchema.coerceMetadata(schema, whole), {
    onSuccess: ({ object }) => object,
    onFailure: () => whole
  })
  return StructuralSchema.fillDefaults(schema, coerced) as JsonValue.JsonObject
}
