/**
 * `/openapi/v2` and `/openapi/v3` of an API server.
 *
 * Documents are generated on request, from discovery and the current CustomResourceDefinitions, and cached until one of
 * these changes. `If-None-Match` is answered with 304. The index of version 3 lists every document with a hash. A
 * request with the current hash may be cached forever; one with another hash is redirected to the current one.
 * Documents of aggregated servers are fetched again after at most a minute.
 *
 * Source: k8s.io/kube-openapi/pkg/handler3 and pkg/handler.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as NodeCrypto from "node:crypto"
import type { ApiServer, UserInfo } from "../ApiServer.ts"
import * as Negotiation from "../../api/Negotiation.ts"
import * as OpenApiDocument from "../../api/OpenApiDocument.ts"
import * as OpenApiProtobuf from "./OpenApiProtobuf.ts"
import { arrayAt, stringAt } from "../../api/Plain.ts"
import { parameter } from "../../api/Routing.ts"

/** An encoded document. */
export interface Served {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly json?: "compact" | "indented"
}

/** Discovery and the definitions are read by an administrator: the documents contain nothing secret. */
const reader: UserInfo = { username: "system:apiserver", groups: ["system:masters"] }

/** How long documents of aggregated servers are cached, in milliseconds. */
const remoteLifetime = 60_000

const yearMillis = 365 * 24 * 3_600_000

interface State {
  readonly key: string
  readonly source: OpenApiDocument.Source
  /** By group: everything on which its documents depend. */
  readonly groups: ReadonlyMap<string, string>
  readonly documents: Map<string, Served>
}

/** Whether a path belongs to these endpoints. */
export const isOpenApi = (path: string): boolean =>
  path === "/openapi/v2" || path === "/openapi/v3" || path.startsWith("/openapi/v3/")

const hash = (content: string | Uint8Array): string =>
  NodeCrypto.createHash("sha256").update(content).digest("hex").toUpperCase()

const document = (body: unknown, contentType: string, etag: string): Served => ({
  status: 200,
  headers: { "content-type": contentType, etag: `"${etag}"`, vary: "Accept-Encoding, Accept" },
  body,
  ...(contentType === "application/json" ? { json: "compact" } : {})
})

/** A hash that changes with the document of a group version. */
const hashOf = ({ groups }: State, root: string): string =>
  hash(`${root} ${groups.get(root.split("/")[1] ?? "") ?? ""}`)

/** The group version in a path (`apis/apps/v1`); undefined for the index. */
const rootAt = (path: string): string | undefined => /^\/openapi\/v3\/(.+)$/.exec(path)?.[1]

/** The media types of the documents, as clients name them. */
const written: ReadonlySet<string> = new Set([
  "*",
  "*/*",
  "application/*",
  "application/json",
  ...OpenApiProtobuf.mediaTypes
])

/** The index of version 3 is always JSON, whatever the client accepts. */
const isAcceptable = ({ headers, path }: Request): boolean =>
  path === "/openapi/v3" || Negotiation.parseAccept(headers["accept"]).some(({ type }) => written.has(type))

