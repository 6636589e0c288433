/**
 * What goes out by HTTP: the server's answer as bytes, in the encoding the client accepts, compressed where it is long;
 * a watch as one chunk of lines per event.
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

/** Answers longer than this many bytes are compressed for clients that accept gzip, as in a real server. */
export const gzipAboveBytes = 128 * 1024

/** What Go reads as true. */
const yes: ReadonlySet<string> = new Set(["1", "t", "T", "true", "TRUE", "True"])

/** People at a terminal get indented JSON, and whoever asks for it. */
const wantsPretty = ({ headers, query }: Request): boolean => {
  const asked = query.find(([name]) => name === "pretty")?.[1] ?? ""
  return asked === "" ? /^(?:curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "") : yes.has(asked)
}

/** Of a Status there is but one form. */
const isStatus = (body: unknown): boolean =>
  typeof body === "object" && body !== null && (body as { readonly kind?: unknown }).kind === "Status"

/** The body as bytes, and what they are. Bytes and text are sent as they came; what JSON it is, the server may say. */
const encodeBody = (body: unknown, said: string | undefined, request: Request): readonly [Uint8Array, string] => {
  if (body instanceof Uint8Array) return [body, said ?? "application/octet-stream"]
  const json = said !== undefined && /^application\/(?:[\w.-]+\+)?json\b/.test(said)
  if (typeof body === "string" && !json) return [Buffer.from(body, "utf8"), said ?? "text/plain; charset=utf-8"]
  const { accept } = request.headers
  const chosen = isStatus(body) ? Negotiation.asItIs(accept) : Negotiation.accepted(accept)
  const encoding = chosen?.encoding ?? "json"
  const contentType = encoding === "json" && json ? said : Negotiation.contentTypes[encoding]
  // A refusal to who accepts no form of it is not encoded but written down.
  const written = isStatus(body) && chosen === undefined
  const pretty = written || chosen?.indented === true || wantsPretty(request)
  return [Buffer.from(Negotiation.encode(encoding, body, pretty), "utf8"), contentType]
}

/** Whether a header names gzip, and not as what is not wanted. */
const acceptsGzip = (header: string | undefined): boolean =>
  Negotiation.parseAccept(header).some(({ parameters: { q }, type }) =>
    type === "gzip" && (q === undefined || Number(q) > 0)
  )

/** The fastest level, as in a real server. */
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
  // The empty first chunk sends the headers: a client waits for them before it believes that the watch stands.
  return HttpServerResponse.stream(Stream.concat(Stream.make(Buffer.alloc(0)), lines), {
    status: answer.status,
    headers: answer.headers,
    contentType: Negotiation.contentTypes.json
  })
}

const isPlain = (text: string): boolean => /^[\x20-\x7e\t]*$/.test(text)

/** Headers are bytes: texts in them (warnings, with names of the client's) are UTF-8, which Node wants as Latin-1. */
const onTheWire = (headers: ApiResponse["headers"]): ApiResponse["headers"] =>
  Object.values(headers).every(isPlain)
    ? headers
    : Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, Buffer.from(text, "utf8").toString("latin1")])
    )

/** With a line for each warning. Node writes an array so, which the type of headers does not know. */
const warned = (warning: string) => (response: HttpServerResponse.HttpServerResponse) => {
  const lines = Warnings.lines(warning)
  return HttpServerResponse.setHeader(response, "warning", lines.length === 1 ? lines[0]! : lines as unknown as string)
}

/** The response to a request; a watch ends when `closing` is done. */
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
