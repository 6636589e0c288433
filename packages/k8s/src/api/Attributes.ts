/**
 * `Attributes`: the attributes of a request, as authorization, flow control and audit see it.
 *
 * A resource request has a verb, group, resource, subresource, namespace and name; any other request has its method in
 * lower case and its path. A Namespace belongs to itself, and a list or watch of the single object that its field
 * selector names is about that object.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go; the texts of refusals are those of
 * pkg/endpoints/handlers/responsewriters/errors.go.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as FieldError from "../schema/FieldError.ts"
import * as Names from "./Names.ts"
import { parameter, type Route } from "./Routing.ts"
import type { UserInfo } from "./UserInfo.ts"
import * as StatusError from "./StatusError.ts"

export interface ResourceAttributes {
  readonly _tag: "Resource"
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  /** `""` for the object itself. */
  readonly subresource: string
  /** `""` for all namespaces, or a cluster-scoped resource. */
  readonly namespace: string
  /** `""` for a collection and for a create. */
  readonly name: string
}

export interface PathAttributes {
  readonly _tag: "Path"
  readonly verb: string
  readonly path: string
}

export type Attributes = ResourceAttributes | PathAttributes

/** The name that a field selector selects, if it selects one. */
const selectedName = (request: Request): string => {
  for (const term of (parameter(request, "fieldSelector") ?? "").split(",")) {
    const name = /^metadata\.name==?(.+)$/.exec(term)?.[1]
    if (name !== undefined && Names.pathSegment(name).length === 0) return name
  }
  return ""
}

const decodePath = (path: string): string => {
  if (!path.includes("%")) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** The attributes of a routed request. */
export const fromRequest = (request: Request, route: Route): Attributes => {
  if (route._tag === "Path") {
    return { _tag: "Path", verb: request.method.toLowerCase(), path: decodePath(request.path) }
  }
  const { group, plural, subresource, verb, version } = route
  const selective = route.name === "" && (verb === "list" || verb === "watch" || verb === "get")
  const slash = subresource.indexOf("/")
  return {
    _tag: "Resource",
    verb,
    group,
    version,
    resource: plural,
    subresource: slash < 0 ? subresource : subresource.slice(0, slash),
    namespace: plural === "namespaces" && group === "" && route.namespace === "" ? route.name : route.namespace,
    name: selective && request.query.length > 0 ? selectedName(request) : route.name
  }
}

/** Attributes for an access review of a resource; missing fields are empty. */
export const resource = (fields: Partial<Omit<ResourceAttributes, "_tag">>): ResourceAttributes => ({
  _tag: "Resource",
  verb: "",
  group: "",
  version: "*",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  ...fields
})

/** `deployments`, or `deployments/scale`. */
export const combined = ({ resource, subresource }: ResourceAttributes): string =>
  subresource === "" ? resource : `${resource}/${subresource}`

const { quote } = FieldError

/** User input must not look like HTML in an error. */
const sanitized = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")

const refusal = (user: UserInfo, attributes: Attributes): string => {
  if (attributes._tag === "Path") {
    return `User ${quote(user.username)} cannot ${attributes.verb} path ${quote(attributes.path)}`
  }
  const where = attributes.namespace === ""
    ? "at the cluster scope"
    : `in the namespace ${quote(attributes.namespace)}`
  return `User ${quote(user.username)} cannot ${attributes.verb} resource ${quote(combined(attributes))} ` +
    `in API group ${quote(attributes.group)} ${where}`
}

/** 403: the user may not make the request. */
export const forbidden = (user: UserInfo, attributes: Attributes, reason: string): StatusError.StatusError => {
  const text = sanitized(refusal(user, attributes))
  const error = StatusError.forbidden(
    attributes._tag === "Path" ? undefined : { group: attributes.group, plural: attributes.resource },
    attributes._tag === "Path" ? "" : attributes.name,
    reason === "" ? text : `${text}: ${reason}`
  )
  return { ...error, headers: { ...error.headers, "x-content-type-options": "nosniff" } }
}
