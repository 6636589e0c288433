/**
 * `RandomValue`: values by chance that a schema is content with, or nearly.
 *
 * No empty texts among them: 1.20 takes them for null now and then, by where they lie in its memory.
 */
import { isObject } from "../Rewrite.ts"
import type { Chance } from "../Chance.ts"
import type { Schema } from "./RandomSchema.ts"

const samples: Readonly<Record<string, ReadonlyArray<string>>> = {
  byte: ["AAEC", "YQ=="],
  cidr: ["10.0.0.0/8", "fd00::/8"],
  date: ["2020-02-29", "1999-12-31"],
  "date-time": ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+02:00"],
  duration: ["1h", "5m3s", "1 day"],
  email: ["a@b.c", "x.y@example.com"],
  hostname: ["a.example.com", "localhost"],
  ipv4: ["10.1.2.3", "255.255.255.255"],
  ipv6: ["::1", "fd00::1"],
  mac: ["01:23:45:67:89:ab", "01-23-45-67-89-ab"],
  uri: ["http://a/b", "x:y"],
  uuid: ["123e4567-e89b-12d3-a456-426614174000"]
}

const texts = ["a", "b", "abc", "ab12", "12", "A", "é", "a b", "toolong", "50%"]

const text = (chance: Chance, schema: Schema): string =>
  chance.pick(
    Array.isArray(schema["enum"]) ? schema["enum"] as Array<string> : samples[String(schema["format"])] ?? texts
  )

const whole = (chance: Chance, schema: Schema): number =>
  chance.pick(Array.isArray(schema["enum"]) ? schema["enum"] as Array<number> : [0, 1, 2, 3, 4, 5, 6, 7, 12, -1])

/** Any value, without empty texts. */
const anything = (chance: Chance, depth: number): unknown => filled(chance.value(depth, false))

const filled = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(filled)
    : isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item)]))
    : value === ""
    ? "full"
    : value

type Draw = (chance: Chance, schema: Schema) => unknown

const objectOf = (chance: Chance, schema: Schema, draw: Draw): unknown => {
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Schema>>
  const required = (schema["required"] ?? []) as ReadonlyArray<string>
  const of = Object.entries(properties).filter(([name]) => required.includes(name) || chance.chance(0.6))
  const others = schema["additionalProperties"]
  return {
    ...(schema["x-kubernetes-embedded-resource"] === true
      ? { apiVersion: "v1", kind: "Pod", metadata: { name: "x" } }
      : {}),
    ...(schema["x-kubernetes-preserve-unknown-fields"] === true ? filled(chance.object(2, false)) as object : {}),
    ...(typeof others === "object" && others !== null
      ? Object.fromEntries(chance.some(["k", "l"], 0.6).map((name) => [name, draw(chance, others as Schema)]))
      : {}),
    ...Object.fromEntries(of.map(([name, inner]) => [name, draw(chance, inner)]))
  }
}

const ofType = (chance: Chance, schema: Schema, draw: Draw): unknown => {
  if (schema["x-kubernetes-int-or-string"] === true) return chance.pick<unknown>([1, 5, "10%", "7"])
  switch (schema["type"]) {
    case "string":
      return text(chance, schema)
    case "integer":
      return whole(chance, schema)
    case "number":
      return chance.pick([whole(chance, schema), 1.5, 2.25])
    case "boolean":
      return chance.chance(0.5)
    case "array":
      return Array.from({ length: 1 + chance.int(2) }, () => draw(chance, schema["items"] as Schema))
    case "object":
      return objectOf(chance, schema, draw)
    default:
      return anything(chance, 2)
  }
}

/** Whether a text or a number has the format and keeps the bounds that a schema sets, as far as can be told. */
const keeps = (schema: Schema, value: unknown): boolean => {
  const limit = (key: string): number => Number(schema[key])
  if (typeof value === "string") {
    const length = [...value].length
    const format = samples[String(schema["format"])]
    return (format === undefined || format.includes(value)) && !(length < limit("minLength")) &&
      !(length > limit("maxLength")) &&
      (schema["pattern"] === undefined || new RegExp(String(schema["pattern"])).test(value))
  }
  if (typeof value !== "number") return true
  return !(value < limit("minimum")) && !(value > limit("maximum")) &&
    (schema["multipleOf"] === undefined || value % limit("multipleOf") === 0) &&
    !(schema["exclusiveMinimum"] === true && value === limit("minimum")) &&
    !(schema["exclusiveMaximum"] === true && value === limit("maximum"))
}

const simple: ReadonlySet<unknown> = new Set(["string", "integer", "number", "boolean"])

/** A value for a default; undefined where none was found that is surely good. */
export const valid = (chance: Chance, schema: Schema): unknown => {
  if (schema["x-kubernetes-int-or-string"] === true) return schema["maximum"] === undefined ? "7" : undefined
  if (schema["type"] === "object") {
    const bare = !["required", "anyOf", "oneOf", "allOf", "not", "minProperties", "x-kubernetes-embedded-resource"]
      .some((key) => key in schema)
    return bare ? {} : undefined
  }
  if (schema["type"] === "array") return schema["minItems"] === undefined ? [] : undefined
  if (!simple.has(schema["type"])) return undefined
  for (let attempt = 0; attempt < 8; attempt++) {
    const value = ofType(chance, schema, valid)
    if (keeps(schema, value)) return value
  }
  return undefined
}

const strange: ReadonlyArray<unknown> = [
  null,
  null,
  0,
  1,
  1.5,
  -1,
  3e9,
  true,
  [],
  {},
  { a: 1 },
  ["a", "a"],
  [{}],
  "x y"
]

/** A value as the schema asks for it, with something wrong or unusual in it now and then. */
export const near = (chance: Chance, schema: Schema): unknown => {
  if (chance.chance(0.06)) return chance.pick(strange)
  if (schema["nullable"] === true && chance.chance(0.3)) return null
  let value = ofType(chance, schema, near)
  for (let attempt = 0; attempt < 3 && !keeps(schema, value); attempt++) value = ofType(chance, schema, near)
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return { ...value, ...chance.maybe(0.1, () => ({ unknown: anything(chance, 1) })) }
}
