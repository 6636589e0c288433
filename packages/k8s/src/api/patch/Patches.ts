/**
 * `Patches`: JSON patch and merge patch by content type, as functions from the stored object to the patched one.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Bodies from "../Bodies.ts"
import { noMap } from "../Negotiation.ts"
import { copy } from "../Plain.ts"
import { Unreadable } from "../RequestBody.ts"
import * as StatusError from "../StatusError.ts"
import * as JsonPatch from "./JsonPatch.ts"
import * as MergePatch from "./MergePatch.ts"
import * as PatchFailure from "./PatchFailure.ts"

type Refused = StatusError.StatusError

/** Applies a patch to a document. */
export type Apply = (document: unknown) => Effect.Effect<JsonValue.JsonObject, Refused>

export const json = "application/json-patch+json"
export const merge = "application/merge-patch+json"

/** The patched object, or the refusal. */
export const objectOrFault = (patched: Result.Result<unknown, PatchFailure.PatchFailure>): ReturnType<Apply> => {
  if (Result.isFailure(patched)) return Effect.fail(PatchFailure.toStatusError(patched.failure))
  return JsonValue.isObject(patched.success)
    ? Effect.succeed(patched.success)
    : Effect.fail(StatusError.unprocessablePatch)
}

/** The content type, without parameters. */
export const typeOf = (request: Pick<Request, "headers">): string =>
  (request.headers["content-type"] ?? "").split(";")[0]!.trim()

/** A body that must be an object. */
export const objectBody = (
  body: unknown,
  refused: (said: string) => Refused
): Result.Result<JsonValue.JsonObject, Refused> => {
  if (body instanceof Unreadable) return Result.fail(refused(body.said))
  if (JsonValue.isDeeper(body)) return Result.fail(refused(Bodies.tooDeep))
  const value = copy(body)
  return JsonValue.isObject(value) ? Result.succeed(value) : Result.fail(refused(noMap(value)))
}

/** How to apply a patch of either type. An invalid body is refused only when it is applied. */
export const read = (type: string, body: unknown): Apply => {
  // The wording of a refusal depends on the patch type.
  const refused = (said: string) => StatusError.badRequest(`error decoding patch: ${said}`)
  if (type === json) {
    if (body instanceof Unreadable) return () => Effect.fail(refused(body.said))
    // In a list of operations, a value is nested two levels deep.
    if (JsonValue.isDeeper(body, JsonValue.maxLevels + 2)) return () => Effect.fail(refused(Bodies.tooDeep))
    const operations = copy(body)
    return (document) => objectOrFault(JsonPatch.apply(document, operations))
  }
  if (body === null) return () => Effect.fail(StatusError.badRequest("Invalid JSON Patch"))
  const patch = objectBody(body, refused)
  return Result.isFailure(patch)
    ? () => Effect.fail(patch.failure)
    : (document) => objectOrFault(Result.succeed(MergePatch.apply(document, patch.success)))
}
