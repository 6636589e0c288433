/**
 * `Reply`: the HTTP response: the server's answer as bytes, in an encoding that the client accepts, compressed if it is
 * long; a watch as one chunk of lines per event.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters.
 */
import type { Request } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import * as Zlib from "node:zlib"
import type { ApiResponse } from "./Representation.ts"
import * as Negotiation from "./Negotiation.ts"
import * as Warnings from "./Warnings.ts"

/** Responses longer than this many bytes are compressed for clients that accept gzip, as on a real server. */
export const gzipAboveBytes = 128 * 1024

/** What Go parses as true. */
const yes: ReadonlySet<string> = new Set(["1", "t", "T", "true", "TRUE", "True"])

/** Whether JSON is indented: if requested, and for browsers and command line tools. */
const wantsPretty = ({ headers, query }: Request): boolean => {
  const asked = query.find(([name]) => name === "pretty")?.[1] ?? ""
  return asked === "" ? /^(?:curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "") : yes.has(asked)
}

/** A Status has only one form. */
const isStatus = (body: unknown): boolean =>
  typeof body === "object" && body !== null && (body as { readonly kind?: unknown }).kind === "Status"

/**
 * The body as bytes, with their content type. Bytes and text are sent as they are; the handler may set the type of
 * JSON.
 */
const encodeBody = (body: unknown, said: string | undefined, request: Request): readonly [Uint8Array, string] => {
  if (body instanceof Uint8Array) return [body, said ?? "application/octet-stream"]
  const json = said !== undefined && /^application\/(?:[\w.-]+\+)?json\b/.test(said)
  if (typeof body === "string" && !json) return [Buffer.from(body, "utf8"), said ?? "text/plain; charset=utf-8"]
  const { accept } = request.headers
  const chosen = isStatus(body) ? Negotiation.asItIs(accept) : Negotiation.accepted(accept)
  const encoding = chosen?.encoding ?? "json"
  const contentType = encoding === "json" && json ? said : Negotiation.contentTypes[encoding]
  // If the client accepts no encoding of a Status, it gets JSON as a fallback.
  const written = isStatus(body) && chosen === undefined
  const pretty = written || chosen?.indented === true || wantsPretty(request)
  return [Buffer.from(Negotiation.encode(encoding, body, pretty), "utf8"), contentType]
}

/** Whether a header accepts gzip, and not with weight 0. */
const acceptsGzip = (header: string | undefined): boolean =>
  Negotiation.parseAccept(header).some(({ parameters: { q }, type }) =>
    type === "gzip" && (q === undefined || Number(q) > 0)
  )

/** The fastest level, as on a real server. */
const gzip = (bytes: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.callback((resume) => {
    Zlib.gzip(
      bytes,
      { level: 1 },
      (error, zipped) => resume(error === null ? Effect.succeed(zipped) : Effect.die(error))
    )
  })

const unary = (answer: ApiResponse, request: Request): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { "content-type": said, ...headers } = answer.headers
  if (answer.body === undefined) {
    return Effect.succeed(HttpServerResponse.empty({ status: answer.status, headers }))
  }
  const [bytes, contentType] = answer.json === undefined
    ? encodeBody(answer.body, said, request)
    : [
      Buffer.from(JSON.stringify(answer.body, null, answer.json === "indented" ? 2 : 0), "utf8"),
      said ?? Negotiation.contentTypes.json
    ] as const
  const send = (content: Uint8Array, more: Record<string, string>) =>
    HttpServerResponse.uint8Array(content, { status: answer.status, headers: { ...headers, ...more }, contentType })
  return acceptsGzip(request.headers["accept-encoding"]) && bytes.length > gzipAboveBytes
    ? Effect.map(gzip(bytes), (zipped) => send(zipped, { "content-encoding": "gzip", vary: "Accept-Encoding" }))
    : Effect.succeed(send(bytes, {}))
}

const watch = (
  answer: ApiResponse,
  events: Stream.Stream<WireEvent>,
  closing: Deferred.Deferred<void>
): HttpServerResponse.HttpServerResponse => {
  const lines = events.pipe(
    Stream.mapArray((chunk) => [Buffer.from(chunk.map((event) => `${JSON.stringify(event)}\n`).join(""), "utf8")]),
    Stream.interruptWhen(Deferred.await(closing))
  )
  // The empty first chunk sends the headers, without which a client does not know that the watch has started.
  return HttpServerResponse.stream(Stream.concat(Stream.make(Buffer.alloc(0)), lines), {
    status: answer.status,
    headers: answer.headers,
    contentType: Negotiation.contentTypes.json
  })
}

const isPlain = (text: string): boolean => /^[\x20-\x7e\t]*$/.test(text)

/** Node writes headers as Latin-1, but their text (warnings with names from the client) must be UTF-8 bytes. */
const onTheWire = (headers: ApiResponse["headers"]): ApiResponse["headers"] =>
  Object.values(headers).every(isPlain)
    ? headers
    : Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, Buffer.from(text, "utf8").toString("latin1")])
    )

/** One header line per warning. Node writes an array that way, which the type of headers does not allow. */
const warned = (warning: string) => (response: HttpServerResponse.HttpServerResponse) => {
  const lines = Warnings.lines(warning)
  return HttpServerResponse.setHeader(response, "warning", lines.length === 1 ? lines[0]! : lines as unknown as string)
}

/** The response to a request; a watch ends when `closing` completes. */
export const make = (
  answer: ApiResponse,
  request: Request,
  closing: Deferred.Deferred<void>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { warning, ...headers } = onTheWire(answer.headers)
  const wired = { ...answer, headers }
  const response = wired.events === undefined
    ? unary(wired, request)
    : Effect.succeed(watch(wired, wired.events, closing))
  return warning === undefined ? response : Effect.map(response, warned(warning))
}
