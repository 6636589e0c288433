/**
 * `FieldPaths`: the `fieldPath` of a rule, such as `.spec['a.b'].c`, against the schema it goes through.
 *
 * Source: `ValidFieldPath` in k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
 */
import * as Schema from "../schema/Schema.ts"

/** Delimiters, quoted names and everything between. */
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

const unquoted = (token: string | undefined): string | undefined => {
  if (token === undefined || !/^'.*'$/s.test(token) || token.length < 2) return undefined
  let wrong = false
  const name = token.slice(1, -1).replace(/\\([\s\S])/g, (_, char: string) => {
    if (escapes[char] === undefined) wrong = true
    return escapes[char] ?? ""
  })
  return wrong ? undefined : name
}

/** The path as errors print it; undefined if it leads nowhere. */
export const normalize = (path: string, root: Schema.Schema): string | undefined => {
  const parts = tokens(path)
  let schema: Schema.Schema | undefined = root
  let made = ""
  for (let at = 0; at < parts.length;) {
    const bracket = parts[at] === "["
    if (!bracket && parts[at] !== ".") return undefined
    const name = bracket ? unquoted(parts[at + 1]) : parts[at + 1]
    if (name === undefined || bracket && parts[at + 2] !== "]") return undefined
    at += bracket ? 3 : 2
    const isObject: boolean = schema.properties !== undefined
    const next: Schema.Schema | undefined = isObject ? Schema.property(schema, name) : Schema.mapValue(schema)
    if (next === undefined) return undefined
    made = isObject ? Schema.childPath(made, name) : Schema.keyPath(made, name)
    schema = next
  }
  return made
}
