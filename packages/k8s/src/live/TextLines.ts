/**
 * `TextLines`: a text body as its lines, without line ends, each as soon as it is complete.
 *
 * Invalid UTF-8 becomes U+FFFD. A last line without a line end counts. A line longer than `longest` comes in pieces, so
 * that memory is bounded.
 */
import * as Result from "effect/Result"
import type * as Stream from "effect/Stream"
import type { Body } from "./Body.ts"
import * as Pieces from "./Pieces.ts"

export const defaults = {
  /** The longest piece of a line, in characters. */
  longest: 1024 * 1024
} as const

/** The lines of a body; fails with what `onError` makes of a connection error. One consumer, once. */
export const stream = <E>(body: Body, onError: (cause: unknown) => E): Stream.Stream<string, E> =>
  Pieces.stream(body, onError, (): Pieces.Reader<string, never> => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    let rest = ""
    return {
      piece: (chunk) => {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
        rest = lines.pop()!
        if (rest.length > defaults.longest) {
          lines.push(rest)
          rest = ""
        }
        return lines
      },
      fault: () => undefined,
      end: () => {
        const last = rest + decoder.decode()
        return Result.succeed(last === "" ? [] : [last])
      }
    }
  })
