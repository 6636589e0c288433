/**
 * A process over a WebSocket: a message for each piece of a stream, whose first byte says which one it is.
 *
 * Version 5 of the protocol, in which 255 ends the stream that follows it. All that a command reads is read before it
 * begins, all that it prints is sent when it is over.
 *
 * Source: k8s.io/apimachinery/pkg/util/remotecommand/constants.go; k8s.io/apiserver/pkg/util/proxy/websocket.go.
 */
import type { Process } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Socket from "effect/socket/Socket"
import { Buffer } from "node:buffer"
import type { ApiResponse } from "../../api/Representation.ts"

/** What a request asks for. */
type Query = ReadonlyArray<readonly [name: string, value: string]>

const has = (query: Query, stream: string): boolean =>
  query.some(([name, value]) => name === stream && (value === "true" || value === "1"))

/** All that comes until the input is ended, or who sends it hangs up. */
const input = (pull: Socket.Reader["pull"]): Effect.Effect<string> =>
  Effect.gen(function*() {
    const chunks: Array<Buffer> = []
    for (;;) {
      for (const message of yield* pull) {
        const bytes = Buffer.from(message)
        if (bytes[0] === 255 && bytes[1] === 0) return chunks
        if (bytes[0] === 0) chunks.push(bytes.subarray(1))
      }
    }
  }).pipe(
    Effect.map((chunks) => Buffer.concat(chunks).toString("utf8")),
    Effect.orElseSucceed(() => "")
  )

/** Runs it, and sends what came of it. The response is nobody's any more. */
export const serve = (
  http: HttpServerRequest.HttpServerRequest,
  query: Query,
  run: NonNullable<ApiResponse["process"]>
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.gen(function*() {
    const socket = yield* http.upgrade
    const { write } = yield* socket.writer
    const { pull } = yield* socket.reader
    const given: Process = has(query, "stdin") ? { stdin: yield* input(pull) } : {}
    const { status, stderr, stdout } = yield* run(given)
    const send = (channel: number, text: string) =>
      text === "" ? Effect.void : write(Buffer.concat([Buffer.of(channel), Buffer.from(text, "utf8")]))
    if (has(query, "stdout")) yield* send(1, stdout)
    if (has(query, "stderr")) yield* send(2, stderr)
    yield* send(3, JSON.stringify(status))
  }).pipe(Effect.scoped, Effect.ignore, Effect.as(HttpServerResponse.empty()))
