/**
 * The OpenAPI version 2 document in gnostic's protobuf form, which kubectl up to 1.26 requires.
 *
 * A table of messages maps JSON keys to field numbers. Keys that are not in the table are left out, except for vendor
 * extensions (`x-…`), which are encoded as YAML text.
 *
 * Source: github.com/google/gnostic openapiv2/OpenAPIv2.proto; compared with the document of a kube-apiserver 1.20.2.
 */
import * as Yaml from "yaml"
import { isObject, type JsonObject } from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"

/** The media types that clients request; real servers know both spellings. */
export const mediaTypes: ReadonlySet<string> = new Set([
  "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
  "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
])

/** How a value is encoded. */
type Form =
  /** A string, boolean, 64-bit integer or double. */
  | "string"
  | "bool"
  | "int"
  | "double"
  /** Any JSON value, as YAML in a separate message. */
  | "any"
  /** A message. */
  | (() => Message)
  /** A repeated field. */
  | { readonly each: Form }
  /** A JSON object as a list of messages with name (1) and value (2), optionally wrapped in a message. */
  | { readonly named: Form; readonly wrapped?: number }
  /** A value wrapped in a field of another message. */
  | { readonly wrapped: number; readonly in: Form }

interface Message {
  readonly fields: Readonly<Record<string, readonly [number: number, form: Form]>>
  /** The field of the vendor extensions. */
  readonly extensions?: number
}

const schema: Message = {
  fields: {
    $ref: [1, "string"],
    format: [2, "string"],
    title: [3, "string"],
    description: [4, "string"],
    default: [5, "any"],
    maximum: [7, "double"],
    exclusiveMaximum: [8, "bool"],
    minimum: [9, "double"],
    exclusiveMinimum: [10, "bool"],
    maxLength: [11, "int"],
    minLength: [12, "int"],
    pattern: [13, "string"],
    maxItems: [14, "int"],
    minItems: [15, "int"],
    uniqueItems: [16, "bool"],
    maxProperties: [17, "int"],
    minProperties: [18, "int"],
    required: [19, { each: "string" }],
    enum: [20, { each: "any" }],
    additionalProperties: [21, { wrapped: 1, in: () => schema }],
    type: [22, { wrapped: 1, in: "string" }],
    items: [23, { wrapped: 1, in: () => schema }],
    properties: [25, { named: () => schema, wrapped: 1 }]
  },
  extensions: 31
}

const parameter: Message = {
  fields: {
    in: [2, "string"],
    description: [3, "string"],
    name: [4, "string"],
    type: [6, "string"],
    uniqueItems: [18, "bool"]
  }
}

const operation: Message = {
  fields: {
    tags: [1, { each: "string" }],
    description: [3, "string"],
    operationId: [5, "string"],
    produces: [6, { each: "string" }],
    consumes: [7, { each: "string" }],
    schemes: [10, { each: "string" }],
    // A parameter that is not a body, but in the query.
    parameters: [8, { each: { wrapped: 1, in: { wrapped: 2, in: { wrapped: 3, in: () => parameter } } } }]
  },
  extensions: 13
}

const pathItem: Message = { fields: { patch: [8, () => operation] } }

const document: Message = {
  fields: {
    swagger: [1, "string"],
    info: [2, () => ({ fields: { title: [1, "string"], version: [2, "string"] } })],
    paths: [8, { named: () => pathItem, wrapped: 2 }],
    definitions: [9, { named: () => schema, wrapped: 1 }]
  }
}

/** Of the operations, only what kubectl needs: the kind, content types and query parameters of each PATCH. */
const patches = (paths: unknown): JsonObject =>
  Object.fromEntries(
    Object.entries(objectAt({ paths }, "paths")).flatMap(([path, item]) => {
      const patch = at(item, "patch")
      const parameters = arrayAt(patch, "parameters").filter((entry) => stringAt(entry, "in") === "query")
      return patch === undefined ? [] : [[path, { patch: { ...objectAt(item, "patch"), parameters } }]]
    })
  )

/** Encodes the document. */
export const encode = (json: JsonObject): Uint8Array => message(document, { ...json, paths: patches(json["paths"]) })

const varint = (value: number): Buffer => {
  const bytes: Array<number> = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}

const delimited = (number: number, content: Uint8Array): Buffer =>
  Buffer.concat([varint(number * 8 + 2), varint(content.length), content])

const stringField = (number: number, text: string): Buffer => delimited(number, Buffer.from(text, "utf8"))

const yamlValue = (value: unknown): Buffer => stringField(2, Yaml.stringify(value))

const message = (type: Message, json: unknown): Buffer => {
  if (!isObject(json)) return Buffer.alloc(0)
  const parts: Array<Buffer> = []
  for (const [key, value] of Object.entries(json)) {
    const field = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined
    if (field !== undefined) parts.push(...write(field[0], field[1], value))
    else if (type.extensions !== undefined && key.startsWith("x-")) {
      parts.push(delimited(type.extensions, Buffer.concat([stringField(1, key), delimited(2, yamlValue(value))])))
    }
  }
  return Buffer.concat(parts)
}

const double = (number: number, value: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return Buffer.concat([varint(number * 8 + 1), bytes])
}

const write = (number: number, form: Form, value: unknown): ReadonlyArray<Buffer> => {
  if (form === "string") return typeof value === "string" ? [stringField(number, value)] : []
  if (form === "bool") return value === true ? [Buffer.concat([varint(number * 8), varint(1)])] : []
  if (form === "int") {
    return typeof value === "number" ? [Buffer.concat([varint(number * 8), varint(Math.trunc(value))])] : []
  }
  if (form === "double") return typeof value === "number" ? [double(number, value)] : []
  if (form === "any") return [delimited(number, yamlValue(value))]
  if (typeof form === "function") return [delimited(number, message(form(), value))]
  if ("each" in form) return Array.isArray(value) ? value.flatMap((item) => write(number, form.each, item)) : []
  if ("in" in form) {
    // `additionalProperties: true` is the second field of the message that wraps a schema.
    const content = value === true ? [Buffer.concat([varint(2 * 8), varint(1)])] : write(form.wrapped, form.in, value)
    return [delimited(number, Buffer.concat(content))]
  }
  if (!isObject(value)) return []
  const entries = Object.entries(value).map(([name, item]) =>
    delimited(form.wrapped ?? number, Buffer.concat([stringField(1, name), ...write(2, form.named, item)]))
  )
  return form.wrapped === undefined ? entries : [delimited(number, Buffer.concat(entries))]
}
