/**
 * `HttpRequest`: what comes by HTTP, as a request and the bytes of its body.
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

/** Parameters as Go reads them: what has a wrong escape or a semicolon is as if it were not there. */
const parameters = (query: string): Request["query"] => [
  ...new URLSearchParams(query.split("&").filter((pair) => !/;|%(?![\da-f]{2})/i.test(pair)).join("&"))
]

const isPlain = (text: string): boolean => /^[\x20-\x7e\t]*$/.test(text)

/** Headers are bytes, which Node reads as Latin-1: names of people in them are UTF-8. */
const headersOf = (headers: Request["headers"]): Request["headers"] =>
  Object.values(headers).every((text) => text === undefined || isPlain(text))
    ? headers
    : Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, text && Buffer.from(text, "latin1").toString("utf8")])
    )

/** The request line and headers; what is no method of an API is as good as OPTIONS. */
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
