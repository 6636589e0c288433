/**
 * `Protobuf`: request bodies in Kubernetes' protobuf, which kubectl (since 1.32) and many Go clients send for built-in
 * kinds.
 *
 * A body becomes the JSON that the same client would have sent: names and types come from the OpenAPI document, field
 * numbers from a generated table, and zero values are left out where Go leaves them out of JSON. Unknown fields are
 * skipped. Responses are never protobuf: every client that sends it also accepts JSON.
 *
 * Source: k8s.io/apimachinery pkg/runtime/serializer/protobuf (the envelope), protobuf.dev/programming-guides/encoding.
 */
import * as Result from "effect/Result"
import { definitions, type Schema } from "../kinds/Schema.ts"
import { table } from "../kinds/protobuf.ts"

export const mediaType = "application/vnd.kubernetes.protobuf"

/** A field on the wire: a number, or bytes. */
type Wire = bigint | Uint8Array

interface Field {
  readonly name: string
  /** Whether JSON contains the field even if it is zero. */
  readonly keepsZero: boolean
}

interface Message {
  readonly fields: ReadonlyMap<number, Field>
  /** Messages whose fields are part of this message's JSON. */
  readonly inlined: ReadonlyMap<number, string>
}

const parseMessage = (line: string): readonly [string, Message] => {
  const [name = "", ...tokens] = line.split(" ")
  const fields = new Map<number, Field>()
  const inlined = new Map<number, string>()
  for (const token of tokens) {
    const [, number, mark, rest = ""] = /^(\d+)([:!>])(.+)$/.exec(token)!
    if (mark === ">") inlined.set(Number(number), rest)
    else fields.set(Number(number), { name: rest, keepsZero: mark === "!" })
  }
  return [name, { fields, inlined }]
}

let parsed: ReadonlyMap<string, Message> | undefined

/** Parsed with the first body: most servers never see one. */
const messages = (): ReadonlyMap<string, Message> => parsed ??= new Map(table.trim().split("\n").map(parseMessage))

/** The fields of a message, in order. */
function* read(bytes: Uint8Array): Generator<readonly [number: number, value: Wire]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n;; shift += 7n) {
      const byte = view.getUint8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const number = tag >>> 3
    switch (tag & 7) {
      case 0:
        yield [number, varint()]
        break
      case 1:
        yield [number, view.getBigUint64(at, true)]
        at += 8
        break
      case 2: {
        const size = Number(varint())
        if (at + size > bytes.length) throw new RangeError("unexpected EOF")
        yield [number, bytes.subarray(at, at + size)]
        at += size
        break
      }
      case 5:
        yield [number, BigInt(view.getUint32(at, true))]
        at += 4
        break
      default:
        throw new RangeError(`proto: illegal wireType ${tag & 7}`)
    }
  }
}

const noBytes = new Uint8Array(0)

const bytesOf = (wire: Wire | undefined): Uint8Array => wire instanceof Uint8Array ? wire : noBytes

const textOf = (wire: Wire | undefined): string => Buffer.from(bytesOf(wire)).toString("utf8")

const numberOf = (wire: Wire | undefined): number => typeof wire === "bigint" ? Number(BigInt.asIntN(64, wire)) : 0

/** The last value of each field. */
const lastOf = (bytes: Uint8Array): ReadonlyMap<number, Wire> => new Map(read(bytes))

const instant = (wire: Wire, digits: number): string | undefined => {
  const fields = lastOf(bytesOf(wire))
  // The zero time is an empty message, and null in JSON.
  if (fields.size === 0) return undefined
  const seconds = new Date(numberOf(fields.get(1)) * 1000).toISOString().slice(0, 19)
  const nanos = String(numberOf(fields.get(2))).padStart(9, "0")
  return digits === 0 ? `${seconds}Z` : `${seconds}.${nanos.slice(0, digits)}Z`
}

const embeddedJson = (wire: Wire): unknown => {
  const text = textOf(lastOf(bytesOf(wire)).get(1))
  return text === "" ? undefined : JSON.parse(text) as unknown
}

const schemaProps = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"

/** A schema or its alternative: a message in field 1, or something else in field 2. */
const schemaOr = (otherwise: (wires: ReadonlyArray<Wire>) => unknown) => (wire: Wire): unknown => {
  const fields = [...read(bytesOf(wire))]
  const schema = fields.find(([number]) => number === 1)
  return schema === undefined ? otherwise(fields.map(([, value]) => value)) : message(schemaProps, bytesOf(schema[1]))
}

