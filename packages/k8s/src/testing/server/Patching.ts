/**
 * `Patching`: the three patch formats, by content type, as functions from the stored object to the patched one.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { definitionOf } from "./BuiltinSchema.ts"
import type * as Exchange from "./Exchange.ts"
import * as JsonPatch from "../patch/JsonPatch.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as MergePatch from "../patch/MergePatch.ts"
import * as PatchFailure from "../patch/PatchFailure.ts"
import { copy } from "./Plain.ts"
import type { Served } from "./Registry.ts"
import * as StatusError from "../StatusError.ts"
import * as StrategicMergePatch from "../patch/StrategicMergePatch.ts"

type Refused = StatusError.StatusError

/** From a document to the patched one. */
export type Apply = (document: unknown) => Effect.Effect<JsonValue.JsonObject, Refused>

/** The type of the document: the resource's own, or that of a subresource. */
interface Type {
  readonly group: string
  readonly version: string
  readonly kind: string
}

const json = "application/json-patch+json"
const merge = "application/merge-patch+json"
const strategic = "application/strategic-merge-patch+json"

/** Server-side apply has its own verb. */
const apply = "application/apply-patch+yaml"

/** The content types a resource reads: custom resources have no strategic merge. */
const readable = (resource: Served): ReadonlyArray<string> =>
  resource.custom === undefined ? [json, merge, strategic] : [json, merge]

/** 415. Built-in kinds do not say what they read, unless it is asked for what is not there at all. */
const unsupported = (resource: Served, type: string): StatusError.StatusError =>
  type === apply
    ? StatusError.unsupportedMediaTypes(readable(resource))
    : resource.custom === undefined
    ? StatusError.unsupportedMediaType
    : StatusError.unsupportedMediaTypes([...readable(resource), apply])

const objectOrFault = (patched: Result.Result<unknown, PatchFailure.PatchFailure>): ReturnType<Apply> => {
  if (Result.isFailure(patched)) return Effect.fail(PatchFailure.toStatusError(patched.failure))
  return JsonValue.isObject(patched.success)
    ? Effect.succeed(patched.success)
    : Effect.fail(StatusError.unprocessablePatch)
}

/** How to apply the request's patch; 415 for a content type that is none, 400 for a body that is no patch. */
export const reader = (
  exchange: Exchange.Exchange,
  patched: Type = exchange.resource
): Effect.Effect<Apply, Refused> => {
  const { request, resource } = exchange
  const type = (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase()
  if (!readable(resource).includes(type)) return Effect.fail(unsupported(resource, type))
  const body = copy(request.body)
  if (type === json) return Effect.succeed((document) => objectOrFault(JsonPatch.apply(document, body)))
  if (!JsonValue.isObject(body)) {
    return Effect.fail(StatusError.badRequest(
      `error decoding patch: json: cannot unmarshal ${
        Array.isArray(body) ? "array" : typeof body
      } into Go value of type map[string]interface {}`
    ))
  }
  if (type === merge) {
    return Effect.succeed((document) => objectOrFault(Result.succeed(MergePatch.apply(document, body))))
  }
  const definition = definitionOf(patched.group, patched.version, patched.kind) ?? ""
  return Effect.succeed((document) => objectOrFault(StrategicMergePatch.apply(definition, document, body)))
}
