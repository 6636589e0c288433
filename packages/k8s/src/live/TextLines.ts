/**
 * `TextLines`: a body of text as its lines, without their ends, each as soon as it is whole.
 *
 * What is no UTF-8 is read as U+FFFD. A last line without an end is one, too. A line that is longer than `longest` is given in
 * pieces, so that memory is bounded.
 */
import * as Result from "effect/Result"
import type * as Stream from "effect/Stream"
import type { Body } from "./Body.ts"
import * as Pieces from "./Pieces.ts"

export const defaults = {
  /** Characters of a line before its end has come. */
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
