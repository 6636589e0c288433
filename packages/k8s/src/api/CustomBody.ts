/**
 * `CustomBody`: a body as a custom kind reads it: metadata coerced, unknown fields left out, defaults filled in.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
 */
import * as Result from "effect/Result"
import type * as JsonValue from "../schema/JsonValue.ts"
import * as StructuralSchema from "../schema/StructuralSchema.ts"
import { stringAt } from "./Plain.ts"
import * as StatusError from "./StatusError.ts"

/** A body as the resource's type reads it. */
export interface Decoded {
  readonly object: JsonValue.JsonObject
  /** Paths of unknown fields that were left out: those of its own metadata first, those of metadata in it last. */
  readonly unknown: ReadonlyArray<string>
  /** Paths of empty lists that were left out, and whose are somebody's. */
  readonly emptied?: ReadonlyArray<string>
}

const isOwn = (path: string): boolean => path.startsWith("metadata.")

/**
 * Reads bodies of a kind in one version. One of another kind or group is read as nothing but metadata and the rest as it
 * is; one of a version that is not this one has no schema. What can be done with either is for the verbs to say.
 * Bodies lose the nulls that their schema does not allow; what a server-side apply has merged is not read, and keeps them.
 */
export const decoder = (
  { group, kind, version }: { readonly group: string; readonly kind: string; readonly version: string },
  schema: StructuralSchema.Schema
) =>
(body: JsonValue.JsonObject, merged = false): Result.Result<Decoded, StatusError.StatusError> => {
  const [ofGroup = "", ofVersion = ""] = stringAt(body, "apiVersion").split("/")
  const own = ofGroup === group && stringAt(body, "kind") === kind
  const used = own && ofVersion === version ? schema : {}
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
