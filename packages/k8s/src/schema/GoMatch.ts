/**
 * `GoMatch`: matches a text against a pattern in linear time, as Go does.
 *
 * JavaScript's engine is the fastest for most patterns, but with some, such as `^(a+)+$`, it takes practically forever
 * on a text that almost matches. If it might take long, an engine without backtracking is used.
 */
import * as Result from "effect/Result"
import { RE2JS } from "re2js"
import * as GoRegExp from "./GoRegExp.ts"

/** The limit of JavaScript's steps, as a power of 2; some milliseconds. */
const most = 18

const linear = new Map<string, RE2JS>()

/** The pattern for the engine without backtracking. */
const linearOf = (pattern: string): RE2JS => {
  const known = linear.get(pattern)
  if (known !== undefined) return known
  const made = RE2JS.compile(pattern)
  linear.set(pattern, made)
  return made
}

/** Whether the text contains a match, or Go's error for the pattern. */
export const matches = (pattern: string, text: string): Result.Result<boolean, string> =>
  Result.map(
    GoRegExp.translated(pattern),
    ({ effort, regExp }) => effort(text.length) > most ? linearOf(pattern).test(text) : regExp.test(text)
  )
