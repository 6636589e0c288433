/** `SchemaChanges`: the changes between two structural schemas of one version, field by field. */
import type { JSONSchemaProps } from "../kinds/apiextensions.v1.ts"
import { both, type Broken, type Change, change, clients, nobody, same, shown, stored } from "./Change.ts"

type Note = (rule: Change["rule"], breaks: ReadonlyArray<Broken>, message: string) => void

/** Differences below `path`, which starts with the version. */
export const changes = (before: JSONSchemaProps, after: JSONSchemaProps, path: string): ReadonlyArray<Change> => {
  const own: Array<Change> = []
  const note: Note = (rule, breaks, message) => void own.push(change(rule, path, breaks, message))
  if (typeOf(before) !== typeOf(after)) {
    note("type-changed", widened(before, after) ? clients : both, `${typeOf(before)} to ${typeOf(after)}`)
    return own
  }
  nulls(before, after, note)
  enums(before, after, note)
  limits(before, after, note)
  texts(before, after, note)
  alternatives(before, after, note)
  defaults(before, after, note)
  merging(before, after, note)
  rules(before, after, note)
  return [...own, ...fields(before, after, path), ...parts(before, after, path)]
}

const typeOf = (schema: JSONSchemaProps): string =>
  schema["x-kubernetes-int-or-string"] === true ? "integer or string" : schema.type ?? "anything"

/** Every value that was accepted still is, but readers may encounter another type. */
const widened = (before: JSONSchemaProps, after: JSONSchemaProps): boolean => {
  const [old, now] = [typeOf(before), typeOf(after)]
  if (now === "anything") return after.enum === undefined && after.anyOf === undefined
  return (old === "integer" && now === "number") ||
    (now === "integer or string" && after.enum === undefined && (old === "integer" || old === "string"))
}

const nulls = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  if (before.nullable === true && after.nullable !== true) note("null-refused", both, "null is refused")
  if (before.nullable !== true && after.nullable === true) note("null-allowed", clients, "readers may get null")
}

const enums = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  if (before.enum === undefined && after.enum === undefined) return
  if (before.enum === undefined) return note("enum-added", both, `only ${shown(after.enum)}`)
  if (after.enum === undefined) return note("enum-removed", nobody, `not only ${shown(before.enum)}`)
  const has = (values: ReadonlyArray<unknown>, value: unknown) => values.some((other) => same(value, other))
  for (const value of before.enum) if (!has(after.enum, value)) note("enum-value-removed", both, shown(value))
  for (const value of after.enum) if (!has(before.enum, value)) note("enum-value-added", nobody, shown(value))
}

const lower = ["minimum", "minLength", "minItems", "minProperties"] as const
const upper = ["maximum", "maxLength", "maxItems", "maxProperties"] as const

const limits = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  const told = (key: string, old: unknown, now: unknown, tighter: boolean) =>
    note(
      tighter ? "limit-tightened" : "limit-loosened",
      tighter ? both : nobody,
      `${key}: ${shown(old)} to ${shown(now)}`
    )
  for (const key of lower) {
    const [old = -Infinity, now = -Infinity] = [before[key], after[key]]
    if (old !== now) told(key, before[key], after[key], now > old)
  }
  for (const key of upper) {
    const [old = Infinity, now = Infinity] = [before[key], after[key]]
    if (old !== now) told(key, before[key], after[key], now < old)
  }
  for (const key of ["exclusiveMinimum", "exclusiveMaximum"] as const) {
    const [old = false, now = false] = [before[key], after[key]]
    if (old !== now) told(key, old, now, now)
  }
  const [old, now] = [before.multipleOf, after.multipleOf]
  if (old !== now) told("multipleOf", old, now, now !== undefined && !(old !== undefined && old % now === 0))
}

const texts = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  const compare = (
    key: "pattern" | "format",
    changed: "pattern-changed" | "format-changed",
    removed: "pattern-removed" | "format-removed"
  ) => {
    if (before[key] === after[key]) return
    if (after[key] === undefined) note(removed, nobody, shown(before[key]))
    else note(changed, both, `${shown(before[key])} to ${shown(after[key])}`)
  }
  compare("pattern", "pattern-changed", "pattern-removed")
  compare("format", "format-changed", "format-removed")
}

