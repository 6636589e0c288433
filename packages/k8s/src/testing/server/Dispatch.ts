/**
 * `Dispatch`: from a route to the resource, and from the resource to the verb that answers.
 *
 * What is not served is told apart as the real server does: plain text for a group nobody serves and for whatever is
 * missing in a group of custom resources, a `Status` inside a built-in group.
 */
import * as Effect from "effect/Effect"
import * as Exchange from "./Exchange.ts"
import { type Registry, type Served, subresource } from "./Registry.ts"
import * as Respond from "./Respond.ts"
import * as Reviews from "./Reviews.ts"
import type { ResourceRoute } from "./Routing.ts"
import * as StatusError from "../StatusError.ts"
import * as Subresources from "./Subresources.ts"
import { create } from "./VerbsCreate.ts"
import { remove, removeCollection } from "./VerbsDelete.ts"
import * as Read from "./VerbsRead.ts"
import { patch, replace } from "./VerbsUpdate.ts"

/** 404 of a path nobody serves. */
export const unserved: Respond.ApiResponse = {
  status: 404,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: "404 page not found\n"
}

export type Found =
  | { readonly _tag: "Found"; readonly resource: Served }
  | { readonly _tag: "Missing"; readonly response: Respond.ApiResponse }

const missing = (response: Respond.ApiResponse): Found => ({ _tag: "Missing", response })

/** The resource of a route. */
export const find = (registry: Registry, route: ResourceRoute): Found => {
  const generic = missing(Respond.refused(StatusError.genericNotFound))
  const resource = registry.lookup(route.group, route.version, route.plural)
  if (resource === undefined) return registry.isBuiltin(route.group) ? generic : missing(unserved)
  const custom = resource.custom !== undefined
  // All namespaces at once: nothing by name, and custom resources can only be read.
  const misplaced = resource.scope === "Cluster"
    ? route.namespace !== ""
    : route.namespace === "" && (route.name !== "" || (custom && route.verb !== "list" && route.verb !== "watch"))
  if (misplaced) return custom ? missing(unserved) : generic
  if (route.subresource === "" || subresource(resource, route.subresource) !== undefined) {
    return { _tag: "Found", resource }
  }
  return custom ? missing(Respond.refused(StatusError.notFound(resource, route.name))) : generic
}

const ofObject: Readonly<Record<ResourceRoute["verb"], Exchange.Verb>> = {
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

/** Whether a resource has a verb at that place. */
const allowed = ({ resource, route }: Exchange.Exchange): boolean => {
  if (!resource.verbs.includes(route.verb)) return false
  const custom = resource.custom !== undefined
  // A POST creates in a namespace; to the URL of a name only custom resources take one.
  if (route.verb === "create") {
    return (resource.scope === "Cluster" || route.namespace !== "") && (route.name === "" || custom)
  }
  if (route.verb === "update" || route.verb === "patch") return route.name !== ""
  return route.verb !== "deletecollection" || resource.scope === "Cluster" || route.namespace !== ""
}

/** Answers an exchange by its verb. */
export const verb: Exchange.Verb = (exchange) => {
  const { resource, route } = exchange
  const unacceptable = Respond.unacceptable(exchange)
  if (unacceptable !== undefined) return Effect.fail(unacceptable)
  if (route.subresource === "status") return (ofStatus[route.verb] ?? refuse)(exchange)
  if (route.subresource !== "") return (Subresources.find(exchange) ?? refuse)(exchange)
  if (!allowed(exchange)) {
    return (route.verb === "update" || route.verb === "patch") && route.name === "" && resource.custom !== undefined
      ? Effect.fail(StatusError.badRequest("name must be provided"))
      : refuse(exchange)
  }
  return (Reviews.find(exchange) ?? Subresources.ofCollection(exchange) ?? ofObject[route.verb])(exchange)
}

const refuse: Exchange.Verb = () => Effect.fail(StatusError.methodNotAllowed)
