/**
 * `FieldsV1`: the encoding of a set of fields in managedFields.
 *
 * An object with a key per path element. `{}` is a member with nothing below it; `"."` beside other keys marks the path
 * itself as a member, too. Keys are in the order of `PathElement.compare`. Unknown kinds of elements, which a newer
 * server may have written, are dropped as by the real server.
 *
 * Source: sigs.k8s.io/structured-merge-diff/fieldpath/serialize.go.
 */
import * as Result from "effect/Result"
import * as FieldSet from "./FieldSet.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PathElement from "./PathElement.ts"

type Known = WeakMap<FieldSet.FieldSet, JsonValue.JsonObject>

/** Sets share unchanged parts, and so does their JSON: one cache is for sets below a member, the other for the rest. */
const belowMembers: Known = new WeakMap()
const others: Known = new WeakMap()

const leaf: JsonValue.JsonObject = Object.freeze({})

/** The set as frozen JSON, computed once per set. */
export const encode = (set: FieldSet.FieldSet): JsonValue.JsonObject => level(set, false)

const level = (set: FieldSet.FieldSet, member: boolean): JsonValue.JsonObject => {
  const known = member ? belowMembers : others
  const found = known.get(set)
  if (found !== undefined) return found
  const out: Record<string, unknown> = {}
  if (member) out["."] = leaf
  for (const [element, node] of FieldSet.sorted(set)) {
    out[element] = node.below === undefined ? leaf : level(node.below, node.member)
  }
  known.set(set, Object.freeze(out))
  return out
}

interface Level {
  readonly below: FieldSet.FieldSet | undefined
  readonly member: boolean
}

const read = (fields: JsonValue.JsonObject): Result.Result<Level, string> => {
  const below = new Map<PathElement.PathElement, FieldSet.Node>()
  let member = false
  for (const [key, inner] of Object.entries(fields)) {
    if (key === ".") {
      member = true
      continue
    }
    const found = PathElement.read(key)
    if ("error" in found) return Result.fail(`parsing key as path element: ${found.error}`)
    if (found.element === undefined) continue
    if (!JsonValue.isObject(inner)) return Result.fail(`expected an object at ${key}`)
    const next = read(inner)
    if (Result.isFailure(next)) return next
    below.set(found.element, next.success)
  }
  return Result.succeed(
    below.size === 0 ? { below: undefined, member: true } : { below, member }
  )
}

/** Decodes a set; the failure says why it is invalid. */
export const decode = (fields: unknown): Result.Result<FieldSet.FieldSet, string> =>
  fields === undefined || fields === null
    ? Result.succeed(FieldSet.empty)
    : !JsonValue.isObject(fields)
    ? Result.fail("expected an object")
    : Result.map(read(fields), ({ below }) => below ?? FieldSet.empty)
