/**
 * `Managers`: which manager owns which fields of an object: decoded metadata.managedFields.
 *
 * An entry is identified by manager, operation, subresource and, for updates, apiVersion. So all applies of one manager
 * are one entry, whatever the version, and its writes through a subresource are another.
 *
 * Source: k8s.io/apimachinery/pkg/util/managedfields/internal/{managedfields,capmanagers}.go.
 */
import type { ManagedFieldsEntry } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import * as FieldError from "../../schema/FieldError.ts"
import * as FieldSet from "./FieldSet.ts"
import * as FieldsV1 from "./FieldsV1.ts"
import * as JsonValue from "../../schema/JsonValue.ts"

export type Operation = "Apply" | "Update"

/** The fields of one manager. */
export interface Owner {
  readonly manager: string
  readonly operation: Operation
  /** The version to which the paths in `fields` refer. */
  readonly apiVersion: string
  /** `""` for the object itself. */
  readonly subresource: string
  /** The time of the last change; absent for an applier that changed nothing. */
  readonly time: string | undefined
  readonly fields: FieldSet.FieldSet
}

/** Owners by identity. */
export type Managers = ReadonlyMap<string, Owner>

export const none: Managers = new Map()

type Identified = Pick<Owner, "manager" | "operation" | "apiVersion" | "subresource">

/** The identity of an entry. */
export const identity = ({ apiVersion, manager, operation, subresource }: Identified): string =>
  `${operation}\n${operation === "Apply" ? "" : apiVersion}\n${subresource}\n${manager}`

/** The identity in the server's JSON form, which determines the order. */
export const rank = (owner: Identified): string => {
  const parts = [
    ...(owner.manager === "" ? [] : [`"manager":${FieldError.goJson(owner.manager)}`]),
    `"operation":"${owner.operation}"`,
    ...(owner.operation === "Apply" ? [] : [`"apiVersion":${FieldError.goJson(owner.apiVersion)}`]),
    ...(owner.subresource === "" ? [] : [`"subresource":${FieldError.goJson(owner.subresource)}`])
  ]
  return `{${parts.join(",")}}`
}

type Entries = ReadonlyArray<ManagedFieldsEntry>

/** The source of a list that this server made, stored with it, because that is cheaper than a lookup table. */
interface Made {
  readonly managers: Managers
  /** The owners in the order of the entries. */
  readonly owners: ReadonlyArray<Owner>
}

const made = Symbol("managers")

const madeOf = (entries: Entries): Made | undefined => (entries as Entries & { readonly [made]?: Made })[made]

const readEntry = (entry: ManagedFieldsEntry, index: number): Result.Result<Owner, string> => {
  const { apiVersion = "", fieldsType = "", manager = "", operation, subresource = "", time } = entry
  if (operation !== "Apply" && operation !== "Update") return Result.fail("operation must be `Apply` or `Update`")
  if (apiVersion === "") return Result.fail("apiVersion must not be empty")
  if (fieldsType === "") return Result.fail(`missing fieldsType in managed fields entry ${index}`)
  if (fieldsType !== "FieldsV1") {
    return Result.fail(`invalid fieldsType ${FieldError.quote(fieldsType)} in managed fields entry ${index}`)
  }
  return Result.mapBoth(FieldsV1.decode(entry.fieldsV1), {
    onFailure: (why) => `error decoding set: ${why}`,
    onSuccess: (fields) => ({ manager, operation, apiVersion, subresource, time, fields })
  })
}

const texts = ["manager", "operation", "apiVersion", "fieldsType", "subresource"] as const
const entryKeys = new Set<string>([...texts, "time", "fieldsV1"])

const isTime = (value: unknown): boolean =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) && !Number.isNaN(Date.parse(value))

/** Whether entries have the canonical form, in which decoding them again changes nothing. */
export const isCanonical = (entries: unknown): entries is Entries =>
  isOurs(entries) ||
  (Array.isArray(entries) && entries.length > 0 && entries.every((entry: unknown) =>
    JsonValue.isObject(entry) && Object.keys(entry).every((key) => entryKeys.has(key)) &&
    texts.every((key) => entry[key] === undefined || (typeof entry[key] === "string" && entry[key] !== "")) &&
    (entry["time"] === undefined || isTime(entry["time"])) && JsonValue.isObject(entry["fieldsV1"])
  ))

