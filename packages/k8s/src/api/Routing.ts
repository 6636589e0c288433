/**
 * `Routing`: what a request is about, read from its method and path alone, before anything is looked up.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go. A path that is not below `/api/VERSION` or
 * `/apis/GROUP/VERSION` with a resource in it is a `Path`: discovery, health, or nothing at all.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Remembered from "./Remembered.ts"

/** The verb as authorization and audit name it; `""` of a method that means nothing. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection" | ""

/** A request for a resource. */
export interface ResourceRoute {
  readonly _tag: "Resource"
  readonly verb: Verb
  /** `""` for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  /** `""` without one. */
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
  /** `["apis", "apps", "v1"]`; the first is `""` where the path begins with two slashes, and so leads nowhere. */
  readonly segments: ReadonlyArray<string>
}

export type Route = ResourceRoute | PathRoute

/** Subresources of a Namespace, which look like the resources in it. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"])

/** The first value of a query parameter. */
export const parameter = (request: Pick<Request, "query">, name: string): string | undefined =>
  request.query.find(([key]) => key === name)?.[1]

/** A boolean query parameter: whatever is there counts as true, but for `false` and `0`. */
export const flag = (request: Pick<Request, "query">, name: string): boolean => {
  const value = parameter(request, name)
  return value !== undefined && value !== "0" && value.toLowerCase() !== "false"
}

const verbOf = (request: Request, name: string, watchPrefix: boolean): Verb => {
  // The old prefix is itself the verb, whatever the method; whether the method may be used there is not said here.
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
      // `watch` on the URL of a named object is a plain GET; the old prefix watches there too.
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

/** Verbs that stand in a path, before what they are about. */
const pathVerbs: ReadonlySet<string> = new Set(["watch", "proxy"])

/** What a path says, whatever is done there. */
type Place = PathRoute | Omit<ResourceRoute, "verb">

const place = Remembered.ofText((path): Place => {
  // An escaped slash is one. Slashes at either end do not count, those within make empty parts.
  const trimmed = decode(path).replace(/^\/+|\/+$/g, "")
  const segments = trimmed === "" ? [] : trimmed.split("/")
  // Two slashes at the end have an empty part between them, which counts where there is no resource yet.
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
  // A Namespace lies, for authorization and admission, in itself.
  if (plural === "namespaces" && group === "" && namespace === "") namespace = ""
  return { _tag: "Resource", group, version, plural, namespace, name, subresource: subresource.join("/"), watchPrefix }
}, 1_000)

/** Reads a request line. Total. */
export const route = (request: Request): Route => {
  const at = place(request.path)
  if (at._tag === "Path") return at
  const { group, name, namespace, plural, subresource, version, watchPrefix } = at
  const verb = verbOf(request, name, watchPrefix)
  return { _tag: "Resource", verb, group, version, plural, namespace, name, subresource, watchPrefix }
}
