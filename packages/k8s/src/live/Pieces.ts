/**
 * `Pieces`: a body as a stream of the values that its pieces complete.
 *
 * The body is read ahead of the consumer by a bounded number of bytes, so that a slow consumer slows the socket down.
 * Values that wait are delivered in one Effect, not one each. The stream does not close the body; its owner must.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type { Buffer } from "node:buffer"
import type { Body, Ending, Sink } from "./Body.ts"

/** Defaults, in bytes. */
export const defaults = {
  /** The size of the pieces whose values may wait for the consumer; one read of the socket may exceed it. */
  ahead: 256 * 1024
} as const

/** Turns the pieces of one body into values. */
export interface Reader<A, E> {
  /** The values that a piece completes. Its memory is reused after the call. */
  readonly piece: (chunk: Buffer) => Array<A>
  /** Why reading cannot continue, if so. Values from before the fault are still delivered. */
  readonly fault: () => E | undefined
  /** The remaining values at the end of the body, or why it must not end there. */
  readonly end: () => Result.Result<Array<A>, E>
}

/**
 * The values of a body, in one array per arrival. Fails as its reader does, or with what `onError` makes of a
 * connection error. One consumer, once.
 */
export const stream = <A, E, C>(
  body: Body,
  onError: (cause: unknown) => C,
  make: () => Reader<A, E>
): Stream.Stream<A, E | C> => {
  const reader = make()
  let values: Array<A> = []
  /** The bytes of waiting values. */
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

  /** The remaining values come before the end. */
  const ended = (how: Ending): Pull<A, E | C> => {
    if ("error" in how) return Effect.fail(onError(how.error))
    if (isClosed) return Cause.done()
    isClosed = true
    const left = reader.end()
    if (Result.isFailure(left)) return Effect.fail(left.failure)
    return isNonEmpty(left.success) ? Effect.succeed(left.success) : Cause.done()
  }

  const arrived = Effect.callback<void>((resume) => {
    // More may have arrived since the last check: a fiber can yield at any step.
    if (values.length > 0 || over !== undefined || reader.fault() !== undefined) return resume(Effect.void)
    wake = () => {
      wake = undefined
      // Whatever else arrived on the socket with this is available a turn later, and is then taken together.
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
