/**
 * `Pieces`: a body as a stream of what its pieces make complete.
 *
 * The body is read a bounded number of bytes ahead of the consumer, so that a slow one slows the socket down. There is one
 * Effect for all that waits, not for each value. It does not close the body: that is its owner's to do.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { Buffer } from "node:buffer"
import type { Body, Ending, Sink } from "./Body.ts"

/** Figures, in bytes. */
export const defaults = {
  /** Of the pieces whose values may wait for the consumer; what one read of the socket brought may come on top. */
  ahead: 256 * 1024
} as const

/** What is made of the pieces of one body. */
export interface Reader<A, E> {
  /** What a piece has completed, in memory that is the body's again after the call. */
  readonly piece: (chunk: Buffer) => Array<A>
  /** Why it cannot be read on, if so: what came before is given on all the same. */
  readonly fault: () => E | undefined
  /** What is left where the body ends, or why it may not end there. */
  readonly end: () => Result.Result<Array<A>, E>
}

/**
 * The values of a body, in one array for what had arrived. Fails as its reader does, or with what `onError` makes of a
 * connection error. One consumer, once.
 */
export const stream = <A, E, C>(
  body: Body,
  onError: (cause: unknown) => C,
  make: () => Reader<A, E>
): Stream.Stream<A, E | C> => {
  const reader = make()
  let values: Array<A> = []
  /** Bytes of what waits. */
  let waiting = 0
  let wake: (() => void) | undefined
  let over: Ending | undefined
  let isClosed = false

  const sink: Sink = {
    bytes: (chunk) => {
      const found = reader.piece(chunk)
      if (values.length === 0) values = found
      else for (const value of found) values.push(value)
      waiting += chunk.length
      const fault = reader.fault()
      if (found.length > 0 || fault !== undefined) wake?.()
      // A line is read to its end, however long it is.
      return fault === undefined && (values.length === 0 || waiting < defaults.ahead)
    },
    end: (how) => {
      over = how
      wake?.()
    }
  }

  /** What is left at the end comes before it. */
  const ended = (how: Ending): Pull<A, E | C> => {
    if ("error" in how) return Effect.fail(onError(how.error))
    if (isClosed) return Cause.done()
    isClosed = true
    const left = reader.end()
    if (Result.isFailure(left)) return Effect.fail(left.failure)
    return isNonEmpty(left.success) ? Effect.succeed(left.success) : Cause.done()
  }

  const arrived = Effect.callback<void>((resume) => {
    // It may have come since it was looked for: a fiber lets others go first at any step.
    if (values.length > 0 || over !== undefined || reader.fault() !== undefined) return resume(Effect.void)
    wake = () => {
      wake = undefined
      // Whatever else came off the socket with this is there a turn later: it is taken in one go.
      resume(Effect.yieldNow)
    }
    return Effect.sync(() => {
      wake = undefined
    })
  })

  const pull: Pull<A, E | C> = Effect.suspend(() => {
    const taken = values
    const fault = reader.fault()
    if (isNonEmpty(taken)) {
      values = []
      if (waiting >= defaults.ahead && fault === undefined) body.resume()
      waiting = 0
      return Effect.succeed(taken)
    }
    if (fault !== undefined) return Effect.fail(fault)
    return over === undefined ? Effect.andThen(arrived, pull) : ended(over)
  })

  return Stream.fromPull(Effect.sync(() => {
    body.read(sink)
    return pull
  }))
}

type Pull<A, E> = Effect.Effect<readonly [A, ...Array<A>], E | Cause.Done>

const isNonEmpty = <A>(values: ReadonlyArray<A>): values is readonly [A, ...Array<A>] => values.length > 0
