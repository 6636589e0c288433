/**
 * `HttpsServer`: a `Handler` on a TCP port; see `TlsServer`. A body may have up to 7 MiB, as in controller-runtime. A
 * client that disconnects interrupts its hook.
 */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpIncomingMessage from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
import type * as Endpoints from "../Endpoints.ts"
import * as TlsServer from "../TlsServer.ts"
import { type Answer, type Arrived, type Handler, rejected } from "./Handler.ts"

export const defaults = {
  /** As in controller-runtime. */
  address: ":9443",
  maxBodyBytes: 7 * 1024 * 1024
} as const

export interface Options extends Omit<TlsServer.Options, "what" | "clientAuthorityPem"> {
  readonly maxBodyBytes?: number | undefined
}

/** Serves until the scope closes. */
export const make = (
  handler: Handler,
  { maxBodyBytes = defaults.maxBodyBytes, ...options }: Options
): Effect.Effect<TlsServer.Server, Endpoints.ListenFailed, Scope.Scope> =>
  TlsServer.make(respond(handler, maxBodyBytes), { ...options, what: "webhooks" })

const respond = (
  handler: Handler,
  maxBodyBytes: number
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest> =>
  Effect.gen(function*() {
    const http = yield* HttpServerRequest.HttpServerRequest
    const at = http.url.indexOf("?")
    const arrived: Arrived = {
      method: http.method,
      path: at < 0 ? http.url : http.url.slice(0, at),
      query: at < 0 ? [] : [...new URLSearchParams(http.url.slice(at + 1))],
      headers: http.headers,
      body: read(http, maxBodyBytes)
    }
    return toResponse(yield* handler(arrived))
  }).pipe(Effect.interruptible)

const read = (http: HttpServerRequest.HttpServerRequest, maxBodyBytes: number): Arrived["body"] =>
  http.text.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBodyBytes)),
    Effect.mapError(({ reason }) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? rejected(413, `the body is longer than ${maxBodyBytes} bytes`)
        : rejected(400, "the body is incomplete")
    ),
    Effect.flatMap((text) =>
      Effect.try({
        try: () => JSON.parse(text) as unknown,
        catch: (error) =>
          rejected(400, `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`)
      })
    )
  )

const toResponse = ({ body, headers, status }: Answer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers,
    contentType: headers["content-type"] ?? "application/json"
  })
