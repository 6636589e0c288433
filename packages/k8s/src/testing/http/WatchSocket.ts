/**
 * A watch over a WebSocket, which some clients ask for: a text message per event, nothing from the client.
 *
 * Whoever hangs up ends the watch; when the watch ends, or `closing` is done, the server says goodbye. What is no watch
 * is answered as without the upgrade, so that a refusal is a plain answer.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/watch.go `HandleWS`.
 */
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"

/** Whether the client wants one. */
export const isWanted = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["upgrade"]?.toLowerCase() === "websocket" && /\bupgrade\b/i.test(headers["connection"] ?? "")

/** Sends the events until one of the three ends it. The response is nobody's any more. */
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
    // The end of the scope closes the socket, as one that is done with.
    yield* Effect.raceFirst(sent, Effect.forever(pull))
  }).pipe(Effect.scoped, Effect.ignore, Effect.as(HttpServerResponse.empty()))
