/** `Body`: the body of a response as it arrives, and its reader. */
import * as Effect from "effect/Effect"
import { Buffer } from "node:buffer"

/** How a body ended; with an `error` if the connection failed. */
export interface Ending {
  readonly error?: unknown
}

/** The reader of a body. */
export interface Sink {
  /** Receives a chunk, whose memory is reused after the call. Returns false to pause until `resume`. */
  readonly bytes: (chunk: Buffer) => boolean
  /** Nothing more arrives. */
  readonly end: (how: Ending) => void
}

export interface Body {
  /**
   * Passes everything from the first byte on to one reader; may be called once. After a pause, bytes that were already
   * in flight may still arrive.
   */
  readonly read: (sink: Sink) => void
  readonly resume: () => void
}

/** Defaults for bodies that are read as a whole, in bytes. */
export const defaults = {
  /** The most memory that is allocated for a declared length before the bytes have arrived. */
  credible: 4 * 1024 * 1024,
  /** Buffers from this size on are reused. */
  reused: 64 * 1024
} as const

/**
 * Reusable buffers of bodies that have been read, unless the garbage collector takes them. Memory outside the heap
 * triggers garbage collection: with a new buffer for each page of a list, the whole heap would be marked every twenty
 * pages.
 */
let spare: ReadonlyArray<WeakRef<ArrayBuffer>> = []
const mostSpare = 4

/** Buffers that `memory` has handed out and that may be returned. */
const lent = new WeakSet<ArrayBufferLike>()

/** An uninitialised buffer of at least this many bytes. */
const memory = (size: number): Buffer => {
  if (size < defaults.reused) return Buffer.allocUnsafe(size)
  const kept = spare.find((reference) => (reference.deref()?.byteLength ?? 0) >= size)
  const found = kept?.deref() ?? new ArrayBuffer(2 ** Math.ceil(Math.log2(size)))
  spare = spare.filter((reference) => reference !== kept && reference.deref() !== undefined)
  lent.add(found)
  return Buffer.from(found)
}

/** Returns the buffer of a body, of which no byte may be read any more. */
export const recycle = ({ buffer }: Buffer): void => {
  if (!lent.delete(buffer)) return
  spare = [new WeakRef(buffer as ArrayBuffer), ...spare].slice(0, mostSpare)
}

/** Reads a body in one piece. `length` is the declared length in bytes. */
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

/** Reads a short body as text. */
export const text = (body: Body): Effect.Effect<string, unknown> =>
  Effect.callback((resume) =>
    whole(
      body,
      undefined,
      (how, bytes) => resume("error" in how ? Effect.fail(how.error) : Effect.succeed(bytes.toString("utf8")))
    )
  )
