/**
 * `Patching`: the patch formats but server-side apply (see `ApplyPatch`), by content type, as functions from the stored object to the patched one.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as ApplyPatch from "./ApplyPatch.ts"
import { definitionOf } from "./BuiltinSchema.ts"
import type * as Exchange from "./Exchange.ts"
import { jsonType } from "../../api/Negotiation.ts"
import { Unreadable } from "../http/RequestBody.ts"
import * as JsonPatch from "../../api/patch/JsonPatch.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as MergePatch from "../../api/patch/MergePatch.ts"
import * as PatchFailure from "../../api/patch/PatchFailure.ts"
import { copy } from "../../api/Plain.ts"
import type { Served } from "./Registry.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as StrategicMergePatch from "../../api/patch/StrategicMergePatch.ts"

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

/** The content types a resource reads, apart from those of an apply: custom resources have no strategic merge. */
const readable = (resource: Served): ReadonlyArray<string> =>
  resource.custom === undefined ? [json, merge, strategic] : [json, merge]

/** 415. Built-in kinds do not say what they read. */
const unsupported = (resource: Served): StatusError.StatusError =>
  resource.custom === undefined
    ? StatusError.unsupportedMediaType
    : StatusError.unsupportedMediaTypes([...readable(resource), ApplyPatch.contentType])

const objectOrFault = (patched: Result.Result<unknown, PatchFailure.PatchFailure>): ReturnType<Apply> => {
  if (Result.isFailure(patched)) return Effect.fail(PatchFailure.toStatusError(patched.failure))
  return JsonValue.isObject(patched.success)
    ? Effect.succeed(patched.success)
    : Effect.fail(StatusError.unprocessablePatch)
}

const typeOf = (request: Pick<Request, "headers">): string =>
  (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase()

/** True for a strategic merge patch. */
export const isStrategic = (request: Pick<Request, "headers">): boolean => typeOf(request) === strategic

/** 415 for a content type that is no patch of the resource. */
export const unreadable = ({ request, resource }: Exchange.Exchange): Refused | undefined =>
  [...readable(resource), ApplyPatch.contentType].includes(typeOf(request)) ? undefined : unsupported(resource)

/** How to apply the request's patch; 415 for a content type that is none, 400 for a body that is no patch. */
export const reader = (
  exchange: Exchange.Exchange,
  patched: Type = exchange.resource
): Effect.Effect<Apply, Refused> => {
  const { request, resource } = exchange
  const type = typeOf(request)
  if (!readable(resource).includes(type)) return Effect.fail(unsupported(resource))
  // A strategic merge patch is read elsewhere than the others, which say what they were doing.
  const unreadable = (said: string) =>
    StatusError.badRequest(type === strategic ? said : `error decoding patch: ${said}`)
  if (request.body instanceof Unreadable) {
    const refused = unreadable(request.body.said)
    return Effect.succeed(() => Effect.fail(refused))
  }
  const body = copy(request.body)
  if (type === json) return Effect.succeed((document) => objectOrFault(JsonPatch.apply(document, body)))
  if (!JsonValue.isObject(body)) {
    const refused = unreadable(
      `json: cannot unmarshal ${jsonType(body)} into Go value of type map[string]interface {}`
    )
    return Effect.succeed(() => Effect.fail(refused))
  }
  if (type === merge) {
    return Effect.succeed((document) => objectOrFault(Result.succeed(MergePatch.apply(document, body))))
  }
  const definition = definitionOf(patched.group, patched.version, patched.kind) ?? ""
  return Effect.succeed((document) => objectOrFault(StrategicMergePatch.apply(definition, document, body)))
}
