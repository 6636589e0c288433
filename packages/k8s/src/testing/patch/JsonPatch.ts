/**
 * `JsonPatch`: RFC 6902 as an API server applies it.
 *
 * All six operations, all or nothing. The server's library (evanphx/json-patch v4) is laxer than the RFC, and clients
 * rely on it, so this one is as lax:
 * - `replace` of a missing object key adds it, `copy` of one adds null, a missing `value` is null;
 * - `test` for null passes on a missing key;
 * - array indices may be negative and then count from the end, where `add` at -1 appends;
 * - whatever stands before the first `/` of a path is ignored.
 *
 * The root can be replaced and tested, but neither added, removed, moved nor copied.
 */
import * as Result from "effect/Result"
import * as JsonValue from "../schema/JsonValue.ts"
import * as PatchFailure from "./PatchFailure.ts"

/** More operations than this are refused with 413. */
export const maxOperations = 10_000

/** The document with all operations applied, or why one of them cannot be. `null` is a patch without operations. */
export const apply = (
  document: unknown,
  operations: unknown
): Result.Result<unknown, PatchFailure.PatchFailure> => {
  if (operations === null) return Result.succeed(document)
  if (!JsonValue.isArray(operations)) {
    return Result.fail(
      PatchFailure.malformed(`error decoding patch: ${wrongType(operations, "[]handlers.jsonPatchOp")}`)
    )
  }
  for (const operation of operations) {
    const fault = decodeFault(operation)
    if (fault !== undefined) return Result.fail(PatchFailure.malformed(`error decoding patch: ${fault}`))
  }
  if (operations.length > maxOperations) {
    return Result.fail(PatchFailure.tooLarge(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`
    ))
  }
  let current = document
  for (const operation of operations) {
    const next = step(current, JsonValue.isObject(operation) ? operation : {})
    if (Result.isFailure(next)) return Result.fail(PatchFailure.unprocessable(next.failure))
    current = next.success
  }
  return Result.succeed(current)
}

/** The faults that a decoder notices before any operation runs. A null operation is an empty one. */
const decodeFault = (operation: unknown): string | undefined => {
  if (operation === null) return undefined
  if (!JsonValue.isObject(operation)) return wrongType(operation, "handlers.jsonPatchOp")
  for (const name of ["op", "path", "from"]) {
    const value = JsonValue.get(operation, name)
    if (value !== undefined && value !== null && typeof value !== "string") {
      return `json: cannot unmarshal ${goKind(value)} into Go struct field jsonPatchOp.${name} of type string`
    }
  }
  return undefined
}

const wrongType = (value: unknown, goType: string): string =>
  `json: cannot unmarshal ${goKind(value)} into Go value of type ${goType}`

const goKind = (value: unknown): string =>
  JsonValue.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : value === null ? "null" : typeof value

type Step<A = unknown> = Result.Result<A, string>

const step = (document: unknown, operation: JsonValue.JsonObject): Step => {
  const text = (name: string): Step<string> => {
    const value = JsonValue.get(operation, name)
    return typeof value === "string" ? Result.succeed(value) : Result.fail(`operation missing ${name} field`)
  }
  const value = JsonValue.get(operation, "value") ?? null
  const path = text("path")
  if (Result.isFailure(path)) return path
  switch (JsonValue.get(operation, "op")) {
    case "add":
      return edit(document, path.success, (parent, key) => add(parent, key, value))
    case "remove":
      return edit(document, path.success, remove)
    case "replace":
      if (path.success === "") {
        return typeof value === "object" && value !== null
          ? Result.succeed(value)
          : Result.fail("replace operation value must be object or array")
      }
      return edit(document, path.success, (parent, key) => replace(parent, key, value))
    case "test": {
      const found = path.success === "" ? Result.succeed(document) : read(document, path.success)
      if (Result.isFailure(found)) return found
      return JsonValue.equals(found.success, value)
        ? Result.succeed(document)
        : Result.fail(`testing value ${path.success} failed: test failed`)
    }
    case "move": {
      const from = text("from")
      if (Result.isFailure(from)) return from
      const moved = read(document, from.success)
      if (Result.isFailure(moved)) return moved
      const without = edit(document, from.success, remove)
      if (Result.isFailure(without)) return without
      return edit(without.success, path.success, (parent, key) => add(parent, key, moved.success))
    }
    case "copy": {
      const from = text("from")
      if (Result.isFailure(from)) return from
      const copied = read(document, from.success)
      if (Result.isFailure(copied)) return copied
      return edit(document, path.success, (parent, key) => add(parent, key, copied.success))
    }
    default:
      return Result.fail(`Unexpected kind: ${String(JsonValue.get(operation, "op") ?? "unknown")}`)
  }
}

type Container = JsonValue.JsonObject | ReadonlyArray<unknown>

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null

/** RFC 6901, section 4, in one pass: `~01` is `~1`. */
const unescape = (token: string): string => token.replace(/~[01]/g, (code) => code === "~1" ? "/" : "~")

const tokens = (path: string): ReadonlyArray<string> => path.split("/").slice(1).map(unescape)

/** What the path leads to; null for a missing key of an object. */
const read = (document: unknown, path: string): Step => {
  const keys = tokens(path)
  let current = document
  for (const [depth, key] of keys.entries()) {
    if (!isContainer(current)) return Result.fail(`doc is missing path: ${path}`)
    const next = child(current, key)
    if (Result.isFailure(next)) return next
    if (depth < keys.length - 1 && !isContainer(next.success)) return Result.fail(`doc is missing path: ${path}`)
    current = next.success
  }
  return keys.length === 0 ? Result.fail(`doc is missing path: ${path}`) : Result.succeed(current)
}

/** The document with the container at the end of the path replaced by what `f` makes of it. */
const edit = (document: unknown, path: string, f: (parent: Container, key: string) => Step): Step => {
  const keys = tokens(path)
  const missing = `doc is missing path: ${path}`
  const descend = (current: unknown, depth: number): Step => {
    if (!isContainer(current)) return Result.fail(missing)
    const key = keys[depth]!
    if (depth === keys.length - 1) return f(current, key)
    const next = child(current, key)
    if (Result.isFailure(next)) return next
    const edited = descend(next.success, depth + 1)
    return Result.isFailure(edited) ? edited : replace(current, key, edited.success)
  }
  return keys.length === 0 ? Result.fail(missing) : descend(document, 0)
}

/** The position that a key names in an array of which `length` positions can be named. */
const position = (key: string, length: number): Step<number> => {
  if (!/^[+-]?[0-9]+$/.test(key)) return Result.fail(`value was not a proper array index: '${key}'`)
  const index = Number(key)
  const at = index < 0 ? index + length : index
  return at < 0 || at >= length
    ? Result.fail(`Unable to access invalid index: ${index}: invalid index referenced`)
    : Result.succeed(at)
}

const child = (parent: Container, key: string): Step =>
  JsonValue.isArray(parent)
    ? Result.map(position(key, parent.length), (at) => parent[at])
    : Result.succeed(JsonValue.get(parent, key) ?? null)

const add = (parent: Container, key: string, value: unknown): Step => {
  if (!JsonValue.isArray(parent)) return Result.succeed(JsonValue.set(parent, key, value))
  if (key === "-") return Result.succeed([...parent, value])
  return Result.map(position(key, parent.length + 1), (at) => parent.toSpliced(at, 0, value))
}

const replace = (parent: Container, key: string, value: unknown): Step =>
  JsonValue.isArray(parent)
    ? Result.map(position(key, parent.length), (at) => parent.with(at, value))
    : Result.succeed(JsonValue.set(parent, key, value))

const remove = (parent: Container, key: string): Step => {
  if (JsonValue.isArray(parent)) return Result.map(position(key, parent.length), (at) => parent.toSpliced(at, 1))
  return JsonValue.has(parent, key)
    ? Result.succeed(JsonValue.remove(parent, key))
    : Result.fail(`Unable to remove nonexistent key: ${key}: missing value`)
}
