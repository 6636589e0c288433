/**
 * `SubresourceBody`: what is sent to a subresource with a type of its own (a Scale, a Binding, an Eviction) is of that
 * type, or refused before anything is looked up.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,update}.go.
 */
import * as Result from "effect/Result"
import * as BuiltinSchema from "./BuiltinSchema.ts"
import * as Body from "./Body.ts"
import type * as Exchange from "./Exchange.ts"
import { isObject } from "../../schema/JsonValue.ts"
import { stringAt } from "../../api/Plain.ts"
import { subresource } from "./Registry.ts"
import * as StatusError from "../../api/StatusError.ts"

/** Refuses the body of a POST or PUT that the type of the subresource cannot hold. */
export const judge = (
  { request, resource, route }: Exchange.Exchange
): Result.Result<void, StatusError.StatusError> => {
  const entry = subresource(resource, route.subresource)
  const { body } = request
  const own = entry !== undefined && entry.kind !== resource.kind && resource.custom === undefined
  if (!own || request.method === "PATCH" || !isObject(body)) return Result.succeed(undefined)
  const { group, kind, version } = entry
  // Evictions of old are taken as those of now.
  const isOld = kind === "Eviction" && stringAt(body, "apiVersion") === "policy/v1beta1"
  const fault = isOld ? undefined : Body.kindFault({ request, resource: { ...resource, group, kind, version } }, body)
  if (fault !== undefined) return Result.fail(fault)
  const definition = BuiltinSchema.definitionOf(group, version, kind)
  const read = definition === undefined ? undefined : BuiltinSchema.decode(definition, body)
  return read === undefined || Result.isSuccess(read)
    ? Result.succeed(undefined)
    : Result.fail(
      StatusError.badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${read.failure}`)
    )
}
