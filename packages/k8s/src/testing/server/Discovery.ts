/**
 * `Discovery`: what a server tells about itself: its groups, versions and resources, its own version, its health.
 *
 * Discovery is given in both forms, the classic one of many small documents and the aggregated one of two
 * (`as=APIGroupDiscoveryList`), which carries an ETag.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/discovery; the ready and live checks are names of the real server's.
 */
import type { Request } from "@effect-operator/core/Transport"
import { createHash } from "node:crypto"
import type { ServedSubresource } from "../../kinds/tables.ts"
import { unserved } from "./Dispatch.ts"
import * as Negotiation from "../http/Negotiation.ts"
import { apiVersionOf, type Group, type Registry, type Served } from "./Registry.ts"
import * as Respond from "./Respond.ts"
import { flag } from "./Routing.ts"
import * as StatusError from "../StatusError.ts"

/** What `/version` answers. */
export const version = {
  major: "1",
  minor: "35",
  emulationMajor: "1",
  emulationMinor: "35",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "34",
  gitVersion: "v1.35.0",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "2025-12-17T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: ""
} as const

const hash = (text: string): Buffer => createHash("sha256").update(text).digest()

const addresses = [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1:443" }]

const groupVersion = (group: string, name: string) => ({
  groupVersion: apiVersionOf({ group, version: name }),
  version: name
})

const groupOf = ({ name, versions }: Group) => ({
  name,
  versions: versions.map((entry) => groupVersion(name, entry)),
  preferredVersion: groupVersion(name, versions[0]!)
})

const nonEmpty = (key: string, values: ReadonlyArray<string>) => (values.length === 0 ? {} : { [key]: values })

const storageHash = ({ group, kind, storageVersion, verbs }: Served) =>
  verbs.includes("list")
    ? { storageVersionHash: hash(`${group}/${storageVersion}/${kind}`).subarray(0, 8).toString("base64") }
    : {}

const foreign = (resource: Served, entry: ServedSubresource) =>
  entry.group === resource.group && entry.version === resource.version
    ? {}
    : { group: entry.group, version: entry.version }

const resourceEntries = (resource: Served): ReadonlyArray<unknown> => {
  const namespaced = resource.scope === "Namespaced"
  return [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced,
      kind: resource.kind,
      verbs: resource.verbs,
      ...nonEmpty("shortNames", resource.shortNames),
      ...nonEmpty("categories", resource.categories),
      ...storageHash(resource)
    },
    ...resource.subresources.map((entry) => ({
      name: `${resource.plural}/${entry.name}`,
      singularName: "",
      namespaced,
      ...foreign(resource, entry),
      kind: entry.kind,
      verbs: entry.verbs
    }))
  ]
}

const resourceList = (registry: Registry, group: string, name: string) => ({
  kind: "APIResourceList",
  ...(group === "" ? {} : { apiVersion: "v1" }),
  groupVersion: apiVersionOf({ group, version: name }),
  resources: registry.inVersion(group, name).flatMap(resourceEntries)
})

const aggregatedResource = (resource: Served) => {
  const { categories, group, kind, plural, scope, shortNames, singular, subresources, verbs, version } = resource
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: scope === "Namespaced" ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...nonEmpty("shortNames", shortNames),
    ...nonEmpty("categories", categories),
    ...(subresources.length === 0 ? {} : {
      subresources: subresources.map((entry) => ({
        subresource: entry.name,
        responseKind: { group: entry.group, version: entry.version, kind: entry.kind },
        verbs: entry.verbs
      }))
    })
  }
}

const aggregatedGroup = (registry: Registry, { name, versions }: Group) => ({
  metadata: name === "" ? {} : { name },
  versions: versions.map((entry) => ({
    version: entry,
    resources: registry.inVersion(name, entry).map(aggregatedResource),
    freshness: "Current"
  }))
})

const core: Group = { name: "", versions: ["v1"] }

