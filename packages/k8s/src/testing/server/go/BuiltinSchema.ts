/**
 * `BuiltinSchema`: decodes a body as the Go type of a built-in kind does.
 *
 * Unknown fields are dropped and reported. Nulls, and empty values that the type cannot distinguish from missing ones,
 * are dropped. A value of the wrong type fails the whole request. A quantity is returned in canonical form; a time
 * loses its offset, and a `Time` also its fraction of a second. All other validation is left to the kind's strategy.
 *
 * Source: the OpenAPI document (`kinds/definitions`) for the types; encoding/json and apimachinery's `Time` and
 * `MicroTime` for the rules.
 */
import * as Result from "effect/Result"
import { type Draft, put } from "../../../api/Plain.ts"
import * as Remembered from "../../../api/Remembered.ts"
import { definitions, type Schema, zeroOf } from "../../../kinds/Schema.ts"
import * as GoBase64 from "../../../schema/GoBase64.ts"
import * as Embedded from "../../../schema/GoEmbedded.ts"
import { Fault, mapKey, nameOf, withoutEmbedded, withPlainKeys, wrong, wrongText } from "../../../schema/GoFault.ts"
import * as GoInt64 from "../../../schema/GoInt64.ts"
import * as GoNames from "../../../schema/GoNames.ts"
import * as GoTime from "../../../schema/GoTime.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as GoZero from "./GoZero.ts"
import * as Quantity from "../../../api/Quantity.ts"

/** A decoded body. */
export interface Decoded {
  readonly object: JsonValue.JsonObject
  /** The paths of unknown fields, which were dropped. */
  readonly unknown: ReadonlyArray<string>
  /**
   * The paths of empty lists that were dropped although their fields are not omitted when empty. They matter for
   * managedFields until the object is stored.
   */
  readonly emptied: ReadonlyArray<string>
}

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."

const byKind: ReadonlyMap<string, string> = new Map(
  Object.entries(definitions).flatMap(([name, schema]) =>
    schema.kind === undefined ? [] : [[`${schema.kind.group}/${schema.kind.version}/${schema.kind.kind}`, name]]
  )
)

/** The name of a kind's definition; undefined for a kind that Kubernetes does not have. */
export const definitionOf = (group: string, version: string, kind: string): string | undefined =>
  byKind.get(`${group}/${version}/${kind}`)

const readTime = (value: string, precision: GoTime.Precision): string | Fault =>
  Result.match(GoTime.parse(value, precision), {
    onSuccess: (time) => `${GoTime.wholeSeconds(time)}${precision === "micros" ? `.${time.fraction}` : ""}Z`,
    onFailure: (why) => new Fault(why)
  })

/** A `Time` in whole seconds, or a `MicroTime` of exactly six digits, in UTC. */
const time = Remembered.ofText((value) => readTime(value, "seconds"))
const microTime = Remembered.ofText((value) => readTime(value, "micros"))

/** Base64 in canonical form, if it can be decoded. */
const bytes = (text: string): string | Fault => Result.getOrElse(GoBase64.canonical(text), (why) => new Fault(why))

/** Go also decodes a list of small numbers to bytes; null leaves a 0 in place. */
const byteList = (value: unknown): ReadonlyArray<number> | undefined => {
  if (!Array.isArray(value)) return undefined
  const numbers = value.map((item: unknown) => item === null ? 0 : item)
  return numbers.every(isByte) ? numbers : undefined
}

const isByte = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255

const isInt32 = (value: unknown): boolean => typeof value === "number" && value === (value | 0)

interface Walk {
  readonly unknown: Array<string>
  readonly emptied: Array<string>
  /** The Go type in messages of faults. */
  readonly owner: string
  /** The definition that contains the current value. */
  readonly definition: string
  /** Whether integers are truncated to the bits of their type instead of being refused. */
  readonly cut: boolean
}

/** The fault of a value that the type of a field, or of its elements, cannot hold. */
const unfit = (value: unknown, schema: Schema, path: string, walk: Walk): Fault =>
  wrong(value, GoNames.at(walk.definition, path) ?? schema, path, walk.owner)