const alternatives = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  for (const key of ["allOf", "anyOf", "oneOf", "not"] as const) {
    if (same(before[key], after[key])) continue
    if (after[key] === undefined) note("alternatives-removed", nobody, `${key} is removed`)
    else note("alternatives-changed", both, `${key} changes`)
  }
}

const defaults = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  if (same(before.default, after.default)) return
  if (before.default === undefined) note("default-added", nobody, shown(after.default))
  else if (after.default === undefined) note("default-removed", clients, shown(before.default))
  else note("default-changed", clients, `${shown(before.default)} to ${shown(after.default)}`)
}

const preserve = "x-kubernetes-preserve-unknown-fields"

const merging = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  if (before[preserve] === true && after[preserve] !== true) {
    note("unknown-fields-pruned", stored, "unknown fields are dropped")
  }
  if (before[preserve] !== true && after[preserve] === true) {
    note("unknown-fields-kept", nobody, "unknown fields are kept")
  }
  const list = "x-kubernetes-list-type"
  const [old, now] = [before[list] ?? "atomic", after[list] ?? "atomic"]
  const keys = [before, after].map((schema) => schema["x-kubernetes-list-map-keys"])
  if (old !== now || (now === "map" && !same(keys[0], keys[1]))) {
    note("merge-changed", now === "atomic" ? clients : both, `a list that is ${old} becomes ${now}`)
  }
  const map = "x-kubernetes-map-type"
  const maps = [before, after].map((schema) => schema[map] ?? "granular")
  if (maps[0] !== maps[1]) note("merge-changed", clients, `a map that is ${maps[0]} becomes ${maps[1]}`)
}

type ValidationRule = NonNullable<JSONSchemaProps["x-kubernetes-validations"]>[number]

const rules = (before: JSONSchemaProps, after: JSONSchemaProps, note: Note): void => {
  const key = "x-kubernetes-validations"
  const [old, now] = [before[key] ?? [], after[key] ?? []]
  const has = (rules: ReadonlyArray<ValidationRule>, { rule }: ValidationRule) =>
    rules.some((other) => other.rule === rule)
  for (const rule of now) {
    // A transition rule is evaluated only on writes, so it does not affect stored objects.
    if (!has(old, rule)) note("rule-added", rule.rule.includes("oldSelf") ? clients : both, rule.rule)
  }
  for (const rule of old) if (!has(now, rule)) note("rule-removed", nobody, rule.rule)
}

const fields = (before: JSONSchemaProps, after: JSONSchemaProps, path: string): ReadonlyArray<Change> => {
  const result: Array<Change> = []
  const [old, now] = [before.properties ?? {}, after.properties ?? {}]
  const required = (schema: JSONSchemaProps, name: string) => schema.required?.includes(name) === true
  const kept = after[preserve] === true
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const at = `${path}${/ /.test(path) ? "." : " "}${name}`
    const [a, b] = [own(old, name), own(now, name)]
    if (b === undefined) {
      result.push(
        change("field-removed", at, kept ? nobody : both, kept ? "is kept as an unknown field" : "is dropped")
      )
      continue
    }
    const filled = b.default !== undefined
    if (a === undefined) {
      result.push(change("field-added", at, nobody, required(after, name) ? "is new, and required" : "is new"))
    }
    if (!required(before, name) && required(after, name)) {
      result.push(change("field-required", at, filled ? nobody : both, filled ? "has a default" : "must be set"))
    }
    if (a !== undefined && required(before, name) && !required(after, name)) {
      result.push(change("field-optional", at, filled ? nobody : clients, "readers may find it unset"))
    }
    if (a !== undefined) result.push(...changes(a, b, at))
  }
  return result
}

const own = (properties: Readonly<Record<string, JSONSchemaProps>>, name: string): JSONSchemaProps | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined

const isSchema = (value: unknown): value is JSONSchemaProps =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parts = (before: JSONSchemaProps, after: JSONSchemaProps, path: string): ReadonlyArray<Change> => {
  const inner = (a: unknown, b: unknown, at: string): ReadonlyArray<Change> => {
    if (isSchema(a) && isSchema(b)) return changes(a, b, at)
    return same(a, b) ? [] : [change("values-changed", at, both, `${shown(a)} to ${shown(b)}`)]
  }
  return [
    ...inner(before.items, after.items, `${path}[]`),
    ...inner(before.additionalProperties, after.additionalProperties, `${path}.*`)
  ]
}
