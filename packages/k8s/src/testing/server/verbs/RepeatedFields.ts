/**
 * `RepeatedFields`: decodes a body of a built-in kind that contains duplicate keys, as Go's decoder does.
 *
 * Go decodes a repeated value into the existing one: objects and maps merge; list items merge by index, and the list
 * gets the length of the last one; anything else is replaced. A value of a map starts anew, and so does a type with its
 * own decoder, such as a quantity or a time. Null removes pointers, lists and maps, and leaves everything else
 * unchanged.
 *
 * Unknown and duplicate fields are reported in the order of the text, except for those within unknown fields.
 *
 * Source: sigs.k8s.io/json internal/golang/encoding/json, decode.go (`object`, `array`, `literalStore`) and
 * kubernetes_patch.go (`saveStrictError`).
 */
import * as DuplicateFields from "../../../api/DuplicateFields.ts"
import { type Draft, put } from "../../../api/Plain.ts"
import * as WrittenNumbers from "../../../api/WrittenNumbers.ts"
import { definitions, type Schema } from "../../../kinds/definitions.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type * as Exchange from "../Exchange.ts"
import { subresource } from "../Registry.ts"
import * as BuiltinSchema from "../go/BuiltinSchema.ts"
import * as GoZero from "../go/GoZero.ts"

type Written = DuplicateFields.Written
const { Entries } = DuplicateFields

export interface Merged {
  readonly object: JsonValue.JsonObject
  /** The strict decoding errors: `duplicate field "data.a"`. */
  readonly said: ReadonlyArray<string>
}

/** The maximum number of errors. */
const maxSaid = 100

/** A slice in Go: items beyond its present length are kept, and reappear when it grows again. */
class Slice {
  readonly backing: Array<unknown> = []
  length = 0
}

/** A struct or map that is being decoded. */
class Fields {
  readonly values = new Map<string, unknown>()
}

/** A value in which the last of several duplicate entries counts, as in a map without a type. */
const plain = (written: Written): unknown =>
  written instanceof Entries
    ? Object.fromEntries(written.entries.map(([key, value]) => [key, plain(value)]))
    : Array.isArray(written)
    ? written.map(plain)
    : written

const finished = (value: unknown): unknown => {
  if (value instanceof Slice) return value.backing.slice(0, value.length).map(finished)
  if (!(value instanceof Fields)) return value
  const out: Draft = {}
  for (const [key, item] of value.values) put(out, key, finished(item))
  return out
}

class Merging {
  readonly said = new Set<string>()

  /** Decodes a value into the previous one. */
  into(schema: Schema, written: Written, before: unknown, path: string, owner: string): unknown {
    const definition = schema.ref ?? owner
    const type = schema.ref === undefined ? schema : definitions[schema.ref] ?? {}
    if (Array.isArray(written)) {
      return type.items === undefined ? plain(written) : this.list(type.items, written, before, path, definition)
    }
    if (!(written instanceof Entries) || (type.properties === undefined && type.values === undefined)) {
      return plain(written)
    }
    return this.object(type, written, before instanceof Fields ? before : new Fields(), path, definition)
  }

  private say(what: string, path: string): void {
    if (this.said.size < maxSaid) this.said.add(`${what} field ${FieldError.quote(path)}`)
  }

  private object(
    { properties, values }: Schema,
    { entries }: DuplicateFields.Entries,
    into: Fields,
    path: string,
    definition: string
  ): Fields {
    const seen = new Set<string>()
    for (const [key, written] of entries) {
      const here = path === "" ? key : `${path}.${key}`
      const schema = properties === undefined ? values : Object.hasOwn(properties, key) ? properties[key] : undefined
      if (schema === undefined) {
        this.say("unknown", here)
        continue
      }
      if (seen.has(key)) this.say("duplicate", here)
      seen.add(key)
      const before = into.values.get(key)
      // A value that could not be decoded stays invalid.
      const wrong = (before ?? null) !== null && !BuiltinSchema.fits(finished(before), schema, definition)
      if (wrong || (written === null && properties !== undefined && this.stays(definition, key, schema, before))) {
        continue
      }
      into.values.set(
        key,
        this.into(schema, written, properties === undefined ? undefined : before, here, definition)
      )
    }
    return into
  }

  /** Whether null leaves a field unchanged. */
  private stays(definition: string, key: string, schema: Schema, before: unknown): boolean {
    if (before === undefined || GoZero.isPointer(definition, key)) return false
    return schema.ref === undefined
      ? schema.items === undefined && schema.values === undefined && schema.format !== "byte"
      : definitions[schema.ref]?.properties !== undefined
  }

  private list(
    schema: Schema,
    items: ReadonlyArray<Written>,
    before: unknown,
    path: string,
    definition: string
  ): Slice {
    const slice = before instanceof Slice && items.length > 0 ? before : new Slice()
    for (const [index, item] of items.entries()) {
      const there = slice.backing[index]
      if (item === null && there !== undefined) continue
      slice.backing[index] = this.into(schema, item, there, `${path}[${index}]`, definition)
    }
    slice.length = items.length
    return slice
  }
}

/**
 * The exchange with its body decoded by the type of the resource, if it contains duplicate keys. Custom resources and
 * patches are decoded to maps, in which the last entry counts.
 */
export const asRead = (exchange: Exchange.Exchange): Exchange.Exchange => {
  const { request, resource, route } = exchange
  const { body } = request
  const written = DuplicateFields.writtenOf(body)
  if (written === undefined || request.method === "PATCH" || !JsonValue.isObject(body) || JsonValue.isDeeper(body)) {
    return exchange
  }
  const entry = subresource(resource, route.subresource)
  const own = entry === undefined || entry.kind === resource.kind
  if (own && resource.custom !== undefined) return exchange
  const { group, kind, version } = request.method === "DELETE" ? deleteOptions : own ? resource : entry
  const definition = BuiltinSchema.definitionOf(group, version, kind)
  const merged = definition === undefined ? undefined : merge(definition, written)
  if (merged === undefined) return exchange
  DuplicateFields.read(body, merged.object, merged.said)
  WrittenNumbers.carry(body, merged.object)
  return { ...exchange, request: { ...request, body: merged.object } }
}

const deleteOptions = { group: "", version: "v1", kind: "DeleteOptions" } as const

/** Decodes a body as a definition's type; undefined if it is not an object. */
export const merge = (definition: string, written: Written): Merged | undefined => {
  if (!(written instanceof Entries)) return undefined
  const merging = new Merging()
  const object = finished(merging.into({ ref: definition }, written, undefined, "", definition))
  return { object: object as JsonValue.JsonObject, said: [...merging.said] }
}
