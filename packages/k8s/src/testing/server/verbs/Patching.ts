/**
 * `Patching`: the patch formats other than server-side apply (see `ApplyPatch`), by content type, as functions from the
 * stored to the patched object.
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

/** The type of the document: that of the resource, or of a subresource. */
interface Type {
  readonly group: string
  readonly version: string
  readonly kind: string
}

const { json, merge, objectOrFault, typeOf } = Patches
const strategic = "application/strategic-merge-patch+json"

/**
 * The content types that a resource accepts besides server-side apply: custom resources have no strategic merge patch.
 */
const readable = (resource: Served): ReadonlyArray<string> =>
  resource.custom === undefined ? [json, merge, strategic] : [json, merge]

/** The 415. For built-in kinds it does not list the accepted types. */
const unsupported = (resource: Served): StatusError.StatusError =>
  resource.custom === undefined
    ? StatusError.unsupportedMediaType
    : StatusError.unsupportedMediaTypes([...readable(resource), ApplyPatch.contentType])

/** Whether a request is a strategic merge patch. */
export const isStrategic = (request: Pick<Request, "headers">): boolean => typeOf(request) === strategic

/** The 415 for a content type that is not a patch of the resource. */
export const unreadable = ({ request, resource }: Exchange.Exchange): Refused | undefined =>
  [...readable(resource), ApplyPatch.contentType].includes(typeOf(request)) ? undefined : unsupported(resource)

/** The function that applies the request's patch; 415 for an unknown content type, 400 for an invalid patch. */
export const reader = (
  exchange: Exchange.Exchange,
  patched: Type = exchange.resource
): Effect.Effect<Patches.Apply, Refused> => {
  const { request, resource } = exchange
  const type = typeOf(request)
  if (!readable(resource).includes(type)) return Effect.fail(unsupported(resource))
  if (type !== strategic) return Effect.succeed(Patches.read(type, request.body))
  // Go decodes null to a map as an empty one.
  const body = Patches.objectBody(request.body ?? {}, (said) => StatusError.badRequest(said))
  if (Result.isFailure(body)) return Effect.succeed(() => Effect.fail(body.failure))
  const definition = definitionOf(patched.group, patched.version, patched.kind) ?? ""
  return Effect.succeed((document) => objectOrFault(StrategicMergePatch.apply(definition, document, body.success)))
}
