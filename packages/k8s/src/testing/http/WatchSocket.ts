/**
 * A watch over a WebSocket, for clients that request it: one text message per event, and nothing from the client.
 *
 * The watch ends when the client disconnects. When the watch ends by itself or `closing` completes, the server closes
 * the socket properly. Responses other than a watch are sent without the upgrade, so a refusal is a plain response.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/watch.go `HandleWS`.
 */
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"

/** Whether the client requests a WebSocket. */
export const isWanted = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["upgrade"]?.toLowerCase() === "websocket" && /\bupgrade\b/i.test(headers["connection"] ?? "")

/** Sends the events until one of the three ends it. The returned response is ignored. */
export const serve = (
  http: HttpServerRequest.HttpServerRequest,
  events: Stream.Stream<WireEvent>,
  closing: Deferred.Deferred<void>
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.gen(function*() {
    const socket = yield* http.upgrade
    const { write } = yield* socket.writer
    const { pull } = yield* socket.reader
    const sent = events.pipe(
      Stream.interruptWhen(Deferred.await(closing)),
      Stream.runForEach((event) => write(`${JSON.stringify(event)}\n`))
    )
    // Closing the scope closes the socket normally.
    yield* Effect.raceFirst(sent, Effect.forever(pull))
  }).pipe(Effect.scoped, Effect.ignore, Effect.as(HttpServerResponse.empty()))
