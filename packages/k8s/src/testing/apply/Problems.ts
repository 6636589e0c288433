/**
 * `Problems`: why a value does not fit its type, in the words of the server.
 *
 * A server-side apply that meets one is a 500 without a reason: the library behind it has errors, but no codes.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/helpers.go.
 */
import * as FieldError from "../../schema/FieldError.ts"
import * as GoValue from "../../schema/GoValue.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"
import type { Scalar } from "./Types.ts"

/** Problems found on a walk. */
export type Problems = Array<string>

/** Notes a problem at a path. */
export const add = (problems: Problems, path: PathElement.Path, message: string): void => {
  const where = PathElement.printPath(path)
  problems.push(where === "" ? message : `${where}: ${message}`)
}

/** All of them as one message. */
export const message = (problems: ReadonlyArray<string>): string =>
  problems.length === 1 ? problems[0]! : ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n")

const typeName = (value: unknown): string =>
  value === null || value === undefined
    ? "<nil>"
    : Array.isArray(value)
    ? "[]interface {}"
    : typeof value === "object"
    ? "map[string]interface {}"
    : typeof value === "number"
    ? "float64"
    : typeof value === "boolean"
    ? "bool"
    : "string"

/** A value in Go's `%#v`. */
const syntax = (value: unknown): string => {
  if (value === null || value === undefined) return "interface {}(nil)"
  if (Array.isArray(value)) return `[]interface {}{${value.map(syntax).join(", ")}}`
  if (JsonValue.isObject(value)) {
    const entries = Object.keys(value).sort().map((key) => `${FieldError.quote(key)}:${syntax(value[key])}`)
    return `map[string]interface {}{${entries.join(", ")}}`
  }
  return typeof value === "string" ? FieldError.quote(value) : String(value)
}

/** A value as Go prints what holds it. */
export const held = (value: unknown): string => `&{${GoValue.print(value)}}`

/** What is wrong with a scalar; undefined for nothing. Null fits every scalar. */
export const ofScalar = (scalar: Scalar, value: unknown): string | undefined => {
  if (value === undefined || value === null) return undefined
  switch (scalar) {
    case "numeric":
      return typeof value === "number" ? undefined : `expected numeric (int or float), got ${typeName(value)}`
    case "string":
      return typeof value === "string"
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${syntax(value)}}`
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got ${held(value)}`
    case "untyped":
      return typeof value === "object" ? `expected any scalar, got ${held(value)}` : undefined
  }
}