/** A scalar of the type; a `Fault` for a value of another type. */
const scalar = (value: unknown, schema: Schema, path: string, walk: Walk): unknown => {
  switch (schema.type) {
    case "boolean":
      return typeof value === "boolean" ? value : unfit(value, schema, path, walk)
    case "integer":
      if (!GoInt64.is(value)) return unfit(value, schema, path, walk)
      if (schema.format !== "int32" || isInt32(value)) return value
      return walk.cut ? Number(BigInt.asIntN(32, BigInt(value as number))) : unfit(value, schema, path, walk)
    case "number":
      return typeof value === "number" ? value : unfit(value, schema, path, walk)
    default:
      if (typeof value === "string") return schema.format === "byte" ? bytes(value) : value
      if (schema.format === "byte") {
        const list = byteList(value)
        return list === undefined ? unfit(value, schema, path, walk) : Buffer.from(list).toString("base64")
      }
      if (schema.format === "int-or-string") return isInt32(value) ? value : wrong(value, "int32", path, walk.owner)
      return unfit(value, schema, path, walk)
  }
}

/** The Go type of a definition, without its package. */
const ownerOf = (definition: string): string => definition.slice(definition.lastIndexOf(".") + 1)

const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"

const schemaOf = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"

/**
 * A schema, or a value that may replace one. These types have their own decoders, so unknown fields of a schema within
 * them are not reported. A value of any other form, or an empty list of schemas, is dropped.
 */
const alternative = (value: unknown, ref: string, path: string): unknown => {
  const walk: Walk = { unknown: [], emptied: [], owner: ownerOf(schemaOf), definition: schemaOf, cut: false }
  if (JsonValue.isObject(value)) return named(value, schemaOf, path, walk)
  if (ref === `${schemaOf}OrBool`) {
    return typeof value === "boolean" ? value : new Fault("boolean or JSON schema expected")
  }
  if (!Array.isArray(value) || value.length === 0) return undefined
  return list(value, ref === `${schemaOf}OrArray` ? { ref: schemaOf } : { type: "string" }, path, walk)
}

type Reader = (value: unknown, path: string, walk: Walk) => unknown

const timeOf = (read: (text: string) => unknown): Reader => (value, path, walk) =>
  typeof value === "string" ? read(value) : wrong(value, "string", path, walk.owner)

/** Types with their own decoders. */
const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  [quantity, (value) => {
    const text = typeof value === "number" ? String(value) : value
    if (typeof text !== "string") return new Fault(Quantity.malformed)
    const read = Quantity.parse(text.trim())
    return typeof read === "string" ? new Fault(read) : Quantity.toText(read)
  }],
  [`${meta}Time`, timeOf(time)],
  [`${meta}MicroTime`, timeOf(microTime)],
  [
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    (value, path, walk) => scalar(value, { type: "string", format: "int-or-string" }, path, walk)
  ],
  ...["Bool", "Array", "StringArray"].map((other): [string, Reader] => {
    const ref = `${schemaOf}Or${other}`
    return [ref, (value, path) => alternative(value, ref, path)]
  })
])

const named = (value: unknown, ref: string, path: string, walk: Walk): unknown => {
  const reader = readers.get(ref)
  if (reader !== undefined) {
    const own = reader(value, path, walk)
    return own instanceof Fault ? new Fault(own.message, true) : own
  }
  const schema = definitions[ref] ?? {}
  if (schema.properties !== undefined && !JsonValue.isObject(value)) return wrong(value, nameOf(ref), path, walk.owner)
  return read(
    value,
    schema,
    path,
    schema.properties === undefined ? walk : { ...walk, owner: ownerOf(ref), definition: ref }
  )
}

const read = (value: unknown, schema: Schema, path: string, walk: Walk): unknown => {
  if (schema.ref !== undefined) return named(value, schema.ref, path, walk)
  if (schema.type === "array") {
    if (!Array.isArray(value)) return unfit(value, schema, path, walk)
    return schema.items === undefined ? value : list(value, schema.items, path, walk)
  }
  if (schema.properties !== undefined || schema.values !== undefined) {
    return JsonValue.isObject(value) ? object(value, schema, path, walk) : unfit(value, schema, path, walk)
  }
  return schema.type === undefined || schema.type === "object" ? value : scalar(value, schema, path, walk)
}

/** A path in the form of strict decoding errors. */
const plainPath = (path: string): string => withPlainKeys(withoutEmbedded(path)).slice(1)

/** Whether a type in a definition can hold a value. */
export const fits = (value: unknown, schema: Schema, definition: string): boolean =>
  !(read(value, schema, "", { unknown: [], emptied: [], owner: "", definition, cut: false }) instanceof Fault)

/** Null in a list or map: the zero value of the type. */
const nothing = (schema: Schema): unknown => {
  if (schema.ref === quantity) return "0"
  if (schema.ref !== undefined) return definitions[schema.ref]?.properties === undefined ? null : {}
  return zeroOf(schema.type) ?? null
}

