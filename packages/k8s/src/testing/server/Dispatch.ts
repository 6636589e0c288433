/**
 * `Dispatch`: finds the resource of a route, and the verb of the resource that answers.
 *
 * What is not served gets the responses of a real server: plain text for an unknown group and for anything missing in a
 * group of custom resources, and a `Status` within a built-in group.
 */
import * as Effect from "effect/Effect"
import * as Representation from "../../api/Representation.ts"
import type { ResourceRoute } from "../../api/Routing.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Components from "./Components.ts"
import * as Exchange from "./Exchange.ts"
import { type Registry, type Served, subresource } from "./Registry.ts"
import * as Respond from "./Respond.ts"
import * as Reviews from "./Reviews.ts"
import * as Connect from "./subresources/Connect.ts"
import * as SubresourceBody from "./subresources/SubresourceBody.ts"
import * as Subresources from "./subresources/Subresources.ts"
import * as Patching from "./verbs/Patching.ts"
import * as RepeatedFields from "./verbs/RepeatedFields.ts"
import { create } from "./verbs/VerbsCreate.ts"
import { remove, removeCollection } from "./verbs/VerbsDelete.ts"
import * as Read from "./verbs/VerbsRead.ts"
import { patch, replace } from "./verbs/VerbsUpdate.ts"

/** The 404 of a path that is not served. */
export const unserved: Representation.ApiResponse = {
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: "404 page not found\n"
}

export type Found =
  | { readonly _tag: "Found"; readonly resource: Served }
  | { readonly _tag: "Missing"; readonly response: Representation.ApiResponse }

const missing = (response: Representation.ApiResponse): Found => ({ _tag: "Missing", response })

const ofItem: ReadonlyArray<string> = ["get", "update", "patch", "delete"]

/**
 * Whether a route exists for a resource: a kind that can only be created has no items and no list across namespaces.
 */
const hasPath = ({ scope, verbs }: Served, { name, namespace, watchPrefix }: ResourceRoute): boolean =>
  watchPrefix
    ? verbs.includes("watch")
    : name !== ""
    ? verbs.some((verb) => ofItem.includes(verb))
    : scope === "Cluster" || namespace !== "" || verbs.includes("list")

/** The resource of a route. */
export const find = (registry: Registry, route: ResourceRoute): Found => {
  const generic = missing(Representation.refused(StatusError.genericNotFound))
  const resource = registry.lookup(route.group, route.version, route.plural)
  if (resource === undefined) {
    if (registry.isUnready(route)) {
      return missing(Representation.refused(StatusError.internal("error resolving resource")))
    }
    return registry.isBuiltin(route.group) ? generic : missing(unserved)
  }
  const custom = resource.custom !== undefined
  // Across all namespaces there is no access by name, and custom resources can only be read.
  const misplaced = resource.scope === "Cluster"
    ? route.namespace !== ""
    : route.namespace === "" && (route.name !== "" || (custom && route.verb !== "list" && route.verb !== "watch"))
  if (misplaced) return custom ? missing(unserved) : generic
  // The deprecated watch prefix is followed by objects, never by a subresource.
  const partial = route.subresource !== ""
  if (!custom && (partial ? route.watchPrefix : !hasPath(resource, route))) return generic
  if (route.subresource === "" || subresource(resource, Connect.headOf(route)) !== undefined) {
    return { _tag: "Found", resource }
  }
  return custom
    ? missing(Respond.deprecated(resource, Representation.refused(StatusError.notFound(resource, route.name))))
    : generic
}

const ofObject: Readonly<Record<Exclude<ResourceRoute["verb"], "">, Exchange.Verb>> = {
  get: Read.get,
  list: Read.list,
  watch: Read.watch,
  create,
  update: replace("object"),
  patch: patch("object"),
  delete: remove,
  deletecollection: removeCollection
}

const ofStatus: Partial<Record<ResourceRoute["verb"], Exchange.Verb>> = {
  get: Read.get,
  update: replace("status"),
  patch: patch("status")
}

