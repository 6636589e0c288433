/**
 * `HttpRequest`: reads the request line, headers and body bytes of an HTTP request.
 *
 * Bodies of more than 3 MiB are refused.
 */
import type { Method, Request } from "@effect-operator/core/Transport"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as StatusError from "./StatusError.ts"

/** The largest body in bytes, as in a real server. */
export const maxBodyBytes = 3 * 1024 * 1024

const methods: ReadonlySet<string> = new Set<Method>(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])

/** The query parameters as Go reads them: one with an invalid escape or a semicolon is dropped. */
const parameters = (query: string): Request["query"] => [
  ...new URLSearchParams(query.split("&").filter((pair) => !/;|%(?![\da-f]{2})/i.test(pair)).join("&"))
]

const isPlain = (text: string): boolean => /^[\x20-\x7e\t]*$/.test(text)

/** Node reads header bytes as Latin-1, but they are UTF-8, for instance in names of people. */
const headersOf = (headers: Request["headers"]): Request["headers"] =>
  Object.values(headers).every((text) => text === undefined || isPlain(text))
    ? headers
    : Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, text && Buffer.from(text, "latin1").toString("utf8")])
    )

/** The request line and headers. A method that no API has is treated as OPTIONS. */
export const requestOf = (http: HttpServerRequest.HttpServerRequest): Request => {
  const mark = http.url.indexOf("?")
  const [path, query] = mark < 0 ? [http.url, ""] : [http.url.slice(0, mark), http.url.slice(mark + 1)]
  return {
    method: methods.has(http.method) ? http.method as Method : "OPTIONS",
    path,
    query: query === "" ? [] : parameters(query),
    headers: headersOf(http.headers)
  }
}

/** The whole body. */
export const readBytes = (
  http: HttpServerRequest.HttpServerRequest
): Effect.Effect<Uint8Array, StatusError.StatusError> =>
  http.arrayBuffer.pipe(
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBodyBytes)),
    Effect.mapError(({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? StatusError.requestEntityTooLarge(`limit is ${maxBodyBytes}`)
        : StatusError.badRequest("unexpected EOF")
    )
  )
