/**
 * `Patterns`: translates JavaScript's regular expressions to the server's syntax, which is Go's (RE2).
 *
 * Most are the same in both. Flags become `(?i)` and the like, `\uXXXX` becomes `\x{XXXX}`, and `\s` becomes a list of
 * the characters it matches in JavaScript, since Go's `\s` matches fewer. Look-around, back references and property
 * names that Go does not know are refused. The result is checked with the translation that the in-memory server uses
 * for a definition's patterns.
 */
import * as Result from "effect/Result"
import type * as SchemaAST from "effect/SchemaAST"
import * as GoRegExp from "../schema/GoRegExp.ts"

/** An expression and its flags. */
export interface Pattern {
  readonly source: string
  readonly flags: string
}

/** The patterns among the checks of a string. */
export const of = (checks: SchemaAST.Checks | undefined): ReadonlyArray<Pattern> =>
  (checks ?? []).flatMap((check): ReadonlyArray<Pattern> => {
    const representation = check.annotations?.["representation"] as { id?: string; payload?: unknown } | undefined
    if (representation?.id === "effect/schema/isPattern") return [representation.payload as Pattern]
    return check._tag === "FilterGroup" ? of(check.checks) : []
  })

/** JavaScript's white space, for use inside brackets. */
const space =
  "\\t\\n\\v\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"

export const toGo = (
  { flags, source }: Pattern
): { readonly pattern: string } | { readonly fault: string } => {
  const refused = (what: string) => ({
    fault: `the pattern /${source}/ has no structural form: ${what}: rewrite it, or use a CEL rule`
  })
  if (/\(\?<?[=!]/.test(source)) return refused("the server does not support look-around")
  if (/\\[1-9]|\\k</.test(source)) return refused("the server does not support back references")
  const modes = [..."ims"].filter((flag) => flags.includes(flag)).join("")
  const pattern = `${modes === "" ? "" : `(?${modes})`}${translate(source)}`
  const judged = GoRegExp.compile(pattern)
  return Result.isFailure(judged) ? refused(judged.failure) : { pattern }
}

const translate = (source: string): string => {
  let result = ""
  let inClass = false
  for (let i = 0; i < source.length; i++) {
    const char = source[i]!
    if (char !== "\\") {
      if (char === "[") inClass = true
      else if (char === "]") inClass = false
      result += char
      continue
    }
    const next = source[++i] ?? ""
    const long = /^u\{([0-9a-fA-F]+)\}/.exec(source.slice(i)) ?? /^u([0-9a-fA-F]{4})/.exec(source.slice(i))
    if (long !== null) {
      result += `\\x{${long[1]!.toLowerCase()}}`
      i += long[0].length - 1
    } else if (next === "s") result += inClass ? space : `[${space}]`
    else if (next === "S" && !inClass) result += `[^${space}]`
    else if (next === "/") result += "/"
    else result += `\\${next}`
  }
  return result
}
