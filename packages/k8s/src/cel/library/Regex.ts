/**
 * `Regex`: `find` and `findAll`, with Go's regular expressions.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/regex.go.
 */
import * as Result from "effect/Result"
import * as GoRegExp from "../../schema/GoRegExp.ts"
import { define, type FunctionDeclaration, overload } from "../Functions.ts"
import { fault, list, type Value } from "../Values.ts"

const illegal = (why: string): Value => fault(`Illegal regex: ${why}`)

const find = (text: string, pattern: string): Value => {
  const compiled = GoRegExp.compile(pattern)
  return Result.isSuccess(compiled) ? compiled.success.exec(text)?.[0] ?? "" : illegal(compiled.failure)
}

/** Go skips an empty match directly after another match. */
const findAll = (text: string, pattern: string, limit = -1n): Value => {
  const compiled = GoRegExp.compile(pattern)
  if (Result.isFailure(compiled)) return illegal(compiled.failure)
  const { flags, source } = compiled.success
  const found: Array<string> = []
  let end = -1
  for (const match of text.matchAll(new RegExp(source, `${flags}g`))) {
    if (limit >= 0n && found.length >= limit) break
    if (match[0] === "" && match.index === end) continue
    found.push(match[0])
    end = match.index + match[0].length
  }
  return list(found)
}

export const regex: ReadonlyArray<FunctionDeclaration> = [
  define("find", overload("string_find_string", "string.(string) string", find)),
  define(
    "findAll",
    overload("string_find_all_string", "string.(string) list<string>", findAll),
    overload("string_find_all_string_int", "string.(string, int) list<string>", findAll)
  )
]
