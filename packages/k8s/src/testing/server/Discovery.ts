/**
 * `Discovery`: the groups, versions and resources of a server, its version and its health.
 *
 * Discovery has two forms: the classic one with many small documents, and the aggregated one with two
 * (`as=APIGroupDiscoveryList`), which has an ETag.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/discovery; the ready and live checks have the names of a real server's.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as DiscoveryDocuments from "../../api/DiscoveryDocuments.ts"
import { unserved } from "./Dispatch.ts"
import * as Health from "./Health.ts"
import * as FieldError from "../../schema/FieldError.ts"
import { freeze } from "../../api/Plain.ts"
import { apiVersionOf, type Group, type Registry, type Served } from "./Registry.ts"
import * as Negotiation from "../../api/Negotiation.ts"
import * as Representation from "../../api/Representation.ts"
import * as StatusError from "../../api/StatusError.ts"

/** The response to `/version`. */
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

const addresses = [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1:443" }]

/** The sources of discovery. */
export interface Tells {
  readonly registry: Registry
  /** The order of all groups, and the resources of remote ones. */
  readonly aggregator: {
    readonly groups: () => ReadonlyArray<Group>
    readonly discovered: (group: string, version: string) => RemoteEntry | undefined
  }
}

interface RemoteEntry {
  readonly resources: ReadonlyArray<unknown> | undefined
  readonly freshness: "Current" | "Stale"
}

/** The entries of each resource in discovery lists, computed once. */
const entries = new WeakMap<Served, ReadonlyArray<unknown>>()

const resourceEntries = (resource: Served): ReadonlyArray<unknown> => {
  let made = entries.get(resource)
  if (made === undefined) entries.set(resource, made = freeze(DiscoveryDocuments.entriesOf(resource)))
  return made
}

const resourceList = (tells: Tells, group: string, name: string) => ({
  kind: "APIResourceList",
  ...(group === "" ? {} : { apiVersion: "v1" }),
  groupVersion: apiVersionOf({ group, version: name }),
  resources: tells.registry.inVersion(group, name).flatMap(resourceEntries)
})

/** The aggregated entry of a group version; undefined if only an APIService names it. */
const aggregatedVersion = (tells: Tells, group: string, version: string) => {
  const remote = tells.aggregator.discovered(group, version)
  if (remote !== undefined) {
    const { freshness, resources } = remote
    return { version, ...(resources === undefined ? {} : { resources }), freshness }
  }
  const resources = tells.registry.inVersion(group, version)
  return resources.length === 0
    ? undefined
    : {
      version,
      resources: resources.map((resource) =>
        resource.custom === undefined
          ? DiscoveryDocuments.aggregatedBuiltin(resource)
          : DiscoveryDocuments.aggregatedResource(resource)
      ),
      freshness: "Current"
    }
}

const aggregatedGroup = (tells: Tells, { name, versions }: Group) => {
  const told = versions.map((version) => aggregatedVersion(tells, name, version)).filter((entry) => entry !== undefined)
  return told.length === 0 ? [] : [{ metadata: name === "" ? {} : { name }, versions: told }]
}

const core: Group = { name: "", versions: ["v1"] }

const aggregated = (
  tells: Tells,
  request: Request,
  groups: ReadonlyArray<Group>,
  form: string
): Representation.ApiResponse =>
  DiscoveryDocuments.aggregated(request, groups.flatMap((group) => aggregatedGroup(tells, group)), form)

/** A group whose APIService was removed is no longer listed, but still served. */
const groupOf = ({ aggregator, registry }: Tells, name: string): Group | undefined =>
  [...aggregator.groups(), ...registry.groups()].find((candidate) => candidate.name === name)

const apis = (tells: Tells, request: Request, path: ReadonlyArray<string>): Representation.ApiResponse => {
  const groups = tells.aggregator.groups()
  const [name, entry] = path
  if (name === undefined) {
    const form = DiscoveryDocuments.aggregatedForm(request)
    return form === undefined
      ? Representation.plain(200, {
        kind: "APIGroupList",
        apiVersion: "v1",
        groups: groups.map(DiscoveryDocuments.groupOf)
      })
      : aggregated(tells, request, groups, form)
  }
  const group = groupOf(tells, name)
  if (group === undefined) return unserved
  if (entry === undefined) {
    return Representation.plain(200, { kind: "APIGroup", apiVersion: "v1", ...DiscoveryDocuments.groupOf(group) })
  }
  const served = group.versions.includes(entry) && tells.registry.inVersion(name, entry).length > 0
  if (served) return Representation.plain(200, resourceList(tells, name, entry))
  return tells.registry.isBuiltin(name) ? Representation.refused(StatusError.genericNotFound) : unserved
}

const api = (tells: Tells, request: Request, path: ReadonlyArray<string>): Representation.ApiResponse => {
  const [entry] = path
  if (entry === undefined) {
    const form = DiscoveryDocuments.aggregatedForm(request)
    return form === undefined
      ? Representation.plain(200, {
        kind: "APIVersions",
        versions: core.versions,
        serverAddressByClientCIDRs: addresses
      })
      : aggregated(tells, request, [core], form)
  }
  return core.versions.includes(entry)
    ? Representation.plain(200, resourceList(tells, "", entry))
    : Representation.refused(StatusError.genericNotFound)
}

/** The paths that `/` lists. */
const paths = (tells: Tells): ReadonlyArray<string> =>
  [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    ...tells.aggregator.groups().flatMap(({ name, versions }) => [
      `/apis/${name}`,
      ...versions.map((entry) => `/apis/${name}/${entry}`)
    ]),
    ...Health.paths,
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/openid/v1/jwks",
    "/version"
  ].sort()

/** The version has only one format. */
const versionTypes: ReadonlySet<string> = new Set(["*/*", "application/json"])

const indented = (status: number, body: unknown): Representation.ApiResponse => ({
  ...Representation.plain(status, body),
  json: "indented"
})

/**
 * The 406 of a document in no format that the client accepts. Built-in versions are behind a router, which answers
 * first.
 */
const unacceptable = (
  tells: Tells,
  request: Request,
  [root, group = "", entry]: ReadonlyArray<string>
): Representation.ApiResponse | undefined => {
  const { accept } = request.headers
  if (root === "version") {
    return Negotiation.passesRouter(accept, versionTypes)
      ? undefined
      : Representation.refused(StatusError.notAcceptable(["application/json"]))
  }
  const routed = root === "api" || (entry !== undefined && tells.registry.isBuiltin(group))
  if (routed && !Negotiation.passesRouter(accept)) {
    return Representation.refused(StatusError.notAcceptable(Negotiation.spokenTypes))
  }
  // A missing group is a 404, whatever the client accepts.
  const told = root === "apis" && group !== "" && groupOf(tells, group) === undefined
  const form = group === "" ? DiscoveryDocuments.aggregatedForm(request) : undefined
  return !told && Negotiation.asItIs(accept) === undefined && form === undefined
    ? Representation.refused(StatusError.notAcceptableTypes(Negotiation.spokenTypes))
    : undefined
}

/** The 500 of a path that ends with its verb. */
const verbAlone = (request: Request): Representation.ApiResponse => {
  const query = request.query.map(([name, value]) => `${name}=${value}`).join("&")
  const url = query === "" ? request.path : `${request.path}?${query}`
  return {
    status: 500,
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
    body:
      `Internal Server Error: ${FieldError.quote(url)}: failed to create RequestInfo: unable to determine kind and ` +
      `namespace from url, ${url}\n`
  }
}

/** Answers a request to a path that is not a resource. */
export const answer = (tells: Tells, request: Request, segments: ReadonlyArray<string>): Representation.ApiResponse => {
  const [root, ...rest] = segments
  if (segments.some((segment) => segment === "watch" || segment === "proxy") && /^apis?$/.test(root ?? "")) {
    return verbAlone(request)
  }
  // Groups, and versions of custom groups, answer every method.
  const [group] = rest
  const anyhow = rest.length < 2 || (group !== undefined && !tells.registry.isBuiltin(group))
  const isRouted = root === "api" || (root === "apis" && !anyhow) || (root === "version" && rest.length === 0)
  if (isRouted && request.method !== "GET") return Representation.refused(StatusError.methodNotAllowed)
  const unread = ["api", "apis", "version"].includes(root ?? "") ? unacceptable(tells, request, segments) : undefined
  if (unread !== undefined) return unread
  if (root === "apis") return apis(tells, request, rest)
  if (root === "api") return api(tells, request, rest)
  if (root === "version") {
    return rest.length > 0 ? Representation.refused(StatusError.genericNotFound) : indented(200, version)
  }
  if (request.path === "/metrics") return Health.metrics(version)
  if (request.path === "/metrics/slis") return Health.indicators
  const health = Health.answer(request)
  if (health !== undefined) return health
  return root === undefined || request.path === "/index.html"
    ? indented(200, { paths: paths(tells) })
    : unserved
}
