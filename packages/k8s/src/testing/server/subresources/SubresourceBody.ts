/**
 * `SubresourceBody`: checks that the body of a request to a subresource with its own type (a Scale, a Binding, an
 * Eviction) has that type, before anything is looked up.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,update}.go.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Bodies from "../../../api/Bodies.ts"
import { stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import { isObject, type JsonObject } from "../../../schema/JsonValue.ts"
import * as Exchange from "../Exchange.ts"
import { subresource } from "../Registry.ts"
import * as BuiltinSchema from "../go/BuiltinSchema.ts"
import * as Body from "../verbs/Body.ts"

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

type Judged = Effect.Effect<void, StatusError.StatusError>

/** Reports values that the type of a subresource cannot hold, and unknown fields. */
const judgeFields = (
  exchange: Exchange.Exchange,
  { group, kind, version }: Kind,
  body: JsonObject
): Judged => {
  const refused = (why: string) =>
    Effect.fail(StatusError.badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`))
  const definition = BuiltinSchema.definitionOf(group, version, kind)
  const read = definition === undefined ? undefined : BuiltinSchema.decode(definition, body)
  if (read === undefined) return Effect.void
  if (Result.isFailure(read)) return refused(read.failure)
  // A token request reports these when it is read.
  if (kind === "TokenRequest") return Effect.void
  return Effect.flatMap(
    Exchange.writeOptions(exchange, exchange.request.method === "PUT" ? "UpdateOptions" : "CreateOptions"),
    (options) => {
      const text = Bodies.unknownFields(exchange, options, Body.told(exchange, read.success.unknown))
      return text === undefined ? Effect.void : refused(text)
    }
  )
}

/** Refuses a POST or PUT whose body is not of the subresource's type, or names another namespace. */
export const judge = (exchange: Exchange.Exchange): Judged => {
  const { request, resource, route } = exchange
  const entry = resource.collection === "bindings" ? resource : subresource(resource, route.subresource)
  const { body } = request
  const own = entry !== undefined && resource.custom === undefined &&
    (entry === resource || entry.kind !== resource.kind)
  if (!own || request.method === "PATCH" || !isObject(body)) return Effect.void
  const { group, kind, version } = entry
  // Evictions in the old version are accepted as current ones.
  const isOld = kind === "Eviction" && stringAt(body, "apiVersion") === "policy/v1beta1"
  const fault = isOld ? undefined : Body.kindFault({ request, resource: { ...resource, group, kind, version } }, body)
  if (fault !== undefined) return Effect.fail(fault)
  const namespace = stringAt(body, "metadata", "namespace")
  const isElsewhere = route.verb === "create" && namespace !== "" && namespace !== route.namespace
  return Effect.andThen(
    judgeFields(exchange, { group, kind, version }, body),
    isElsewhere ? Effect.fail(Bodies.misplaced) : Effect.void
  )
}
