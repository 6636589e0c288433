/**
 * `Documents`: the documents of an operator's own API: discovery in both forms, OpenAPI 2 and 3, and health.
 *
 * Built once: the kinds do not change at run time.
 */
import type { Request } from "@effect-operator/core/Transport"
import { createHash } from "node:crypto"
import * as DiscoveryDocuments from "../api/DiscoveryDocuments.ts"
import * as OpenApiCustom from "../api/OpenApiCustom.ts"
import * as OpenApiDocument from "../api/OpenApiDocument.ts"
import * as Representation from "../api/Representation.ts"
import { parameter } from "../api/Routing.ts"
import * as StatusError from "../api/StatusError.ts"
import type { Api } from "./Api.ts"
import type { Served } from "./Served.ts"

type ApiResponse = Representation.ApiResponse

const text = (status: number, body: string): ApiResponse => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body
})

/** 404 for a path that is not served. */
export const unserved = text(404, "404 page not found\n")

/** Paths that need no authorization. */
export const open: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"])

const tagged = (request: Request, body: unknown): ApiResponse => {
  const etag = `"${createHash("sha256").update(JSON.stringify(body)).digest("hex").toUpperCase()}"`
  const headers = { "content-type": "application/json", etag, vary: "Accept" }
  return request.headers["if-none-match"] === etag ? { status: 304, headers } : { status: 200, headers, body }
}

/** Responds to paths that are not about an object. */
export const make = (api: Api<unknown>, served: ReadonlyArray<Served>) => {
  const { group, groupVersion, version } = api
  const told: DiscoveryDocuments.Group = { name: group, versions: [version] }
  const resources = {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion,
    resources: served.flatMap(DiscoveryDocuments.entriesOf)
  }
  const item = {
    metadata: { name: group },
    versions: [{ version, resources: served.map(DiscoveryDocuments.aggregatedResource), freshness: "Current" }]
  }
  const openApi = OpenApiDocument.ofCustoms(
    served.flatMap(({ definition, subresources, verbs }) =>
      OpenApiCustom.versionsOf(definition, () => true).map((custom) => ({
        ...custom,
        verbs,
        subresources,
        applies: false
      }))
    )
  )
  const v3Path = `/openapi/v3/apis/${groupVersion}`
  const v3Hash = createHash("sha256").update(JSON.stringify(openApi.v3)).digest("hex").toUpperCase()
  const paths = ["/apis", `/apis/${group}`, `/apis/${groupVersion}`, ...open, "/openapi/v2", "/openapi/v3", "/version"]

  const documents: Readonly<Record<string, (request: Request) => ApiResponse>> = {
    "/": () => Representation.plain(200, { paths }),
    "/apis": (request) => {
      const form = DiscoveryDocuments.aggregatedForm(request, ["v2", "v2beta1"])
      const groups = [DiscoveryDocuments.groupOf(told)]
      return form === undefined
        ? Representation.plain(200, { kind: "APIGroupList", apiVersion: "v1", groups })
        : DiscoveryDocuments.aggregated(request, [item], form)
    },
    [`/apis/${group}`]: () =>
      Representation.plain(200, { kind: "APIGroup", apiVersion: "v1", ...DiscoveryDocuments.groupOf(told) }),
    [`/apis/${groupVersion}`]: () => Representation.plain(200, resources),
    "/openapi/v2": (request) => tagged(request, openApi.v2),
    "/openapi/v3": (request) =>
      tagged(request, {
        paths: { [`apis/${groupVersion}`]: { serverRelativeURL: `${v3Path}?hash=${v3Hash}` } }
      }),
    [v3Path]: (request) => {
      const hash = parameter(request, "hash")
      return hash === undefined || hash === v3Hash
        ? tagged(request, openApi.v3)
        : { ...text(301, ""), headers: { location: `${v3Path}?hash=${v3Hash}` } }
    },
    "/version": () => Representation.plain(200, { major: "1", minor: "35", gitVersion: "v1.35.0" }),
    ...Object.fromEntries([...open].map((path) => [path, () => text(200, "ok")]))
  }

  return (request: Request): ApiResponse => {
    const path = request.path.length > 1 ? request.path.replace(/\/+$/, "") : request.path
    const document = Object.hasOwn(documents, path) ? documents[path] : undefined
    if (document === undefined) return unserved
    return request.method === "GET" || request.method === "HEAD"
      ? document(request)
      : Representation.refused(StatusError.methodNotAllowed)
  }
}
