/**
 * `/openapi/v2` and `/openapi/v3` of an API server.
 *
 * Documents are made when somebody asks, from discovery and the CustomResourceDefinitions as they are then, and kept
 * until one of these changes. `If-None-Match` is answered with 304.
 */
import * as Effect from "effect/Effect"
import * as NodeCrypto from "node:crypto"
import type { ApiServer, UserInfo } from "../ApiServer.ts"
import * as Negotiation from "./Negotiation.ts"
import * as OpenApiDocument from "./OpenApiDocument.ts"
import * as OpenApiProtobuf from "./OpenApiProtobuf.ts"
import { arrayAt, stringAt } from "../server/Plain.ts"

/** A document as it is sent. */
export interface Served {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Discovery and the definitions are read with all rights: the documents say nothing a reader must not know. */
const reader: UserInfo = { username: "system:apiserver", groups: ["system:masters"] }

interface State {
  readonly key: string
  readonly source: OpenApiDocument.Source
  readonly documents: Map<string, Served>
}

/** Whether a path is one of these. */
export const isOpenApi = (path: string): boolean => path === "/openapi/v2" || /^\/openapi\/v3(?:\/|$)/.test(path)

/** Answers GET requests for the documents of a server; undefined for a document there is none of. */
export const make = (server: ApiServer["Service"]) => {
  let state: State | undefined

  const read = (path: string): Effect.Effect<unknown> =>
    Effect.map(
      server.handle({ method: "GET", path, query: [], headers: { accept: "application/json" } }, reader),
      ({ body }) => body
    )

  const refresh = Effect.gen(function*() {
    const [core, groups, customs] = yield* Effect.all([
      read("/api"),
      read("/apis"),
      read("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    ])
    const source: OpenApiDocument.Source = {
      groupVersions: [
        ...arrayAt(core, "versions").map(String),
        ...arrayAt(groups, "groups").flatMap((group) =>
          arrayAt(group, "versions").map((version) => stringAt(version, "groupVersion"))
        )
      ],
      customs: arrayAt(customs, "items")
    }
    const key = JSON.stringify([
      source.groupVersions,
      source.customs.map((
        custom
      ) => [stringAt(custom, "metadata", "uid"), stringAt(custom, "metadata", "resourceVersion")])
    ])
    return state !== undefined && state.key === key ? state : state = { key, source, documents: new Map() }
  })

  return Effect.fnUntraced(function*(
    path: string,
    headers: Readonly<Record<string, string>>
  ): Effect.fn.Return<Served | undefined> {
    const { documents, key, source } = yield* refresh
    const protobuf = path === "/openapi/v2" &&
      Negotiation.parseAccept(headers["accept"]).some(({ type }) => OpenApiProtobuf.mediaTypes.has(type))
    const name = protobuf ? "protobuf" : path
    const kept = documents.get(name)
    const document = kept ?? documentAt(path, protobuf, source, key)
    if (document === undefined) return undefined
    documents.set(name, document)
    return headers["if-none-match"] === document.headers["etag"] && document.headers["etag"] !== undefined
      ? { status: 304, headers: document.headers }
      : document
  })
}

const hash = (content: string | Uint8Array): string =>
  NodeCrypto.createHash("sha256").update(content).digest("hex").toUpperCase()

const documentAt = (
  path: string,
  protobuf: boolean,
  source: OpenApiDocument.Source,
  key: string
): Served | undefined => {
  const served = (body: unknown, contentType: string, content: string | Uint8Array): Served => ({
    status: 200,
    headers: { "content-type": contentType, etag: `"${hash(content)}"`, vary: "Accept-Encoding, Accept" },
    body
  })
  if (path === "/openapi/v2") {
    const document = OpenApiDocument.version2(source)
    if (!protobuf) return served(document, "application/json", JSON.stringify(document))
    const bytes = OpenApiProtobuf.encode(document)
    return served(bytes, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", bytes)
  }
  const groupVersion = /^\/openapi\/v3\/(?:api|apis)\/(.+)$/.exec(path)?.[1]
  const document = groupVersion === undefined
    ? OpenApiDocument.version3Root(source, (name) => hash(`${name} ${key}`))
    : OpenApiDocument.version3(source, groupVersion)
  return document === undefined ? undefined : served(document, "application/json", JSON.stringify(document))
}
