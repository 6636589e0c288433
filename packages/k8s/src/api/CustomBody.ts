/**
 * `CustomBody`: a body as a custom kind reads it: metadata coerced, unknown fields left out, defaults filled in.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
 */
import * as Result from "effect/Result"
import type * as JsonValue from "../testing/schema/JsonValue.ts"
import * as StructuralSchema from "../testing/schema/StructuralSchema.ts"
import * as StatusError from "./StatusError.ts"

/** A body as the resource's type reads it. */
export interface Decoded {
  readonly object: JsonValue.JsonObject
  /** Paths of unknown fields that were left out. */
  readonly unknown: ReadonlyArray<string>
}

/** Reads bodies of a kind in one version. */
export const decoder =
  (kind: string, version: string, schema: StructuralSchema.Schema) =>
  (body: JsonValue.JsonObject): Result.Result<Decoded, StatusError.StatusError> => {
    const coerced = StructuralSchema.coerceMetadata(schema, body)
    if (Result.isFailure(coerced)) {
      return Result.fail(StatusError.badRequest(
        `${kind} in version "${version}" cannot be handled as a ${kind}: ${
          StructuralSchema.decodeMessage(coerced.failure)
        }`
      ))
    }
    const pruned = StructuralSchema.pruneWithPaths(schema, coerced.success.object)
    return Result.succeed(
      {
        object: StructuralSchema.applyDefaults(schema, pruned.object) as JsonValue.JsonObject,
        unknown: [...coerced.success.unknown, ...pruned.unknown].sort()
      } satisfies Decoded
    )
  }