const list = (items: ReadonlyArray<unknown>, schema: Schema, path: string, walk: Walk): unknown => {
  const out: Array<unknown> = []
  let fault: Fault | undefined
  for (const [index, item] of items.entries()) {
    const next = item === null ? nothing(schema) : read(item, schema, `${path}[${index}]`, walk)
    if (!(next instanceof Fault)) out.push(next)
    else if (next.isFinal) return next
    else fault ??= next
  }
  return fault ?? out
}

/** Matches a path that leads through a value of a map, whose key may be any string. */
const inMap = /\[(?!\d+\])/

/**
 * Quantities in a resource list are rounded up to thousandths. Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go
 * (`SetDefaults_ResourceList`).
 */
const rounded = (value: unknown, schema: Schema, { definition }: Walk): unknown =>
  schema.ref === quantity && definition.startsWith("io.k8s.api.core.v1.") && typeof value === "string"
    ? Quantity.inThousandths(value)
    : value

const object = (value: JsonValue.JsonObject, schema: Schema, path: string, walk: Walk): unknown => {
  const out: Draft = {}
  let fault: Fault | undefined
  for (const key of Object.keys(value)) {
    const item = value[key]
    const here = schema.properties === undefined
      ? `${path}${mapKey(key)}`
      : `${path}${Embedded.around(walk.definition, key)}.${key}`
    const known = schema.properties === undefined
      ? schema.values
      : Object.hasOwn(schema.properties, key)
      ? schema.properties[key]
      : undefined
    if (known === undefined) walk.unknown.push(plainPath(here))
    else if (item !== null || schema.properties === undefined) {
      const next = item === null ? nothing(known) : read(item, known, here, walk)
      if (next instanceof Fault) {
        if (next.isFinal) return next
        fault ??= next
        continue
      }
      if (next === undefined) continue
      if (schema.properties === undefined) put(out, key, rounded(next, known, walk))
      else if (!GoZero.leftOut(walk.definition, key, known, next)) put(out, key, next)
      else if (GoZero.isToldList(walk.definition, key, known) && !inMap.test(here)) {
        walk.emptied.push(withoutEmbedded(here).slice(1))
      }
    }
  }
  return fault ?? out
}

/** Decodes one field of an object of a kind; `undefined` if it is dropped. Adds to `unknown` and `emptied`. */
export const field = (
  definition: string,
  key: string,
  value: unknown,
  unknown: Array<string>,
  emptied: Array<string> = []
): unknown => {
  const schema = definitions[definition]!.properties![key]!
  if (value === null) return undefined
  const result = read(value, schema, `.${key}`, {
    unknown,
    emptied,
    owner: ownerOf(definition),
    definition,
    cut: false
  })
  if (result instanceof Fault || !GoZero.leftOut(definition, key, schema, result)) return result
  if (GoZero.isToldList(definition, key, schema)) emptied.push(key)
  return undefined
}

/** The schema below a key or an index, and that step in the path of a fault. */
const below = (schema: Schema, step: string | number): readonly [schema: Schema | undefined, name: string] =>
  schema.properties !== undefined
    ? [Object.hasOwn(schema.properties, step) ? schema.properties[step] : undefined, `.${step}`]
    : schema.values !== undefined
    ? [schema.values, mapKey(String(step))]
    : [schema.items, `[${step}]`]

/**
 * Why an integer that is written with a decimal point or exponent cannot be decoded; undefined if the field is not an
 * integer.
 */
export const writtenFault = (
  definition: string,
  { path, text }: { readonly path: ReadonlyArray<string | number>; readonly text: string }
): string | undefined => {
  let schema: Schema = { ref: definition }
  let owner = ""
  let place = ""
  for (const step of path) {
    const { ref } = schema
    const type: Schema = ref === undefined ? schema : definitions[ref] ?? {}
    if (ref !== undefined && type.properties !== undefined) owner = ownerOf(ref)
    const [next, name] = below(type, step)
    if (next === undefined) return undefined
    schema = next
    place += (ref === undefined ? "" : Embedded.around(ref, String(step))) + name
  }
  return schema.type === "integer" ? wrongText(text, schema, place, owner).message : undefined
}

/**
 * Decodes an object of a kind; the failure is the decoder's message. `cut` is for objects that a converter reads
 * instead of the decoder: it truncates integers.
 */
export const decode = (
  definition: string,
  body: JsonValue.JsonObject,
  cut = false
): Result.Result<Decoded, string> => {
  const unknown: Array<string> = []
  const emptied: Array<string> = []
  const value = named(body, definition, "", { unknown, emptied, owner: "", definition, cut })
  return value instanceof Fault
    ? Result.fail(value.message)
    : Result.succeed({ object: value as JsonValue.JsonObject, unknown, emptied })
}
