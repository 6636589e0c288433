/**
 * `OpenApiDiscovery`: the paths in OpenAPI documents that name no resource: discovery of groups and versions, the
 * server's version, and the issuer of its tokens.
 *
 * Groups that contain only custom resources have none.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/discovery, pkg/server/routes and k8s.io/kubernetes/pkg/routes.
 */
import type { JsonObject } from "../schema/JsonValue.ts"
import * as OpenApiPaths from "./OpenApiPaths.ts"

type Dialect = OpenApiPaths.Dialect

interface Operation {
  readonly id: string
  readonly tag: string
  readonly reads: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  /** The name of a schema; undefined for plain text. */
  readonly answers: string | undefined
}

/** Operations by path, which is also the name of the version 3 document that contains the operation. */
export type Told = ReadonlyMap<string, Operation>

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."

const of = (id: string, tag: string, kind: string): Operation => {
  const types = OpenApiPaths.mediaTypes(false)
  return { id, tag, reads: types, writes: types, answers: `${meta}${kind}` }
}

const json = ["application/json"]

const always: ReadonlyArray<readonly [string, Operation]> = [
  [".well-known/openid-configuration", {
    id: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    reads: [],
    writes: json,
    answers: undefined
  }],
  ["openid/v1/jwks", {
    id: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    reads: [],
    writes: ["application/jwk-set+json"],
    answers: undefined
  }],
  ["version", {
    id: "getCodeVersion",
    tag: "version",
    reads: json,
    writes: json,
    answers: "io.k8s.apimachinery.pkg.version.Info"
  }],
  ["api", of("getCoreAPIVersions", "core", "APIVersions")],
  ["apis", of("getAPIVersions", "apis", "APIGroupList")]
]

/** The operations for built-in group versions: `v1`, `apps/v1`. */
export const told = (groupVersions: ReadonlyArray<string>): Told => {
  const all = new Map(always)
  for (const groupVersion of groupVersions) {
    const [group, version] = groupVersion.includes("/")
      ? groupVersion.split("/") as [string, string]
      : ["", groupVersion]
    const camel = OpenApiPaths.camel(group)
    const name = OpenApiPaths.capital(camel)
    if (group !== "") all.set(`apis/${group}`, of(`get${name}APIGroup`, camel, "APIGroup"))
    all.set(
      `${group === "" ? "api" : "apis"}/${groupVersion}`,
      of(`get${name}${OpenApiPaths.capital(version)}APIResources`, `${camel}_${version}`, "APIResourceList")
    )
  }
  return all
}

/** The schemas of their responses. */
export const roots = (all: Told): ReadonlyArray<string> => [...all.values()].flatMap(({ answers }) => answers ?? [])

/** The paths of a document. */
export const paths = (all: Told, dialect: Dialect): JsonObject =>
  Object.fromEntries([...all].map(([path, { answers, id, reads, tag, writes }]) => {
    const schema = answers === undefined
      ? { type: "string" }
      : { $ref: `${OpenApiPaths.references[dialect]}${answers}` }
    const answer = dialect === "v2"
      ? { description: "OK", schema }
      : { description: "OK", content: Object.fromEntries(writes.map((type) => [type, { schema }])) }
    const types = dialect === "v2"
      ? { ...(reads.length === 0 ? {} : { consumes: reads }), produces: writes, schemes: ["https"] }
      : {}
    const responses = { 200: answer, 401: { description: "Unauthorized" } }
    return [`/${path}/`, { get: { ...types, tags: [tag], operationId: id, responses } }]
  }))
