/**
 * `Routing`: what a request is about, from its method and path alone, before any look-up.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go. A path that is not below `/api/VERSION` or
 * `/apis/GROUP/VERSION` with a resource is a `Path`: discovery, health, or unknown.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Remembered from "./Remembered.ts"

/** The verb as authorization and audit name it; `""` for a method without a meaning. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection" | ""

/** A resource request. */
export interface ResourceRoute {
  readonly _tag: "Resource"
  readonly verb: Verb
  /** `""` for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  /** `""` if there is none. */
  readonly namespace: string
  /** `""` for the collection. */
  readonly name: string
  /** `""` for the object itself; deeper paths keep their slashes. */
  readonly subresource: string
  /** The old form `/api/v1/watch/…`. */
  readonly watchPrefix: boolean
}

export interface PathRoute {
  readonly _tag: "Path"
  /** `["apis", "apps", "v1"]`; the first is `""` if the path starts with two slashes, which leads nowhere. */
  readonly segments: ReadonlyArray<string>
}

export type Route = ResourceRoute | PathRoute

/** Subresources of a Namespace, whose paths look like those of resources in it. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"])

/** The first value of a query parameter. */
export const parameter = (request: Pick<Request, "query">, name: string): string | undefined =>
  request.query.find(([key]) => key === name)?.[1]

/** A boolean query parameter: any value counts as true, except `false` and `0`. */
export const flag = (request: Pick<Request, "query">, name: string): boolean => {
  const value = parameter(request, name)
  return value !== undefined && value !== "0" && value.toLowerCase() !== "false"
}

const verbOf = (request: Request, name: string, watchPrefix: boolean): Verb => {
  // The old prefix itself is the verb, whatever the method. Whether the method is allowed is checked elsewhere.
  if (watchPrefix) return "watch"
  switch (request.method) {
    case "POST":
      return "create"
    case "PUT":
      return "update"
    case "PATCH":
      return "patch"
    case "DELETE":
      return name === "" ? "deletecollection" : "delete"
    case "OPTIONS":
      return ""
    case "GET":
    case "HEAD":
      // `watch` on the URL of a named object is a plain GET, except under the old prefix.
      return name !== "" ? "get" : flag(request, "watch") ? "watch" : "list"
  }
}

const decode = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Verbs that are part of a path, before the resource. */
const pathVerbs: ReadonlySet<string> = new Set(["watch", "proxy"])

/** What a path refers to, whatever the verb. */
type Place = PathRoute | Omit<ResourceRoute, "verb">

const place = Remembered.ofText((path): Place => {
  // An escaped slash counts as one. Leading and trailing slashes are ignored; inner ones make empty segments.
  const trimmed = decode(path).replace(/^\/+|\/+$/g, "")
  const segments = trimmed === "" ? [] : trimmed.split("/")
  // Two trailing slashes make an empty segment, which counts if no resource has been named yet.
  const asPath = path.endsWith("//") ? [...segments, ""] : segments
  if (path.startsWith("//")) return { _tag: "Path", segments: ["", ...segments] }
  const prefix = segments[0] === "api" ? 1 : segments[0] === "apis" ? 2 : undefined
  if (prefix === undefined || segments.length < prefix + 2) return { _tag: "Path", segments: asPath }
  const group = prefix === 1 ? "" : segments[1]!
  const version = segments[prefix]!
  let rest = segments.slice(prefix + 1)
  if (rest.length === 1 && pathVerbs.has(rest[0]!)) return { _tag: "Path", segments }
  const watchPrefix = rest[0] === "watch" && rest.length > 1
  if (watchPrefix) rest = rest.slice(1)
  let namespace = ""
  if (rest[0] === "namespaces" && rest.length > 2 && !(group === "" && namespaceSubresources.has(rest[2]!))) {
    namespace = rest[1]!
    rest = rest.slice(2)
  }
  const [plural = "", name = "", ...subresource] = rest
  // For authorization and admission, a Namespace belongs to itself.
  if (plural === "namespaces" && group === "" && namespace === "") namespace = ""
  return { _tag: "Resource", group, version, plural, namespace, name, subresource: subresource.join("/"), watchPrefix }
}, 1_000)

/** Parses a request line. Never fails. */
export const route = (request: Request): Route => {
  const at = place(request.path)
  if (at._tag === "Path") return at
  const { group, name, namespace, plural, subresource, version, watchPrefix } = at
  const verb = verbOf(request, name, watchPrefix)
  return { _tag: "Resource", verb, group, version, plural, namespace, name, subresource, watchPrefix }
}
