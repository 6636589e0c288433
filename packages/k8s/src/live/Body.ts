/** `Body`: what follows the head of an answer, as it comes, and who reads it. */
import * as Effect from "effect/Effect"
import { Buffer } from "node:buffer"

/** How a body ended: with an `error` if the connection is the reason. */
export interface Ending {
  readonly error?: unknown
}

/** Who reads a body. */
export interface Sink {
  /** What came, in memory that is the body's again after the call. False if that is enough until `resume`. */
  readonly bytes: (chunk: Buffer) => boolean
  /** Nothing more comes. */
  readonly end: (how: Ending) => void
}

export interface Body {
  /** Hands everything to one reader, from the first byte on; once. What is on its way comes even when it was enough. */
  readonly read: (sink: Sink) => void
  readonly resume: () => void
}

/** Of a length that is given no more than this is believed before it is there, in bytes. */
const credible = 4 * 1024 * 1024

/** Everything in one piece. `length` is what the answer says of it, in bytes. */
export const whole = (body: Body, length: number | undefined, done: (how: Ending, bytes: Buffer) => void): void => {
  let all: Buffer | undefined
  let used = 0
  body.read({
    bytes: (chunk) => {
      const needed = used + chunk.length
      if (all === undefined && (length === undefined || length === needed)) {
        all = Buffer.from(chunk)
      } else {
        if (all === undefined || all.length < needed) {
          const declared = length === undefined || length > credible ? 0 : length
          const larger = Buffer.allocUnsafeSlow(Math.max(needed, declared, used * 2))
          all?.copy(larger, 0, 0, used)
          all = larger
        }
        chunk.copy(all, used)
      }
      used = needed
      return true
    },
    end: (how) => done(how, all === undefined ? nothing : all.subarray(0, used))
  })
}

const nothing = Buffer.alloc(0)

/** A body that is short, as text. */
export const text = (body: Body): Effect.Effect<string, unknown> =>
  Effect.callback((resume) =>
    whole(
      body,
      undefined,
      (how, bytes) => resume("error" in how ? Effect.fail(how.error) : Effect.succeed(bytes.toString("utf8")))
    )
  )