/** The version of the aggregated form that a client prefers to the classic one. */
const aggregatedVersion = (request: Request): string | undefined => {
  for (const { parameters } of Negotiation.parseAccept(request.headers["accept"])) {
    if (parameters["as"] === undefined) return undefined
    const { as, g, v } = parameters
    if (as === "APIGroupDiscoveryList" && g === "apidiscovery.k8s.io" && (v === "v2" || v === "v2beta1")) return v
  }
  return undefined
}

const aggregated = (
  registry: Registry,
  request: Request,
  groups: ReadonlyArray<Group>,
  form: string
): Respond.ApiResponse => {
  const body = {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${form}`,
    metadata: {},
    items: groups.map((group) => aggregatedGroup(registry, group))
  }
  const etag = `"${hash(JSON.stringify(body)).toString("hex").toUpperCase()}"`
  const headers = {
    "content-type": `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`,
    etag,
    vary: "Accept"
  }
  return request.headers["if-none-match"] === etag ? { status: 304, headers } : { status: 200, headers, body }
}

const apis = (registry: Registry, request: Request, path: ReadonlyArray<string>): Respond.ApiResponse => {
  const groups = registry.groups()
  const [name, entry] = path
  if (name === undefined) {
    const form = aggregatedVersion(request)
    return form === undefined
      ? Respond.plain(200, { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupOf) })
      : aggregated(registry, request, groups, form)
  }
  const group = groups.find((candidate) => candidate.name === name)
  if (group === undefined) return unserved
  if (entry === undefined) return Respond.plain(200, { kind: "APIGroup", apiVersion: "v1", ...groupOf(group) })
  if (group.versions.includes(entry)) return Respond.plain(200, resourceList(registry, name, entry))
  return registry.isBuiltin(name) ? Respond.refused(StatusError.genericNotFound) : unserved
}

const api = (registry: Registry, request: Request, path: ReadonlyArray<string>): Respond.ApiResponse => {
  const [entry] = path
  if (entry === undefined) {
    const form = aggregatedVersion(request)
    return form === undefined
      ? Respond.plain(200, { kind: "APIVersions", versions: core.versions, serverAddressByClientCIDRs: addresses })
      : aggregated(registry, request, [core], form)
  }
  return core.versions.includes(entry)
    ? Respond.plain(200, resourceList(registry, "", entry))
    : Respond.refused(StatusError.genericNotFound)
}

const checks = ["ping", "log", "etcd", "informer-sync"]

const text = (body: string): Respond.ApiResponse => ({
  status: 200,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body
})

const health = (request: Request, name: string, check: string | undefined): Respond.ApiResponse | undefined => {
  if (check !== undefined) return checks.includes(check) ? text("ok") : undefined
  return flag(request, "verbose")
    ? text(`${checks.map((entry) => `[+]${entry} ok\n`).join("")}${name} check passed\n`)
    : text("ok")
}

const paths = (registry: Registry): ReadonlyArray<string> =>
  [
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    ...registry.groups().flatMap(({ name, versions }) => [
      `/apis/${name}`,
      ...versions.map((entry) => `/apis/${name}/${entry}`)
    ]),
    ...["healthz", "livez", "readyz"].flatMap((name) => [`/${name}`, ...checks.map((check) => `/${name}/${check}`)]),
    "/openapi/v2",
    "/openapi/v3",
    "/version"
  ].sort()

/** Answers a request for a path that names no resource. */
export const answer = (registry: Registry, request: Request, segments: ReadonlyArray<string>): Respond.ApiResponse => {
  const [root, ...rest] = segments
  if (root === "api" || root === "apis") {
    if (request.method !== "GET") return Respond.refused(StatusError.methodNotAllowed)
    return root === "api" ? api(registry, request, rest) : apis(registry, request, rest)
  }
  if (root === "version" && rest.length === 0) {
    return request.method === "GET" ? Respond.plain(200, version) : Respond.refused(StatusError.methodNotAllowed)
  }
  if ((root === "healthz" || root === "livez" || root === "readyz") && rest.length < 2) {
    const response = health(request, root, rest[0])
    if (response !== undefined) return response
  }
  return Respond.plain(root === undefined ? 200 : 404, { paths: paths(registry) })
}
