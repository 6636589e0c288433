/**
 * `HangUp`: how a server of node's comes to its end.
 *
 * Nobody new is let in, answers under way go out, and then whoever is still connected is cut off, whether it has said
 * anything or not, in real time. Node takes a connection for idle as soon as its answer is written, and what it closes
 * then never arrives as a whole: idle connections are closed once every answer that is written has left.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Http from "node:http"
import * as Net from "node:net"

export interface HangUp {
  /** Closes connections that wait for a request. */
  readonly closeIdle: Effect.Effect<void>
  /** Ends the server; answers under way have so much time. */
  readonly hangUp: (grace: Duration.Input) => Effect.Effect<void>
}

const realClock = Clock.Clock.defaultValue()

/** Knows the answers of a server from now on. */
export const make = (node: Http.Server): HangUp => {
  const answers = new Set<Http.ServerResponse>()
  node.on("request", (_, answer) => {
    answers.add(answer)
    answer.once("close", () => answers.delete(answer))
  })
  // An HTTPS server knows of a connection only once its handshake is over, if ever.
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
      // An HTTP server's own `close` would close what it takes for idle at once.
      Net.Server.prototype.close.call(node, () => Deferred.doneUnsafe(ended, Effect.void))
      // Who is answered from now on is kept no longer.
      const closing = Effect.repeat(closeIdle, Schedule.spaced("10 millis"))
      yield* Effect.timeoutOption(Effect.raceFirst(Deferred.await(ended), closing), grace)
      node.closeAllConnections()
      for (const socket of sockets) socket.destroy()
      yield* Deferred.await(ended)
      // Its timers.
      node.close()
    }, Effect.provideService(Clock.Clock, realClock))
  }
}
