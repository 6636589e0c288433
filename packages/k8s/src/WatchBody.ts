/**
 * `WatchBody`: parses the body of a watch, from bytes to JSON values.
 *
 * The format is one JSON value per line. The reader is a state machine as data: `step(state, chunk)` returns the next
 * state and the values that the chunk completed, `end(state)` tells whether the body may end there. It guarantees:
 * - the values, and the fault if there is one, do not depend on how the network split the bytes: lines, characters and
 *   line ends may be split anywhere;
 * - nothing is skipped: a line that is not JSON is a fault, and every value before it is still delivered;
 * - an incomplete last line is never parsed, even if it would parse (`{"a":1}` may have been going on);
 * - memory is bounded by one line, and a line by `maxLineBytes`.
 *
 * Blank lines and `\r\n` are allowed. `stream` runs the state machine over a body as it arrives (see `live/Pieces`).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { Buffer } from "node:buffer"
import type { Body } from "./live/Body.ts"
import { type Read, whole } from "./live/Documents.ts"
import * as Pieces from "./live/Pieces.ts"

/** Defaults, unless `Options` override them. */
export const defaults = {
  /**
   * The longest line, in bytes without its `\n`. An object in etcd is at most 1.5 MiB unless etcd is configured
   * otherwise.
   */
  maxLineBytes: 16 * 1024 * 1024
} as const

export interface Options {
  readonly maxLineBytes?: number | undefined
  /** Parses a line: `JSON.parse` by default. Throws if the line is not JSON. */
  readonly read?: Read | undefined
}

/** Why a body cannot be read further. `line` counts from 1. */
export class WatchBodyError extends Schema.TaggedError<WatchBodyError>()("WatchBodyError", {
  problem: Schema.Literals(["Malformed", "TooLong", "Truncated"]),
  line: Schema.Int,
  message: Schema.String
}) {}

/** The state of the reader: inside a line whose bytes so far are `pending`, or at a fault, which is final. */
export type State =
  | {
    readonly _tag: "Reading"
    /** Complete lines so far. */
    readonly lines: number
    readonly pending: ReadonlyArray<Uint8Array>
    readonly pendingBytes: number
  }
  | { readonly _tag: "Failed"; readonly error: WatchBodyError }

type Reading = Extract<State, { readonly _tag: "Reading" }>

/** Before the first byte. */
export const initial: State = { _tag: "Reading", lines: 0, pending: [], pendingBytes: 0 }

const newline = 0x0a

const failed = (problem: WatchBodyError["problem"], line: number, message: string): State => ({
  _tag: "Failed",
  error: new WatchBodyError({ problem, line, message: `line ${line} of the watch ${message}` })
})

const tooLong = (line: number, limit: number): State => failed("TooLong", line, `is longer than ${limit} bytes`)

// A view without a copy: Buffer's native search and decoding are many times faster than Uint8Array's.
const view = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const isBlank = (bytes: Uint8Array, from = 0, to = bytes.length): boolean => {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false
  }
  return true
}

/**
 * Reads one chunk. Returns the values of the lines that it completed, in order; after a fault always none. The state
 * copies the bytes of the chunk that it needs.
 */
export const step = (
  state: State,
  chunk: Uint8Array,
  options: Options = {}
): readonly [State, Array<unknown>] => {
  if (state._tag === "Failed") return [state, []]
  const { maxLineBytes: limit = defaults.maxLineBytes, read = whole } = options
  const bytes = view(chunk)
  const values: Array<unknown> = []
  let { lines } = state
  let rest: Reading | undefined = state
  let from = 0
  for (let to = bytes.indexOf(newline); to >= 0; to = bytes.indexOf(newline, from)) {
    const length = (rest?.pendingBytes ?? 0) + to - from
    if (length > limit) return [tooLong(lines + 1, limit), values]
    const start = from
    const cutOff = rest === undefined || rest.pendingBytes === 0
      ? undefined
      : Buffer.concat([...rest.pending, bytes.subarray(start, to)])
    lines += 1
    rest = undefined
    from = to + 1
    if (cutOff === undefined ? isBlank(bytes, start, to) : isBlank(cutOff)) continue
    try {
      values.push(cutOff === undefined ? read(bytes, start, to) : read(cutOff, 0, cutOff.length))
    } catch {
      // The parser's own message quotes the document, which may contain a Secret.
      return [failed("Malformed", lines, "is not JSON"), values]
    }
  }
  // Fast path: most chunks are whole lines.
  if (from === bytes.length && rest === undefined) {
    return [{ _tag: "Reading", lines, pending: [], pendingBytes: 0 }, values]
  }
  const tail = Buffer.from(bytes.subarray(from))
  const pendingBytes = (rest?.pendingBytes ?? 0) + tail.length
  if (pendingBytes > limit) return [tooLong(lines + 1, limit), values]
  const pending = tail.length === 0 ? rest?.pending ?? [] : [...rest?.pending ?? [], tail]
  return [{ _tag: "Reading", lines, pending, pendingBytes }, values]
}

/** The end of the body: valid between lines, `Truncated` inside one. */
export const end = (state: State): Result.Result<void, WatchBodyError> => {
  if (state._tag === "Failed") return Result.fail(state.error)
  if (state.pending.every((bytes) => isBlank(bytes))) return Result.void
  const line = state.lines + 1
  return Result.fail(
    new WatchBodyError({
      problem: "Truncated",
      line,
      message: `the connection ended inside line ${line} of the watch, after ${state.pendingBytes} of its bytes`
    })
  )
}

/**
 * The values of a body, in one array per arrival. Ends if the body ends between two lines. Fails with `WatchBodyError`,
 * or with what `onError` makes of a connection error. One consumer, once.
 */
export const stream = <E>(
  body: Body,
  onError: (cause: unknown) => E,
  options: Options = {}
): Stream.Stream<unknown, WatchBodyError | E> =>
  Pieces.stream(body, onError, () => {
    let state: State = initial
    return {
      piece: (chunk) => {
        const [next, values] = step(state, chunk, options)
        state = next
        return values
      },
      fault: () => state._tag === "Failed" ? state.error : undefined,
      end: () => Result.map(end(state), () => [])
    }
  })
