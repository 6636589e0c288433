/**
 * `Patching`: the patch formats but server-side apply (see `ApplyPatch`), by content type, as functions from the stored object to the patched one.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as StatusError from "../../../api/StatusError.ts"
import * as Patches from "../../../api/patch/Patches.ts"
import * as StrategicMergePatch from "../../../api/patch/StrategicMergePatch.ts"
import type * as Exchange from "../Exchange.ts"
import type { Served } from "../Registry.ts"
import { definitionOf } from "../go/BuiltinSchema.ts"
import * as ApplyPatch from "./ApplyPatch.ts"

type Refused = StatusError.StatusError

/** The type of the document: the resource's own, or that of a subresource. */
interface Type {
  readonly group: string
  readonly version: string
  readonly kind: string
}

const { json, merge, objectOrFault, typeOf } = Patches
const strategic = "application/strategic-merge-patch+json"

/** The content types a resource reads, apart from those of an apply: custom resources have no strategic merge. */
const readable = (resource: Served): ReadonlyArray<string> =>
  resource.custom === undefined ? [json, merge, strategic] : [json, merge]

/** 415. Built-in kinds do not say what they read. */
const unsupported = (resource: Served): StatusError.StatusError =>
  resource.custom === undefined
    ? StatusError.unsupportedMediaType
    : StatusError.unsupportedMediaTypes([...readable(resource), ApplyPatch.contentType])

/** True for a strategic merge patch. */
export const isStrategic = (request: Pick<Request, "headers">): boolean => typeOf(request) === strategic

/** 415 for a content type that is no patch of the resource. */
export const unreadable = ({ request, resource }: Exchange.Exchange): Refused | undefined =>
  [...readable(resource), ApplyPatch.contentType].includes(typeOf(request)) ? undefined : unsupported(resource)

/** How to apply the request's patch; 415 for a content type that is none, 400 for a body that is no patch. */
export const reader = (
  exchange: Exchange.Exchange,
  patched: Type = exchange.resource
): Effect.Effect<Patches.Apply, Refused> => {
  const { request, resource } = exchange
  const type = typeOf(request)
  if (!readable(resource).includes(type)) return Effect.fail(unsupported(resource))
  if (type !== strategic) return Effect.succeed(Patches.read(type, request.body))
  // To a map of Go, null is an empty one.
  const body = Patches.objectBody(request.body ?? {}, (said) => StatusError.badRequest(said))
  if (Result.isFailure(body)) return Effect.succeed(() => Effect.fail(body.failure))
  const definition = definitionOf(patched.group, patched.version, patched.kind) ?? ""
  return Effect.succeed((document) => objectOrFault(StrategicMergePatch.apply(definition, document, body.success)))
}
