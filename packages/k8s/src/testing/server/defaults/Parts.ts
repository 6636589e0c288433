/**
 * `Parts`: reads bodies of a built-in kind part by part, and no part twice.
 *
 * In the kinds that `Defaults.partsOf` names, reading a part (`spec`, `status`) and applying its defaults depends only
 * on that part. So results are cached by the JSON text of the part, frozen, and reused: a simulation that creates the
 * same Pods again and again reads them once, and later code recognises an equal part by its identity. A part that
 * reading does not change is returned as it is, and a stored part is not read at all.
 *
 * For bodies with faults, unknown fields, or empty lists that must be preserved, `read` returns `undefined`, and the
 * body is read as a whole instead.
 */
import { type Draft, freeze } from "../../../api/Plain.ts"
import { ByText } from "../../../api/Remembered.ts"
import { definitions } from "../../../kinds/definitions.ts"
import { Fault } from "../../../schema/GoFault.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as BuiltinSchema from "../go/BuiltinSchema.ts"
import * as GoZero from "../go/GoZero.ts"
import type * as Defaults from "./Defaults.ts"
import { fill } from "./Filling.ts"

/** The result of reading a part; its value is `undefined` for a part without content. */
interface Read {
  readonly value: unknown
  /** Whether reading it again changes nothing. */
  readonly settled: boolean
}

type Reader = (value: unknown) => Read | undefined

/** The reader under which a frozen part is unchanged. */
const settled = new WeakMap<object, Reader>()

const settledFor = (value: object, reader: Reader): unknown => {
  if (Object.isFrozen(value)) settled.set(value, reader)
  return value
}

/** Reads one field of a definition and applies `finish` to the result. */
const readerOf = (definition: string, key: string, finish: (read: unknown) => unknown): Reader => {
  const fresh = (value: unknown): unknown => {
    const [unknown, emptied]: [Array<string>, Array<string>] = [[], []]
    const read = value === undefined ? undefined : BuiltinSchema.field(definition, key, value, unknown, emptied)
    return read instanceof Fault || unknown.length + emptied.length > 0 ? failed : finish(read)
  }
  const remembered = new ByText<Read>()
  const make = (value: unknown, text: string | undefined): Read | undefined => {
    const made = fresh(value)
    return made === failed ? undefined : { value: freeze(made), settled: JSON.stringify(made) === text }
  }
  const reader: Reader = (value) => {
    if (value === null) return absent
    if (typeof value !== "object") {
      const made = fresh(value)
      return made === failed ? undefined : { value: made, settled: false }
    }
    if (settled.get(value) === reader) return { value, settled: true }
    const read = remembered.get(value, make)
    return read?.settled === true ? { value: settledFor(value, reader), settled: true } : read
  }
  return reader
}

const failed = Symbol("failed")

const absent: Read = { value: undefined, settled: true }

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

const metaReaders = new Map(
  Object.keys(definitions[meta]!.properties!).map((key) => [key, readerOf(meta, key, (read) => read)])
)

/** Reads all fields of a value except one; undefined if the body has to be read as a whole. */
const partsOf = (
  value: JsonValue.JsonObject,
  readers: ReadonlyMap<string, Reader>,
  but?: string
): Draft | undefined => {
  const out: Draft = {}
  for (const key of Object.keys(value)) {
    if (key === but) continue
    const read = readers.get(key)?.(value[key])
    if (read === undefined) return undefined
    if (read.value !== undefined) out[key] = read.value
  }
  return out
}

/** Reads bodies of a definition with the given defaults of its parts. */
export const make = (
  definition: string,
  { missing, parts }: Defaults.Parts
): (body: JsonValue.JsonObject) => JsonValue.JsonObject | undefined => {
  const readers = new Map(
    Object.keys(definitions[definition]!.properties!).map((key) => {
      const defaults = parts[key]
      const finish = (read: unknown): unknown => {
        const filled = defaults === undefined || (read === undefined && !defaults.always) ? read : defaults.fill(read)
        return filled === undefined ? undefined : GoZero.completeField(definition, key, filled)
      }
      return [key, readerOf(definition, key, finish)]
    })
  )
  const always = Object.keys(parts).filter((key) => parts[key]!.always)
  const fills = GoZero.fillsOf(definition).filter(([key]) => key !== "metadata")
  return (body) => {
    const own = body["metadata"]
    const metadata = JsonValue.isObject(own) ? partsOf(own, metaReaders) : undefined
    const read = metadata === undefined ? undefined : partsOf(body, readers, "metadata")
    if (read === undefined) return undefined
    for (const key of always) if (!(key in read)) read[key] = readers.get(key)!(undefined)!.value
    const out: Draft = missing === undefined ? read : { ...fill(read, missing) }
    for (const [key, nothing] of fills) if (!(key in out)) out[key] = nothing
    out["metadata"] = metadata
    return out
  }
}