/** Types with hand-written JSON encodings in Go. */
const special: Readonly<Record<string, (wire: Wire) => unknown>> = {
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": (wire) => instant(wire, 0),
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": (wire) => instant(wire, 6),
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": embeddedJson,
  "io.k8s.apimachinery.pkg.runtime.RawExtension": embeddedJson,
  "io.k8s.apimachinery.pkg.api.resource.Quantity": (wire) => textOf(lastOf(bytesOf(wire)).get(1)),
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": (wire) => {
    const fields = lastOf(bytesOf(wire))
    return numberOf(fields.get(1)) === 1 ? textOf(fields.get(3)) : numberOf(fields.get(2))
  },
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": embeddedJson,
  [`${schemaProps}OrArray`]: schemaOr((wires) => wires.map((wire) => message(schemaProps, bytesOf(wire)))),
  [`${schemaProps}OrStringArray`]: schemaOr((wires) => wires.map(textOf)),
  [`${schemaProps}OrBool`]: (wire) => {
    const fields = lastOf(bytesOf(wire))
    return fields.has(2) ? message(schemaProps, bytesOf(fields.get(2))) : numberOf(fields.get(1)) !== 0
  }
}

const scalar = (schema: Schema, wire: Wire): unknown => {
  switch (schema.type) {
    case "boolean":
      return numberOf(wire) !== 0
    case "integer":
      return numberOf(wire)
    case "number": {
      const view = new DataView(new ArrayBuffer(8))
      view.setBigUint64(0, typeof wire === "bigint" ? wire : 0n)
      return view.getFloat64(0)
    }
    case "string":
      return schema.format === "byte" ? Buffer.from(bytesOf(wire)).toString("base64") : textOf(wire)
    default:
      return undefined
  }
}

const value = (schema: Schema, wire: Wire): unknown => {
  const { ref } = schema
  if (ref === undefined) return scalar(schema, wire)
  const own = special[ref]
  if (own !== undefined) return own(wire)
  const definition = definitions[ref] ?? {}
  // A message without fields is in no table, but its presence is significant.
  return messages().has(ref) || definition.type === "object" ? message(ref, bytesOf(wire)) : scalar(definition, wire)
}

/** A list as a map value is wrapped in a message. */
const mapValue = (schema: Schema, wire: Wire): unknown =>
  schema.items === undefined
    ? value(schema, wire)
    : [...read(bytesOf(wire))].map(([, item]) => value(schema.items!, item))

const isZero = (json: unknown): boolean => json === "" || json === 0 || json === false

const message = (definition: string, bytes: Uint8Array): Readonly<Record<string, unknown>> => {
  const json: Record<string, unknown> = {}
  fill(json, definition, definitions[definition] ?? {}, bytes)
  return json
}

const fill = (json: Record<string, unknown>, name: string, schema: Schema, bytes: Uint8Array): void => {
  const type = messages().get(name)
  if (type === undefined) return
  for (const [number, wire] of read(bytes)) {
    const inlined = type.inlined.get(number)
    if (inlined !== undefined) {
      fill(json, inlined, schema, bytesOf(wire))
      continue
    }
    const field = type.fields.get(number)
    const property = field === undefined ? undefined : schema.properties?.[field.name]
    if (field === undefined || property === undefined) continue
    if (property.items !== undefined) {
      const list = json[field.name] ??= []
      if (Array.isArray(list)) list.push(value(property.items, wire))
    } else if (property.values !== undefined) {
      const entry = lastOf(bytesOf(wire))
      const map = (json[field.name] ??= {}) as Record<string, unknown>
      const item = mapValue(property.values, entry.get(2) ?? noBytes)
      Object.defineProperty(map, textOf(entry.get(1)), {
        value: item,
        enumerable: true,
        configurable: true,
        writable: true
      })
    } else {
      const item = value(property, wire)
      if (item !== undefined && (field.keepsZero || !isZero(item))) json[field.name] = item
    }
  }
}

const prefix = [0x6b, 0x38, 0x73, 0]

const definitionOf = (apiVersion: string, kind: string): string | undefined => {
  // Options are sent with the apiVersion of the resource they apply to.
  if (kind === "DeleteOptions") return "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
  const slash = apiVersion.indexOf("/")
  const group = apiVersion.slice(0, Math.max(slash, 0))
  const version = apiVersion.slice(slash + 1)
  return Object.keys(definitions).find((name) => {
    const own = definitions[name]!.kind
    return own !== undefined && own.kind === kind && own.version === version && own.group === group
  })
}

/** The JSON that a body stands for, or the error of the server's decoder. */
export const decode = (bytes: Uint8Array): Result.Result<unknown, string> => {
  if (!prefix.every((byte, at) => bytes[at] === byte)) {
    return Result.fail("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
  }
  try {
    const envelope = lastOf(bytes.subarray(4))
    const meta = lastOf(bytesOf(envelope.get(1)))
    const apiVersion = textOf(meta.get(1))
    const kind = textOf(meta.get(2))
    const definition = definitionOf(apiVersion, kind)
    return definition === undefined
      ? Result.fail(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`)
      : Result.succeed({ kind, apiVersion, ...message(definition, bytesOf(envelope.get(2))) })
  } catch (error) {
    return Result.fail(error instanceof RangeError ? "unexpected EOF" : String(error))
  }
}
