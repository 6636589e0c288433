/**
 * `JsonPatch`: RFC 6902 as an API server applies it.
 *
 * All six operations, all or nothing. The server's library (evanphx/json-patch v4) is laxer than the RFC, and clients
 * rely on it, so this one is as lax:
 * - `replace` of a missing object key adds it, `copy` of a missing one adds null, a missing `value` is null;
 * - `test` for null passes on a missing key;
 * - negative array indices count from the end, and `add` at -1 appends;
 * - anything before the first `/` of a path is ignored.
 *
 * The root can be replaced and tested, but not added, removed, moved or copied.
 */
import * as Result from "effect/Result"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as PatchFailure from "./PatchFailure.ts"

/** A patch with more operations is refused with 413. */
export const maxOperations = 10_000

/** The document with all operations applied, or why one fails. `null` is a patch without operations. */
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
  const draft = new Draft()
  for (const operation of operations) {
    const next = step(draft, current, JsonValue.isObject(operation) ? operation : {})
    if (Result.isFailure(next)) return Result.fail(PatchFailure.unprocessable(next.failure))
    current = next.success
  }
  return Result.succeed(current)
}

/** The error that a decoder finds before any operation runs. A null operation is an empty one. */
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

const missingValue = "missing value"
const fail = (text: string): Step<never> => Result.fail(text)

/** `path` or `from` of an operation; the error is the library's. */
const pointer = (operation: JsonValue.JsonObject, name: "path" | "from"): Step<string> => {
  const value = JsonValue.get(operation, name)
  return typeof value === "string"
    ? Result.succeed(value)
    : fail(`operation${name === "from" ? "," : ""} missing ${name} field: ${missingValue}`)
}

const step = (draft: Draft, document: unknown, operation: JsonValue.JsonObject): Step => {
  const op = String(JsonValue.get(operation, "op") ?? "unknown")
  const run = operations[op]
  return run === undefined ? fail(`Unexpected kind: ${op}`) : run(draft, document, operation)
}

type Operation = (draft: Draft, document: unknown, operation: JsonValue.JsonObject) => Step

const valueOf = (operation: JsonValue.JsonObject): unknown => JsonValue.get(operation, "value") ?? null

/** The wording of the errors at a path: it does not exist, or the operation is impossible there. */
interface Words {
  readonly noWay: (path: string) => string
  readonly refused: (path: string, key: string, fault: string) => string
}

const words = (op: string, quoted: boolean): Words => ({
  noWay: (path) =>
    `${op} operation does not apply: doc is missing path: ${quoted ? `"${path}"` : path}: ${missingValue}`,
  refused: (path, _, fault) => `error in ${op} for path: '${path}': ${fault}`
})

const undecoded = (op: string) => () => `${op} operation failed to decode path: ${missingValue}`
const undecodedBecause = (op: string, name: string) => (fault: string) =>
  `${op} operation failed to decode ${name}: ${fault}`

const operations: Readonly<Record<string, Operation>> = {
  add: (draft, document, operation) =>
    Result.flatMap(
      Result.mapError(pointer(operation, "path"), undecoded("add")),
      (path) => edit(draft, document, path, words("add", true), (parent, key) => add(parent, key, valueOf(operation)))
    ),
  remove: (draft, document, operation) =>
    Result.flatMap(
      Result.mapError(pointer(operation, "path"), undecoded("remove")),
      (path) => edit(draft, document, path, words("remove", true), remove)
    ),
  replace: (draft, document, operation) =>
    Result.flatMap(Result.mapError(pointer(operation, "path"), undecodedBecause("replace", "path")), (path) => {
      const value = valueOf(operation)
      if (path === "") {
        return typeof value === "object" && value !== null
          ? Result.succeed(value)
          : fail("replace operation value must be object or array")
      }
      const own: Words = {
        noWay: words("replace", false).noWay,
        refused: () => `replace operation does not apply: doc is missing key: ${path}: ${missingValue}`
      }
      return edit(draft, document, path, own, (parent, key) => replace(parent, key, value))
    }),
  test: (_, document, operation) =>
    Result.flatMap(Result.mapError(pointer(operation, "path"), undecodedBecause("test", "path")), (path) => {
      const own: Words = {
        noWay: () => `test operation does not apply: is missing path: ${path}: ${missingValue}`,
        refused: words("test", false).refused
      }
      return Result.flatMap(
        path === "" ? Result.succeed(document) : read(document, path, own),
        (found) =>
          JsonValue.equals(found, valueOf(operation))
            ? Result.succeed(document)
            : fail(`testing value ${path} failed: test failed`)
      )
    }),
  move: (draft, document, operation) => {
    const refused: Words["refused"] = (_, key, fault) => `error in move for path: '${key}': ${fault}`
    const from: Words = {
      noWay: (path) => `move operation does not apply: doc is missing from path: ${path}: ${missingValue}`,
      refused
    }
    const to: Words = {
      noWay: (path) => `move operation does not apply: doc is missing destination path: ${path}: ${missingValue}`,
      refused: words("move", false).refused
    }
    return Result.gen(function*() {
      const source = yield* Result.mapError(pointer(operation, "from"), undecodedBecause("move", "from"))
      const moved = yield* read(document, source, from)
      const without = yield* edit(draft, document, source, from, remove)
      const path = yield* Result.mapError(pointer(operation, "path"), undecodedBecause("move", "path"))
      return yield* edit(draft, without, path, to, (parent, key) => add(parent, key, moved))
    })
  },
  copy: (draft, document, operation) => {
    const from: Words = {
      noWay: (path) => `copy operation does not apply: doc is missing from path: ${path}: ${missingValue}`,
      refused: (path, _, fault) => `error in copy for from: '${path}': ${fault}`
    }
    const to: Words = {
      noWay: (path) => `copy operation does not apply: doc is missing destination path: ${path}: ${missingValue}`,
      refused: (_, __, fault) => `error while adding value during copy: ${fault}`
    }
    return Result.gen(function*() {
      const source = yield* Result.mapError(pointer(operation, "from"), undecodedBecause("copy", "from"))
      const copied = yield* read(document, source, from)
      draft.share()
      const path = yield* Result.mapError(pointer(operation, "path"), undecoded("copy"))
      return yield* edit(draft, document, path, to, (parent, key) => add(parent, key, copied))
    })
  }
}