/** Decodes managedFields; the failure says why they are invalid. */
export const decode = (entries: Entries | undefined): Result.Result<Managers, string> => {
  if (entries === undefined || entries.length === 0) return Result.succeed(none)
  const found = madeOf(entries)
  if (found !== undefined) return Result.succeed(found.managers)
  const managers = new Map<string, Owner>()
  for (const [index, entry] of entries.entries()) {
    const owner = readEntry(entry, index)
    if (Result.isFailure(owner)) return Result.fail(owner.failure)
    managers.set(identity(owner.success), owner.success)
  }
  return Result.succeed(managers)
}

/**
 * An entry whose fields are encoded when they are first read: mostly never, since clients in the same process ignore
 * managedFields.
 */
const writeEntry = (owner: Owner): ManagedFieldsEntry => {
  const { apiVersion, manager, operation, subresource, time } = owner
  const fieldsType = "FieldsV1"
  const fields = () => FieldsV1.encode(owner.fields)
  return Object.freeze(
    time === undefined
      ? subresource === ""
        ? {
          manager,
          operation,
          apiVersion,
          fieldsType,
          get fieldsV1() {
            return fields()
          }
        }
        : {
          manager,
          operation,
          apiVersion,
          fieldsType,
          get fieldsV1() {
            return fields()
          },
          subresource
        }
      : subresource === ""
      ? {
        manager,
        operation,
        apiVersion,
        time,
        fieldsType,
        get fieldsV1() {
          return fields()
        }
      }
      : {
        manager,
        operation,
        apiVersion,
        time,
        fieldsType,
        get fieldsV1() {
          return fields()
        },
        subresource
      }
  )
}

/** Whether entries were made by `encode` and are therefore unchanged. */
export const isOurs = (entries: unknown): entries is Entries => Array.isArray(entries) && madeOf(entries) !== undefined

const sameEntry = (a: ManagedFieldsEntry, b: ManagedFieldsEntry, left?: Owner, right?: Owner): boolean =>
  a === b ||
  (a.manager === b.manager && a.operation === b.operation && a.apiVersion === b.apiVersion &&
    a.subresource === b.subresource && (left === undefined || right === undefined
      ? JsonValue.equals(a.fieldsV1, b.fieldsV1)
      : FieldSet.equals(left.fields, right.fields)))

/** Whether entries differ only in their times. */
export const sameButTimes = (a: Entries, b: Entries): boolean => {
  if (a.length !== b.length) return false
  const [left, right] = [madeOf(a)?.owners, madeOf(b)?.owners]
  return a.every((entry, index) => sameEntry(entry, b[index]!, left?.[index], right?.[index]))
}

const compareText = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/** Applies before updates, then by time, manager, version and subresource. */
const order = (a: Owner, b: Owner): number =>
  compareText(a.operation, b.operation) || compareText(a.time ?? "", b.time ?? "") ||
  compareText(a.manager, b.manager) || compareText(a.apiVersion, b.apiVersion) ||
  compareText(a.subresource, b.subresource)

/** The frozen managedFields; `undefined` if there are no owners. Unchanged entries of `before` are reused. */
export const encode = (managers: Managers, before?: Entries): Entries | undefined => {
  if (managers.size === 0) return undefined
  const owners = [...managers.values()]
  if (owners.length > 1) owners.sort(order)
  const old = before === undefined ? undefined : madeOf(before)?.owners
  const entries = owners.map((owner) => {
    const index = old === undefined ? -1 : old.indexOf(owner)
    return index < 0 ? writeEntry(owner) : before![index]!
  })
  return Object.freeze(Object.defineProperty(entries, made, { value: { managers, owners } satisfies Made }))
}

/** The maximum number of update entries of an object. */
const maxUpdaters = 10

/** Merges the oldest updates, version by version, until there are few enough. */
export const capped = (managers: Managers): Managers => {
  const updaters = [...managers].filter(([, owner]) => owner.operation === "Update")
  if (updaters.length <= maxUpdaters) return managers
  updaters.sort(([, a], [, b]) => compareText(a.time ?? "", b.time ?? "") || compareText(rank(a), rank(b)))
  const out = new Map(managers)
  const first = new Map<string, string>()
  let left = updaters.length
  for (const [id, owner] of updaters) {
    if (left <= maxUpdaters) break
    const { apiVersion } = owner
    const bucket = { manager: "ancient-changes", operation: "Update", apiVersion, subresource: "" } as const
    const bucketId = identity(bucket)
    const firstId = first.get(apiVersion)
    if (firstId === undefined) {
      first.set(apiVersion, id)
      continue
    }
    const oldest = out.get(bucketId) ?? out.get(firstId)!
    if (!out.has(bucketId)) out.delete(firstId)
    out.set(bucketId, { ...bucket, time: owner.time, fields: FieldSet.union(owner.fields, oldest.fields) })
    out.delete(id)
    left--
  }
  return out
}
