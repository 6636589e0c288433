/**
 * `Problems`: why a value does not match its type, in the words of the server.
 *
 * For a server-side apply each is a 500 without a reason, because the library behind it has errors without codes.
 *
 * Source: sigs.k8s.io/structured-merge-diff/typed/helpers.go.
 */
import * as FieldError from "../../schema/FieldError.ts"
import * as GoValue from "../../schema/GoValue.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"
import type { Scalar } from "./Types.ts"

/** The problems found so far. */
export type Problems = Array<string>

/** Adds a problem at a path. */
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

/** A value in a struct, as Go prints it. */
export const held = (value: unknown): string => `&{${GoValue.print(value)}}`

/** The problem of a scalar, if any. Null matches every scalar. */
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
