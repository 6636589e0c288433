/**
 * `RandomSchema`: structural schemas by chance, and what may be wrong with one.
 *
 * What `legal` makes, a kube-apiserver takes: every keyword that may stand in the schema of a custom resource is there,
 * in places where it may stand. `damaged` changes one place of a definition to something that is mostly refused.
 */
import type { Chance } from "../Chance.ts"
import { at, paths } from "../Path.ts"
import { edit } from "../Step.ts"
import { valid } from "./RandomValue.ts"

export type Schema = Readonly<Record<string, unknown>>

const names = ["a", "b", "c", "d-e", "kind"] as const

const formats = [
  "byte",
  "cidr",
  "custom",
  "date",
  "date-time",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "mac",
  "password",
  "uri",
  "uuid"
]

const patterns = ["^[a-z]+$", "^a", "b$", "\\d{2}", "^(a|b)?$"]

const bounds = (chance: Chance): Schema => ({
  ...chance.maybe(0.3, () => ({ minimum: chance.int(3), ...chance.maybe(0.3, () => ({ exclusiveMinimum: true })) })),
  ...chance.maybe(
    0.3,
    () => ({ maximum: 3 + chance.int(6), ...chance.maybe(0.3, () => ({ exclusiveMaximum: true })) })
  ),
  ...chance.maybe(0.15, () => ({ multipleOf: chance.pick([2, 3]) }))
})

const string = (chance: Chance): Schema => ({
  type: "string",
  ...chance.maybe(0.25, () => ({ enum: chance.pick([["a", "b"], ["abc"], ["x", "toolong"]]) })),
  ...chance.maybe(0.2, () => ({ minLength: chance.int(3) })),
  ...chance.maybe(0.2, () => ({ maxLength: 2 + chance.int(4) })),
  ...chance.maybe(0.2, () => ({ pattern: chance.pick(patterns) })),
  ...chance.maybe(0.3, () => ({ format: chance.pick(formats) }))
})

const integer = (chance: Chance): Schema => ({
  type: "integer",
  ...bounds(chance),
  ...chance.maybe(0.2, () => ({ format: chance.pick(["int32", "int64", "custom"]) })),
  ...chance.maybe(0.15, () => ({ enum: [1, 2, 4] }))
})

const number = (chance: Chance): Schema => ({
  type: "number",
  ...bounds(chance),
  ...chance.maybe(0.2, () => ({ format: chance.pick(["float", "double"]) }))
})

const scalar = (chance: Chance): Schema =>
  chance.weighted<() => Schema>([
    [3, () => string(chance)],
    [3, () => integer(chance)],
    [1, () => number(chance)],
    [1, () => ({ type: "boolean" })]
  ])()

const intOrString = (chance: Chance): Schema => ({
  "x-kubernetes-int-or-string": true,
  ...chance.maybe(0.4, () => ({ anyOf: [{ type: "integer" }, { type: "string" }] })),
  ...chance.maybe(0.3, () => ({ pattern: "^\\d+%?$" })),
  ...chance.maybe(0.2, () => ({ maximum: 5 }))
})

/** Items that are told apart by one key or two. */
const listMap = (chance: Chance, depth: number): Schema => {
  const second = chance.chance(0.4)
  return {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": second ? ["key", "zone"] : ["key"],
    items: {
      type: "object",
      required: ["key"],
      properties: {
        key: { type: chance.pick(["string", "integer"]) },
        ...(second ? { zone: { type: "string", default: "z" } } : {}),
        ...chance.maybe(0.6, () => ({ value: any(chance, depth - 1) }))
      }
    }
  }
}

const array = (chance: Chance, depth: number): Schema => ({
  ...chance.weighted<() => Schema>([
    [3, () => ({ type: "array", items: any(chance, depth - 1) })],
    [2, () => listMap(chance, depth)],
    [1, () => ({ type: "array", "x-kubernetes-list-type": "set", items: scalar(chance) })],
    [1, () => ({ type: "array", "x-kubernetes-list-type": "atomic", items: any(chance, depth - 1) })]
  ])(),
  ...chance.maybe(0.2, () => ({ minItems: 1 })),
  ...chance.maybe(0.2, () => ({ maxItems: 2 }))
})

/** What must hold of an object as a whole, in logic over its fields. */
const logic = (chance: Chance, properties: ReadonlyArray<string>): Schema => {
  const one = (): Schema => ({ required: [chance.pick(properties)] })
  return chance.weighted<() => Schema>([
    [3, () => ({ anyOf: [one(), one()] })],
    [3, () => ({ oneOf: [one(), one()] })],
    [1, () => ({ allOf: [{ minProperties: 1 }, { maxProperties: 3 }] })],
    [2, () => ({ not: one() })],
    [1, () => ({ anyOf: [{ not: one() }, { allOf: [one(), one()] }] })]
  ])()
}

const fields = (chance: Chance, depth: number): Schema => {
  const chosen = chance.some(names, 0.6)
  return {
    type: "object",
    properties: Object.fromEntries(chosen.map((name) => [name, any(chance, depth - 1)])),
    ...chance.maybe(0.3, () => ({ required: chance.some([...chosen, "gone"], 0.3) })),
    ...chance.maybe(chosen.length > 0 ? 0.15 : 0, () => logic(chance, chosen)),
    ...chance.maybe(0.1, () => ({ "x-kubernetes-preserve-unknown-fields": true })),
    ...chance.maybe(0.1, () => ({ maxProperties: 3 })),
    ...chance.maybe(0.1, () => ({ minProperties: 1 })),
    ...chance.maybe(0.1, () => ({ "x-kubernetes-map-type": chance.pick(["atomic", "granular"]) }))
  }
}

