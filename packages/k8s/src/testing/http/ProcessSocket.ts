/**
 * A process over a WebSocket: each message is a piece of a stream, whose first byte names the stream.
 *
 * This is version 5 of the protocol, in which 255 closes the stream whose number follows. The command starts when its
 * input is complete, and its output is sent when it ends.
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

/** The query of a request. */
type Query = ReadonlyArray<readonly [name: string, value: string]>

const has = (query: Query, stream: string): boolean =>
  query.some(([name, value]) => name === stream && (value === "true" || value === "1"))

/** All input until it is closed or the client disconnects. */
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

/** Runs the process and sends its result. The returned response is ignored. */
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
