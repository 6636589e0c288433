/**
 * `FieldPaths`: resolves the `fieldPath` of a rule, such as `.spec['a.b'].c`, or the path of a selectable field, in a
 * schema.
 *
 * Source: `ValidFieldPath` in k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
 */
import * as Schema from "../schema/Schema.ts"

/** Splits a path into delimiters, quoted names and everything between. */
const tokens = (path: string): ReadonlyArray<string> => path.match(/'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]]+/gs) ?? []

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\"
}

const unquoted = (token: string): string | undefined => {
  let wrong = false
  const name = token.slice(1, -1).replace(/\\([\s\S])/g, (_, char: string) => {
    if (escapes[char] === undefined) wrong = true
    return escapes[char] ?? ""
  })
  return wrong ? undefined : name
}

/** The path as errors print it, with the schema at its end; or why it is invalid. */
export type Found = { readonly path: string; readonly schema: Schema.Schema } | { readonly wrong: string }

const nowhere = { wrong: "does not refer to a valid field" }
const ended = { wrong: "unexpected end of JSON path" }

/** Resolves a path. `brackets`: whether quoted names in brackets are allowed. */
export const find = (path: string, root: Schema.Schema, brackets = true): Found => {
  const parts = tokens(path)
  let schema: Schema.Schema = root
  let made = ""
  for (let at = 0; at < parts.length;) {
    const bracket = parts[at] === "["
    if (!bracket && parts[at] !== ".") return { wrong: `expected [ or . but got: ${parts[at]}` }
    if (bracket && !brackets) return { wrong: "array notation is not allowed" }
    const token = parts[at + 1]
    if (token === undefined) return ended
    if (bracket && !/^'.*'$/s.test(token)) return { wrong: `expected single quoted string but got ${token}` }
    const name = bracket ? unquoted(token) : token
    if (name === undefined) return { wrong: "invalid string literal: invalid syntax" }
    const isObject: boolean = schema.properties !== undefined
    const next: Schema.Schema | undefined = isObject ? Schema.property(schema, name) : Schema.mapValue(schema)
    if (next === undefined) return nowhere
    if (bracket && parts[at + 2] === undefined) return ended
    if (bracket && parts[at + 2] !== "]") return { wrong: `expected ] but got ${parts[at + 2]}` }
    at += bracket ? 3 : 2
    made = isObject ? Schema.childPath(made, name) : Schema.keyPath(made, name)
    schema = next
  }
  return { path: made, schema }
}

/** The path as errors print it; undefined if it is invalid. */
export const normalize = (path: string, root: Schema.Schema): string | undefined => {
  const found = find(path, root)
  return "wrong" in found ? undefined : found.path
}
