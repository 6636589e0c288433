/**
 * `GoMatch`: whether a text matches a pattern, in a time that grows with the text, as Go's own does.
 *
 * JavaScript's engine is the fastest there is for most patterns, and does not come to an end with some others, such as
 * `^(a+)+$`, where a text is almost what they want. Where it might take long, an engine that does not backtrack is asked.
 */
import * as Result from "effect/Result"
import { RE2JS } from "re2js"
import * as GoRegExp from "./GoRegExp.ts"

/** What JavaScript is left to do: so many steps, as a power of 2; some milliseconds. */
const most = 18

const linear = new Map<string, RE2JS>()

/** The same pattern for the other engine. */
const linearOf = (pattern: string): RE2JS => {
  const known = linear.get(pattern)
  if (known !== undefined) return known
  const made = RE2JS.compile(pattern)
  linear.set(pattern, made)
  return made
}

/** Whether it is found in the text, or Go's complaint about the pattern. */
export const matches = (pattern: string, text: string): Result.Result<boolean, string> =>
  Result.map(
    GoRegExp.translated(pattern),
    ({ effort, regExp }) => effort(text.length) > most ? linearOf(pattern).test(text) : regExp.test(text)
  )
