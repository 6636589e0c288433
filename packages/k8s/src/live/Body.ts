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

/** Figures of bodies that are read whole, in bytes. */
export const defaults = {
  /** Of a length that is given no more than this is believed before it is there. */
  credible: 4 * 1024 * 1024,
  /** Memory from this size on is used again. */
  reused: 64 * 1024
} as const

/**
 * Memory of bodies that were read, unless the garbage collector wants it. What is outside of its heap counts towards its
 * next run: with new memory for each page of a list it would mark the whole heap every twenty pages.
 */
let spare: ReadonlyArray<WeakRef<ArrayBuffer>> = []
const mostSpare = 4

/** What `memory` has given out, and may be given back. */
const lent = new WeakSet<ArrayBufferLike>()

/** At least so many bytes, whatever they hold. */
const memory = (size: number): Buffer => {
  if (size < defaults.reused) return Buffer.allocUnsafe(size)
  const kept = spare.find((reference) => (reference.deref()?.byteLength ?? 0) >= size)
  const found = kept?.deref() ?? new ArrayBuffer(2 ** Math.ceil(Math.log2(size)))
  spare = spare.filter((reference) => reference !== kept && reference.deref() !== undefined)
  lent.add(found)
  return Buffer.from(found)
}

/** Gives the memory of a body back, of which nobody will read a byte again. */
export const recycle = ({ buffer }: Buffer): void => {
  if (!lent.delete(buffer)) return
  spare = [new WeakRef(buffer as ArrayBuffer), ...spare].slice(0, mostSpare)
}

/** Everything in one piece. `length` is what the answer says of it, in bytes. */
export const whole = (body: Body, length: number | undefined, done: (how: Ending, bytes: Buffer) => void): void => {
  let all: Buffer = nothing
  let used = 0
  body.read({
    bytes: (chunk) => {
      const needed = used + chunk.length
      if (all.length < needed) {
        const declared = length === undefined || length > defaults.credible ? 0 : length
        const larger = memory(Math.max(needed, declared, used * 2))
        all.copy(larger, 0, 0, used)
        recycle(all)
        all = larger
      }
      chunk.copy(all, used)
      used = needed
      return true
    },
    end: (how) => done(how, all.subarray(0, used))
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