/** Answers requests for the documents of a server; an empty 404 if there is no such document. */
export const make = (server: Pick<ApiServer["Service"], "handle" | "remotes">) => {
  let state: State | undefined
  let remote: { readonly key: string; readonly until: number; readonly documents: ReadonlyArray<unknown> } | undefined

  const read = (path: string): Effect.Effect<unknown> =>
    Effect.map(
      server.handle({ method: "GET", path, query: [], headers: { accept: "application/json" } }, reader),
      ({ body }) => body
    )

  const refresh = Effect.gen(function*() {
    const [core, groups, customs, remotes] = yield* Effect.all([
      read("/api"),
      read("/apis"),
      read("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
      Effect.map(server.remotes, (all) => all.filter(({ available }) => available))
    ])
    const elsewhere = new Set(remotes.map(({ groupVersion }) => groupVersion))
    const source: OpenApiDocument.Source = {
      groupVersions: [
        ...arrayAt(core, "versions").map(String),
        ...arrayAt(groups, "groups").flatMap((group) =>
          arrayAt(group, "versions").map((version) => stringAt(version, "groupVersion"))
        ).filter((groupVersion) => !elsewhere.has(groupVersion))
      ],
      customs: arrayAt(customs, "items"),
      remotes: [...elsewhere]
    }
    const byGroup = new Map<string, string>()
    for (const custom of source.customs) {
      const group = stringAt(custom, "spec", "group")
      const version = `${stringAt(custom, "metadata", "uid")} ${stringAt(custom, "metadata", "resourceVersion")}`
      byGroup.set(group, `${byGroup.get(group) ?? ""} ${version}`)
    }
    const key = JSON.stringify([source.groupVersions, source.remotes, [...byGroup]])
    const next = state !== undefined && state.key === key
      ? state
      : { key, source, groups: byGroup, documents: new Map<string, Served>() }
    state = next
    return { state: next, remotes }
  })

  /** The version 2 documents of aggregated servers. */
  const remoteDocuments = Effect.fnUntraced(function*(
    remotes: Effect.Success<typeof server.remotes>,
    documents: State["documents"]
  ) {
    if (remotes.length === 0) return []
    const now = yield* Clock.currentTimeMillis
    const key = remotes.map(({ groupVersion }) => groupVersion).join(" ")
    if (remote === undefined || remote.key !== key || remote.until <= now) {
      const found = yield* Effect.forEach(remotes, ({ ask }) => ask("/openapi/v2", []))
      remote = { key, until: now + remoteLifetime, documents: found.map((reply) => reply?.body) }
      documents.delete("json")
      documents.delete("protobuf")
    }
    return remote.documents
  })

  const version2 = Effect.fnUntraced(function*(request: Request) {
    const { remotes, state: { documents, source } } = yield* refresh
    const theirs = yield* remoteDocuments(remotes, documents)
    const protobuf = Negotiation.parseAccept(request.headers["accept"])
      .some(({ type }) => OpenApiProtobuf.mediaTypes.has(type))
    const name = protobuf ? "protobuf" : "json"
    let found = documents.get(name)
    if (found === undefined) {
      const made = OpenApiDocument.version2(source, theirs)
      const content = protobuf ? OpenApiProtobuf.encode(made) : JSON.stringify(made)
      found = protobuf
        ? document(content, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", hash(content))
        : document(made, "application/json", hash(content))
      documents.set(name, found)
    }
    return found
  })

  const version3 = Effect.fnUntraced(function*(request: Request): Effect.fn.Return<Served | undefined> {
    const { remotes, state: current } = yield* refresh
    const { documents, source } = current
    const root = rootAt(request.path)
    if (root === undefined) {
      if (request.path !== "/openapi/v3") return undefined
      const index = OpenApiDocument.version3Root(source, (root) => hashOf(current, root))
      return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: index, json: "compact" }
    }
    const behind = remotes.find((entry) => `apis/${entry.groupVersion}` === root)
    if (behind !== undefined) {
      const reply = yield* behind.ask(request.path, request.query.filter(([name]) => name !== "hash"))
      return reply ??
        { status: 503, headers: { "content-type": "text/plain; charset=utf-8" }, body: "service unavailable\n" }
    }
    const etag = hashOf(current, root)
    const asked = parameter(request, "hash")
    let found = documents.get(root)
    if (found === undefined) {
      const made = OpenApiDocument.version3(source, root)
      if (made === undefined) return undefined
      documents.set(root, found = document(made, "application/json", etag))
    }
    if (asked === undefined) return found
    if (asked !== etag) {
      const location = `${request.path}?hash=${etag}`
      return {
        status: 301,
        headers: { location, "content-type": "text/html; charset=utf-8" },
        body: `<a href="${location}">Moved Permanently</a>.\n\n`
      }
    }
    const now = yield* Clock.currentTimeMillis
    return {
      ...found,
      headers: {
        ...found.headers,
        "cache-control": "public, immutable",
        // In the format of Go, which says UTC instead of GMT.
        expires: new Date(now + yearMillis).toUTCString().replace("GMT", "UTC")
      }
    }
  })

  return Effect.fnUntraced(function*(request: Request): Effect.fn.Return<Served> {
    const found = yield* request.path === "/openapi/v2" ? version2(request) : version3(request)
    const { etag } = found?.headers ?? {}
    if (found === undefined) return { status: 404, headers: {} }
    if (!isAcceptable(request)) return { status: 406, headers: { vary: "Accept-Encoding, Accept" } }
    return etag !== undefined && request.headers["if-none-match"] === etag
      ? { status: 304, headers: found.headers }
      : found
  })
}
