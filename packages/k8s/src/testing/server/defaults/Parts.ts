/**
 * `Parts`: bodies of a built-in kind, read part by part, and no part twice.
 *
 * Reading a part (`spec`, `status`) and giving it its defaults depends on nothing but the part, in the kinds that
 * `Defaults.partsOf` names. So what came of it is remembered by its text, frozen, and told again: a story that makes the
 * same Pods over and over has them read once, and whoever comes later knows by its identity that a part is the same. A
 * part that reading does not change is left as it is; one that is stored is not even looked at.
 *
 * What has a fault, fields that are not known or lists that are told though they are empty is not for here: `read` gives `undefined`, and the whole is read instead.
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

/** What was made of a part; `undefined` in it for a part that says nothing. */
interface Read {
  readonly value: unknown
  /** Reading it anew changes nothing. */
  readonly settled: boolean
}

type Reader = (value: unknown) => Read | undefined

/** Which reader says of a frozen part that reading it changes nothing. */
const settled = new WeakMap<object, Reader>()

const settledFor = (value: object, reader: Reader): unknown => {
  if (Object.isFrozen(value)) settled.set(value, reader)
  return value
}

/** How a field of a definition is read; `finish` does what comes after. */
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

/** The parts of a value but one, each read by its reader; undefined for what is not for here. */
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

/** How bodies of a definition are read, given what its parts default to. */
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
