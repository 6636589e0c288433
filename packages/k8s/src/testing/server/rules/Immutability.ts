/** `Immutability`: immutable fields, with the three messages of the server. */
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoInternal from "../go/GoInternal.ts"
import type { Printer } from "../go/GoStruct.ts"

/** A field that is immutable. The message also contains the `path`. */
export const immutable = (...paths: ReadonlyArray<string>): Strategy["validateUpdate"] => (next, previous) =>
  paths.flatMap((path) => {
    const value = at(next, ...path.split("."))
    return JsonValue.equals(value, at(previous, ...path.split(".")))
      ? []
      : [FieldError.invalid(path, value ?? null, "field is immutable")]
  })

/** `immutable` for a value with its own printer. */
export const immutablePrinted = (path: string, print: Printer): Strategy["validateUpdate"] => (next, previous) => {
  const value = at(next, ...path.split("."))
  return JsonValue.equals(value, at(previous, ...path.split(".")))
    ? []
    : [FieldError.invalidPrinted(path, print(value), "field is immutable")]
}

/** `immutable` for a value that is printed as its internal Go type. */
export const immutablePart = (path: string, type: string): Strategy["validateUpdate"] =>
  immutablePrinted(path, (value) => GoInternal.print(type, value))

/** `immutable` for a string; a missing one equals an empty one, and is printed as such. */
export const immutableText = (path: string): Strategy["validateUpdate"] => (next, previous) => {
  const [value, before] = [next, previous].map((object) => stringAt(object, ...path.split(".")))
  return value === before ? [] : [FieldError.invalid(path, value, "field is immutable")]
}

/** ConfigMaps and Secrets: once `immutable` is true, neither it nor the content can change. */
export const immutableContent: Strategy["validateUpdate"] = (next, previous) => {
  if (at(previous, "immutable") !== true) return []
  const why = "field is immutable when `immutable` is set"
  return [
    ...(at(next, "immutable") === true ? [] : [FieldError.forbidden("immutable", why)]),
    ...["data", "binaryData"].filter((key) => !JsonValue.equals(objectAt(next, key), objectAt(previous, key)))
      .map((key) => FieldError.forbidden(key, why))
  ]
}

/** A spec of which only some fields can change. */
export const specExcept =
  (why: string, mutable: (spec: JsonValue.JsonObject) => unknown): Strategy["validateUpdate"] => (next, previous) =>
    JsonValue.equals(mutable(objectAt(next, "spec")), mutable(objectAt(previous, "spec")))
      ? []
      : [FieldError.forbidden("spec", why)]

/** The object without the given keys. */
export const omit = (object: JsonValue.JsonObject, ...keys: ReadonlyArray<string>): JsonValue.JsonObject =>
  keys.reduce(JsonValue.remove, object)
