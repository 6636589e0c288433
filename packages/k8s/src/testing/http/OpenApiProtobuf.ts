/**
 * The OpenAPI version 2 document in the protobuf form of gnostic, which kubectl up to 1.26 insists on.
 *
 * A table of messages says which JSON key goes into which numbered field; what is not in the table is left out, except
 * vendor extensions (`x-…`), which are carried as YAML text.
 *
 * Source: github.com/google/gnostic openapiv2/OpenAPIv2.proto; compared with the document of a kube-apiserver 1.20.2.
 */
import * as Yaml from "yaml"
import { isObject, type JsonObject } from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"

/** The media type a client asks for; real servers know both spellings. */
export const mediaTypes: ReadonlySet<string> = new Set([
  "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
  "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
])

/** How a value is written. */
type Form =
  /** A string, boolean, 64-bit integer or double. */
  | "string"
  | "bool"
  | "int"
  | "double"
  /** Any JSON value, as YAML in a message of its own. */
  | "any"
  /** A message. */
  | (() => Message)
  /** Several values of one form. */
  | { readonly each: Form }
  /** A JSON object as a list of messages with name (1) and value (2), perhaps in a message around it. */
  | { readonly named: Form; readonly wrapped?: number }
  /** A value in a field of a message around it. */
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
    // A parameter, which is not a body, which is in the query.
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

/**
 * Of the requests only what kubectl asks for: what a PATCH is about, in which forms it may come, and what may be said in
 * its query.
 */
const patches = (paths: unknown): JsonObject =>
  Object.fromEntries(
    Object.entries(objectAt({ paths }, "paths")).flatMap(([path, item]) => {
      const patch = at(item, "patch")
      const parameters = arrayAt(patch, "parameters").filter((entry) => stringAt(entry, "in") === "query")
      return patch === undefined ? [] : [[path, { patch: { ...objectAt(item, "patch"), parameters } }]]
    })
  )

/** The document as bytes. */
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
    // `additionalProperties: true` is the second field of the message around a schema.
    const content = value === true ? [Buffer.concat([varint(2 * 8), varint(1)])] : write(form.wrapped, form.in, value)
    return [delimited(number, Buffer.concat(content))]
  }
  if (!isObject(value)) return []
  const entries = Object.entries(value).map(([name, item]) =>
    delimited(form.wrapped ?? number, Buffer.concat([stringField(1, name), ...write(2, form.named, item)]))
  )
  return form.wrapped === undefined ? entries : [delimited(number, Buffer.concat(entries))]
}
