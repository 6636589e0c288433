/**
 * `Scheme`: which kinds a server knows in which versions, whether or not it serves them.
 *
 * A kube-apiserver is three servers in one, each with a scheme of its own: definitions of custom resources and API
 * services have theirs. All of them know old versions of their kinds, which are read as what became of them.
 *
 * Source: k8s.io/kubernetes/pkg/api/legacyscheme, k8s.io/apiextensions-apiserver/pkg/apiserver,
 * k8s.io/kube-aggregator/pkg/apiserver/scheme, k8s.io/apimachinery/pkg/apis/meta/v1/register.go.
 */
import { table } from "../../kinds/goKinds.ts"

interface Kind {
  readonly apiVersion: string
  readonly kind: string
}

let parsed: ReadonlyMap<string, ReadonlySet<string>> | undefined

const kindsOf = (apiVersion: string): ReadonlySet<string> | undefined => {
  parsed ??= new Map(
    table.trim().split("\n").map((line) => {
      const [version = "", ...kinds] = line.split(" ")
      return [version, new Set(kinds)]
    })
  )
  return parsed.get(apiVersion)
}

const groupOf = (apiVersion: string): string => apiVersion.includes("/") ? apiVersion.split("/")[0]! : ""

/** Where the schemes of servers with few groups are made; what is left is of one. */
const others: Readonly<Record<string, string>> = {
  "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
  "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28"
}

/** What the scheme is called that knows the kinds of a group. */
export const nameFor = (group: string): string => others[group] ?? "pkg/api/legacyscheme/scheme.go:30"

/** Kinds of the API machinery: those of all versions, and those that every version has. */
const unversioned: ReadonlySet<string> = new Set([
  "Status",
  "APIVersions",
  "APIGroupList",
  "APIGroup",
  "APIResourceList"
])
const everywhere: ReadonlySet<string> = new Set([
  "WatchEvent",
  "ListOptions",
  "GetOptions",
  "DeleteOptions",
  "CreateOptions",
  "UpdateOptions",
  "PatchOptions"
])

/** Whether the scheme that knows the kinds of a group knows this one. */
export const knows = (group: string, { apiVersion, kind }: Kind): boolean => {
  if (unversioned.has(kind)) return true
  const own = others[group] === undefined ? others[groupOf(apiVersion)] === undefined : groupOf(apiVersion) === group
  const kinds = own ? kindsOf(apiVersion) : undefined
  return kinds !== undefined && (kinds.has(kind) || everywhere.has(kind))
}

const moved: Readonly<Record<string, string>> = {
  Event: "events.k8s.io",
  Ingress: "networking.k8s.io",
  NetworkPolicy: "networking.k8s.io",
  Scale: "autoscaling"
}

/** The group that a kind belongs to in the end, of whichever it was first. */
const homeOf = ({ apiVersion, kind }: Kind): string => {
  const group = groupOf(apiVersion)
  const isOld = group === "extensions" || (group === "" && kind === "Event") || (group === "apps" && kind === "Scale")
  return isOld ? moved[kind] ?? "apps" : group
}

/** Whether what is written as one of two known kinds can be read as the other. */
export const isSame = (one: Kind, other: Kind): boolean => one.kind === other.kind && homeOf(one) === homeOf(other)