type Container = JsonValue.JsonObject | ReadonlyArray<unknown>

type Mutable = Record<string, unknown> | Array<unknown>

/** Tracks the containers that a patch has created: an existing one is copied once, and then changed in place. */
class Draft {
  private made = new WeakSet<object>()

  own(container: Container): Mutable {
    if (this.made.has(container)) return container as Mutable
    const copy = JsonValue.isArray(container) ? [...container] : { ...container }
    this.made.add(copy)
    return copy
  }

  /** From now on a created container may be referenced twice. */
  share(): void {
    this.made = new WeakSet()
  }
}

const isContainer = (value: unknown): value is Container => typeof value === "object" && value !== null

/** RFC 6901, section 4, in one pass: `~01` is `~1`. */
const unescape = (token: string): string => token.replace(/~[01]/g, (code) => code === "~1" ? "/" : "~")

const tokens = (path: string): ReadonlyArray<string> => path.split("/").slice(1).map(unescape)

/** The value at a path; null for a missing key of an object. */
const read = (document: unknown, path: string, { noWay, refused }: Words): Step => {
  const keys = tokens(path)
  const last = keys.at(-1)
  let parent = document
  for (const key of keys.slice(0, -1)) {
    const next = isContainer(parent) ? child(parent, key) : fail("")
    if (Result.isFailure(next)) return fail(noWay(path))
    parent = next.success
  }
  if (last === undefined || !isContainer(parent)) return fail(noWay(path))
  return Result.mapError(child(parent, last), (fault) => refused(path, last, fault))
}

/** The document with the container at the end of the path replaced by the result of `f`. */
const edit = (
  draft: Draft,
  document: unknown,
  path: string,
  { noWay, refused }: Words,
  f: (parent: Mutable, key: string) => Step
): Step => {
  const keys = tokens(path)
  const descend = (current: unknown, depth: number): Step => {
    if (!isContainer(current)) return fail(noWay(path))
    const key = keys[depth]!
    if (depth === keys.length - 1) {
      return Result.mapError(f(draft.own(current), key), (fault) => refused(path, key, fault))
    }
    const next = child(current, key)
    if (Result.isFailure(next)) return fail(noWay(path))
    const edited = descend(next.success, depth + 1)
    return Result.isFailure(edited) ? edited : replace(draft.own(current), key, edited.success)
  }
  return keys.length === 0 ? fail(noWay(path)) : descend(document, 0)
}

const isIndex = (key: string): boolean => /^[+-]?[0-9]+$/.test(key)

/** The index for a key, in an array with `length` valid positions. */
const position = (key: string, length: number): Step<number> => {
  if (!isIndex(key)) return fail(`strconv.Atoi: parsing "${key}": invalid syntax`)
  const index = Number(key)
  const at = index < 0 ? index + length : index
  return at < 0 || at >= length
    ? fail(`Unable to access invalid index: ${index}: invalid index referenced`)
    : Result.succeed(at)
}

const child = (parent: Container, key: string): Step =>
  JsonValue.isArray(parent)
    ? Result.map(position(key, parent.length), (at) => parent[at])
    : Result.succeed(JsonValue.get(parent, key) ?? null)

/** Defined rather than assigned, because a key may be `__proto__`. */
const put = (object: Record<string, unknown>, key: string, value: unknown): unknown =>
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })

const add = (parent: Mutable, key: string, value: unknown): Step => {
  if (!Array.isArray(parent)) return Result.succeed(put(parent, key, value))
  if (key === "-") return Result.succeed(inserted(parent, parent.length, value))
  return Result.mapBoth(position(key, parent.length + 1), {
    onFailure: (fault) => isIndex(key) ? fault : `value was not a proper array index: '${key}': ${fault}`,
    onSuccess: (at) => inserted(parent, at, value)
  })
}

const inserted = (array: Array<unknown>, at: number, value: unknown): ReadonlyArray<unknown> => {
  array.splice(at, 0, value)
  return array
}

const replace = (parent: Mutable, key: string, value: unknown): Step =>
  Array.isArray(parent)
    ? Result.map(position(key, parent.length), (at) => {
      parent[at] = value
      return parent
    })
    : Result.succeed(put(parent, key, value))

const remove = (parent: Mutable, key: string): Step => {
  if (Array.isArray(parent)) {
    return Result.map(position(key, parent.length), (at) => {
      parent.splice(at, 1)
      return parent
    })
  }
  if (!JsonValue.has(parent, key)) return Result.fail(`Unable to remove nonexistent key: ${key}: missing value`)
  delete parent[key]
  return Result.succeed(parent)
}
