/**
 * `HangUp`: graceful shutdown of a Node HTTP server.
 *
 * The server accepts no new connection, lets responses in flight finish for a grace period of real time, and then
 * destroys all remaining connections, even those that have sent nothing. Node treats a connection as idle as soon as
 * its response is written; closing it then would truncate the response. So idle connections are closed only once every
 * written response has left the process.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Http from "node:http"
import * as Net from "node:net"

export interface HangUp {
  /** Closes idle connections. */
  readonly closeIdle: Effect.Effect<void>
  /** Shuts the server down; responses in flight have until `grace`. */
  readonly hangUp: (grace: Duration.Input) => Effect.Effect<void>
}

const realClock = Clock.Clock.defaultValue()

/** Tracks the responses of a server from now on. */
export const make = (node: Http.Server): HangUp => {
  const answers = new Set<Http.ServerResponse>()
  node.on("request", (_, answer) => {
    answers.add(answer)
    answer.once("close", () => answers.delete(answer))
  })
  // An HTTPS server reports a connection only after the TLS handshake, which may never finish.
  const sockets = new Set<Net.Socket>()
  node.on("connection", (socket: Net.Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  const isLeaving = ({ writableEnded, writableFinished }: Http.ServerResponse) => writableEnded && !writableFinished
  const closed = Effect.sync(() => {
    if ([...answers].some(isLeaving)) return false
    node.closeIdleConnections()
    return true
  })
  const closeIdle = Effect.repeat(closed, { until: (done) => done, schedule: Schedule.spaced("1 millis") }).pipe(
    Effect.asVoid,
    Effect.provideService(Clock.Clock, realClock)
  )
  return {
    closeIdle,
    hangUp: Effect.fnUntraced(function*(grace) {
      const ended = yield* Deferred.make<void>()
      // `Http.Server.close` would close connections at once that it takes for idle.
      Net.Server.prototype.close.call(node, () => Deferred.doneUnsafe(ended, Effect.void))
      // Connections whose responses finish from now on must not be kept.
      const closing = Effect.repeat(closeIdle, Schedule.spaced("10 millis"))
      yield* Effect.timeoutOption(Effect.raceFirst(Deferred.await(ended), closing), grace)
      node.closeAllConnections()
      for (const socket of sockets) socket.destroy()
      yield* Deferred.await(ended)
      // Stops the timers of the HTTP server.
      node.close()
    }, Effect.provideService(Clock.Clock, realClock))
  }
}