/** Whether a resource has the verb at this path. */
const allowed = ({ resource, route }: Exchange.Exchange): boolean => {
  if (!resource.verbs.includes(route.verb)) return false
  const custom = resource.custom !== undefined
  // A POST creates in a namespace. Only custom resources accept one at the URL of an object.
  if (route.verb === "create") {
    return (resource.scope === "Cluster" || route.namespace !== "") && (route.name === "" || custom)
  }
  if (route.verb === "update" || route.verb === "patch") return route.name !== ""
  return route.verb !== "deletecollection" || resource.scope === "Cluster" || route.namespace !== ""
}

/** The verb that answers; undefined if the resource does not have it. */
const chosen = (exchange: Exchange.Exchange): Exchange.Verb | undefined => {
  const { request: { method }, resource, route } = exchange
  // A proxied request may use any method.
  if (Connect.headOf(route) === "proxy") return Subresources.find(exchange)
  // Methods that are not part of the API: the router of built-in kinds refuses them, that of custom ones treats HEAD as
  // GET.
  if (route.verb === "" || (method === "HEAD" && resource.custom === undefined)) return undefined
  // Custom resources have no router that checks the method: there the deprecated watch prefix watches with any method.
  if (route.verb === "watch" && method !== "GET" && resource.custom === undefined) return undefined
  if (route.subresource === "status") return ofStatus[route.verb]
  if (route.subresource !== "") return Subresources.find(exchange)
  if (!allowed(exchange)) return undefined
  return Reviews.find(exchange) ?? Components.find(exchange) ?? Subresources.ofCollection(exchange) ??
    ofObject[route.verb]
}

/** The options of a write, which are validated before its body. */
const judged = (exchange: Exchange.Exchange): Effect.Effect<unknown, StatusError.StatusError> => {
  switch (exchange.route.verb) {
    case "create":
      return Exchange.writeOptions(exchange, "CreateOptions")
    case "update":
      return Exchange.writeOptions(exchange, "UpdateOptions")
    default:
      return Effect.void
  }
}

/** Answers an exchange with its verb. A body that has not been read yet is read if the verb needs it. */
export const verb: Exchange.Verb = (exchange) => {
  const { incoming, request, resource, route } = exchange
  const answer = chosen(exchange)
  if (answer === undefined) {
    const unreadable = route.verb === "patch" && resource.custom !== undefined
      ? Patching.unreadable(exchange)
      : undefined
    if (unreadable !== undefined) return Effect.fail(unreadable)
    const nameless = route.subresource === "" && route.name === "" && resource.custom !== undefined &&
      (route.verb === "update" || route.verb === "patch")
    if (nameless) return Effect.fail(StatusError.badRequest("name must be provided"))
    return Effect.fail(
      resource.custom !== undefined && (route.subresource !== "" || route.verb === "")
        ? StatusError.methodNotAllowedBecause(
          resource,
          `${route.verb} is not supported on resources of kind "${StatusError.targetName(resource)}"`
        )
        : StatusError.methodNotAllowed
    )
  }
  const options = answer === Read.list || answer === Read.watch
  const unacceptable = Respond.unroutable(exchange) ?? (options ? undefined : Respond.unacceptable(exchange))
  if (unacceptable !== undefined) return Effect.fail(unacceptable)
  const kind = subresource(resource, route.subresource)?.kind ?? resource.kind
  const bodiless = request.method === "GET" || request.method === "HEAD" || route.verb === "watch"
  if (bodiless || Connect.isConnected(exchange)) return answer(exchange)
  const unreadable = (fault: StatusError.StatusError) => Effect.andThen(judged(exchange), Effect.fail(fault))
  const typed = (asked: Exchange.Exchange) => {
    const read = RepeatedFields.asRead(asked)
    return Effect.andThen(Effect.catch(SubresourceBody.judge(read), unreadable), answer(read))
  }
  if (incoming === undefined) return typed(exchange)
  const body = Effect.catch(incoming(kind), unreadable)
  return Effect.flatMap(
    body,
    (body) => typed(body === undefined ? exchange : { ...exchange, request: { ...request, body } })
  )
}
