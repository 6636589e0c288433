/**
 * `Scheme`: the kinds and versions that a server can decode, whether it serves them or not.
 *
 * A kube-apiserver consists of three servers, each with its own scheme: definitions of custom resources and API
 * services have separate ones. All of them know old versions of their kinds, which are decoded as the current ones.
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

/** The source positions of the schemes of single groups, which messages contain. All other groups share one scheme. */
const others: Readonly<Record<string, string>> = {
  "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
  "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28"
}

/** The name of the scheme for a group. */
export const nameFor = (group: string): string => others[group] ?? "pkg/api/legacyscheme/scheme.go:30"

/** Kinds of the API machinery: those without a version, and those that exist in every version. */
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

/** Whether the scheme for a group knows a kind. */
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

/** The group to which a kind was moved eventually. */
const homeOf = ({ apiVersion, kind }: Kind): string => {
  const group = groupOf(apiVersion)
  const isOld = group === "extensions" || (group === "" && kind === "Event") || (group === "apps" && kind === "Scale")
  return isOld ? moved[kind] ?? "apps" : group
}

/** Whether an object of one known kind can be decoded as the other. */
export const isSame = (one: Kind, other: Kind): boolean => one.kind === other.kind && homeOf(one) === homeOf(other)