const object = (chance: Chance, depth: number): Schema =>
  chance.weighted<() => Schema>([
    [5, () => fields(chance, depth)],
    [1.5, () => ({ type: "object", additionalProperties: any(chance, depth - 1) })],
    [0.5, () => ({ type: "object", additionalProperties: true })],
    [1, () => ({ type: "object", "x-kubernetes-preserve-unknown-fields": true })],
    [1, () => ({
      type: "object",
      "x-kubernetes-embedded-resource": true,
      ...(chance.chance(0.5)
        ? { "x-kubernetes-preserve-unknown-fields": true }
        : { properties: { spec: { type: "object", properties: { a: { type: "string" } } } } })
    })]
  ])()

const any = (chance: Chance, depth: number): Schema => {
  const bare = chance.weighted<() => Schema>([
    [4, () => scalar(chance)],
    [0.6, () => intOrString(chance)],
    [0.4, () => ({ "x-kubernetes-preserve-unknown-fields": true })],
    [depth > 0 ? 2 : 0, () => array(chance, depth)],
    [depth > 0 ? 4 : 0, () => object(chance, depth)]
  ])()
  const schema = {
    ...bare,
    ...chance.maybe(0.12, () => ({ nullable: true })),
    ...chance.maybe(0.05, () => ({ description: "what it is", title: "T", example: { any: 1 } }))
  }
  const filled = chance.chance(0.2) ? valid(chance, schema) : undefined
  return filled === undefined ? schema : { ...schema, default: filled }
}

/** The schema of a kind with a spec and a status. */
export const legal = (chance: Chance): Schema => ({
  type: "object",
  properties: {
    ...chance.maybe(0.3, () => ({
      metadata: { type: "object", properties: { name: { type: "string", maxLength: 20, pattern: "^[a-z0-9-]*$" } } }
    })),
    spec: fields(chance, 3),
    ...chance.maybe(0.6, () => ({ status: fields(chance, 2) }))
  },
  ...chance.maybe(0.2, () => ({ required: ["spec"] }))
})

const wrong: ReadonlyArray<readonly [key: string, values: ReadonlyArray<unknown>]> = [
  ["type", ["integer", "string", "object", "array", "boolean", "null", "", "number", 5]],
  ["additionalProperties", [{ type: "string" }, true, false]],
  ["properties", [{ a: { type: "string" } }, { "": { type: "string" } }, {}]],
  ["items", [{ type: "string" }, {}, [{ type: "string" }]]],
  ["uniqueItems", [true, false]],
  ["default", [1, "x", null, {}, [], { unknown: 1 }, [1, 1]]],
  ["nullable", [true, false]],
  ["enum", [[], [1, 1], ["a", "a"], ["null"], [{ a: 1 }]]],
  ["pattern", ["(", "[a-", "^(?=a)", "a"]],
  ["format", ["int32", "nothing", "date"]],
  ["minimum", [5, 1.5, "1"]],
  ["exclusiveMinimum", [true, 3]],
  ["multipleOf", [0, -1, 0.1]],
  ["minLength", [-1, 3]],
  ["maxItems", [-1, 0]],
  ["required", [[], ["a", "a"], ["nope"], [""]]],
  ["anyOf", [
    [{ type: "string" }],
    [{ default: 1 }],
    [{ properties: { zz: { minimum: 1 } } }],
    [{ nullable: true }],
    []
  ]],
  ["oneOf", [[{ additionalProperties: {} }], [{ description: "x" }], [{ required: ["a"] }]]],
  ["allOf", [[{ "x-kubernetes-int-or-string": true }], [{ items: { type: "string" } }]]],
  ["not", [{ type: "object" }, { properties: { a: { type: "string" } } }, {}, { required: ["a"] }]],
  ["x-kubernetes-preserve-unknown-fields", [true, false]],
  ["x-kubernetes-int-or-string", [false]],
  ["x-kubernetes-embedded-resource", [true, false]],
  ["x-kubernetes-list-type", ["map", "set", "atomic", "other"]],
  ["x-kubernetes-list-map-keys", [["key"], ["nope"], ["key", "key"]]],
  ["x-kubernetes-map-type", ["atomic", "granular", "other"]],
  ["$ref", ["#/definitions/a"]],
  ["definitions", [{ a: { type: "string" } }]],
  ["dependencies", [{ a: ["b"] }]],
  ["patternProperties", [{ "^a": { type: "string" } }]],
  ["id", ["x"]]
]

/** The places of a definition that hold a schema, or may. */
const places = (schema: Schema): ReadonlyArray<ReadonlyArray<string>> => [
  [],
  ...paths(schema).filter((path) =>
    ["properties", "additionalProperties", "items"].includes(path.at(-2) ?? "") ||
    ["additionalProperties", "items"].includes(path.at(-1)!)
  )
]

/** One place changed, or a keyword of it taken away. */
export const damaged = (chance: Chance, schema: Schema): Schema => {
  const place = chance.pick(places(schema))
  const [key, values] = chance.pick(wrong)
  const path = [...place, key]
  // What has a type besides is validated by it in 1.20 only, which takes any default where there is none.
  const isOdd = path.some((part, index) =>
    (part === "type" || part === "default") &&
    at(schema, [...path.slice(0, index), "x-kubernetes-int-or-string"]) === true
  )
  if (isOdd) return schema
  // What is said of a default that is no metadata quotes a decoder.
  if (key === "default" && place[1] === "metadata") return schema
  const removal = chance.chance(0.2)
  const value = chance.pick(values)
  // An empty list counts as one there, of which nothing is left to read.
  if (place[1] === "metadata" && Array.isArray(value) && value.length === 0) return schema
  return edit(schema, [{ path, ...(removal ? {} : { value }) }]) as Schema
}
