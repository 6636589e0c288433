/**
 * `FieldManager`: computes metadata.managedFields for every kind of write.
 *
 * `updated` is used by creates, updates and patches, after an object is decoded and defaulted but before admission and
 * the kind's strategy, so the changes of those have no owner. `applied` merges an applied configuration into the
 * object. Neither assigns ownership of apiVersion, kind, names, and fields that the server sets.
 *
 * An object without owners (after its managedFields were cleared) is not tracked until the next apply; existing fields
 * then belong to `before-first-apply`.
 *
 * Source: k8s.io/apimachinery/pkg/util/managedfields/internal (fieldmanager.go and the managers it is made of).
 */
import type { ManagedFieldsEntry } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Conflicts from "./Conflicts.ts"
import * as FieldSet from "./FieldSet.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as LastApplied from "./LastApplied.ts"
import * as Managers from "./Managers.ts"
import * as SchemaChanges from "./SchemaChanges.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Updater from "./Updater.ts"

export type Entries = ReadonlyArray<ManagedFieldsEntry> | undefined

/** The manager of a write, with the endpoint and the time. */
export interface Writer {
  readonly versions: Updater.Versions
  readonly manager: string
  /** `""` for the object itself. */
  readonly subresource: string
  /** A time in the format of managedFields. */
  readonly time: string
}

/** Fields that are never owned. */
export const unowned: FieldSet.FieldSet = [
  ["apiVersion"],
  ["kind"],
  ["metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion"
  ].map((name) => ["metadata", name])
].map((path) => FieldSet.ofFields(...path)).reduce(FieldSet.union)

const isReset = (given: Entries): boolean =>
  given !== undefined &&
  (given.length === 0 || (given.length === 1 && Object.keys(given[0] ?? {}).length === 0))

const decoded = (entries: Entries): Managers.Managers => Result.getOrElse(Managers.decode(entries), () => Managers.none)

/**
 * The managers before a write: those in the request if it contains any and may set them, otherwise those of the object.
 * So a client that does not know managedFields removes nothing.
 */
const before = (writer: Writer, live: Entries, given: Entries): Managers.Managers => {
  if (writer.subresource !== "" || given === undefined || JsonValue.equals(given, live)) return decoded(live)
  if (isReset(given)) return Managers.none
  const managers = decoded(given)
  return managers.size === 0 ? decoded(live) : managers
}

const ownerOf = (writer: Writer, operation: Managers.Operation): Omit<Managers.Owner, "fields"> => ({
  manager: writer.manager === "" ? "unknown" : writer.manager,
  operation,
  apiVersion: writer.versions.own,
  subresource: writer.subresource,
  time: writer.time
})

/** The managers after an update, whose changes belong to its writer. */
const credited = (writer: Writer, updated: Updater.Updated): Managers.Managers => {
  const fields = FieldSet.difference(updated.fields, unowned)
  if (FieldSet.isEmpty(fields)) return Managers.capped(updated.managers)
  const owner = ownerOf(writer, "Update")
  const id = Managers.identity(owner)
  const own = updated.managers.get(id)?.fields ?? FieldSet.empty
  const all = SchemaChanges.fits(writer.versions.typeOf(writer.versions.own)!, FieldSet.union(fields, own))
  return Managers.capped(new Map(updated.managers).set(id, { ...owner, fields: all }))
}

/** The managers after an update. */
const track = (
  writer: Writer,
  managers: Managers.Managers,
  live: unknown,
  next: unknown
): Effect.Effect<Managers.Managers, StatusError.StatusError> => {
  const now = Updater.updateNow(writer.versions, managers, live, next)
  return now === undefined
    ? Effect.map(Updater.update(writer.versions, managers, live, next), (updated) => credited(writer, updated))
    : Effect.succeed(credited(writer, now))
}

/**
 * The managedFields after a change by the server itself. Nothing is converted: if that would be necessary, they stay
 * unchanged.
 */
export const touched = (writer: Writer, live: unknown, next: unknown, entries: Entries): Entries => {
  const managers = decoded(entries)
  if (managers.size === 0) return undefined
  const updated = Updater.updateNow(writer.versions, managers, live, next)
  return updated === undefined ? entries : Managers.encode(credited(writer, updated), entries)
}

/** A write other than an apply. */
export interface Update {
  /** The object before; empty in a creation. */
  readonly live: unknown
  readonly liveEntries: Entries
  readonly creates: boolean
  /** The object after, without managedFields. */
  readonly next: unknown
  /** The managedFields of the request. */
  readonly given: Entries
}

/**
 * The managedFields after an update; `undefined` for none. Any failure also results in none: a write never fails
 * because of them.
 */
export const updated = (writer: Writer, update: Update): Effect.Effect<Entries> => {
  const managers = before(writer, update.liveEntries, update.given)
  if (managers.size === 0 && !update.creates) return Effect.succeed(undefined)
  return track(writer, managers, update.live, update.next).pipe(
    Effect.map((after) => Managers.encode(after, update.liveEntries)),
    Effect.orElseSucceed(() => undefined)
  )
}

/** A server-side apply. */
export interface Apply {
  readonly live: JsonValue.JsonObject
  readonly liveEntries: Entries
  readonly config: JsonValue.JsonObject
  readonly force: boolean
}

export interface Applied {
  /** Undefined if only the ownership changes. */
  readonly object: JsonValue.JsonObject | undefined
  readonly entries: Entries
}

const attempt = (
  writer: Writer,
  managers: Managers.Managers,
  { config, force, live }: Apply
): Effect.Effect<Updater.Applied, StatusError.StatusError> => {
  const owner = ownerOf(writer, "Apply")
  return Updater.apply(writer.versions, managers, live, config, { id: Managers.identity(owner), owner }, force)
}

/** The time of an entry changes only with the object. Fields that are never owned are removed. */
const settle = (
  writer: Writer,
  managers: Managers.Managers,
  result: Extract<Updater.Applied, { readonly _tag: "Applied" }>,
  { live, liveEntries: before }: Apply
): Applied => {
  const id = Managers.identity(ownerOf(writer, "Apply"))
  const changed = !JsonValue.equals(result.object, live)
  const out = new Map(result.managers)
  const own = out.get(id)
  if (own !== undefined) {
    const fields = FieldSet.difference(own.fields, unowned)
    if (FieldSet.isEmpty(fields)) out.delete(id)
    else out.set(id, { ...own, fields, time: changed ? writer.time : managers.get(id)?.time })
  }
  return {
    object: changed ? result.object as JsonValue.JsonObject : undefined,
    entries: Managers.encode(out, before)
  }
}

/** The object and its managedFields after an apply. The configuration matches the type of its version. */
export const applied = Effect.fnUntraced(function*(writer: Writer, apply: Apply) {
  const stored = Managers.decode(apply.liveEntries)
  if (Result.isFailure(stored)) {
    return yield* Effect.fail(StatusError.plain(`failed to decode managed fields: ${stored.failure}`))
  }
  const managers = stored.success.size > 0
    ? stored.success
    : yield* track(
      { ...writer, manager: "before-first-apply" },
      Managers.none,
      LastApplied.emptyOf(apply.config),
      apply.live
    )
  let result = yield* attempt(writer, managers, apply)
  if (result._tag === "Conflicts") {
    // Only kubectl takes over fields from its own client-side apply.
    const allowed = writer.manager === "kubectl" ? LastApplied.ownedFields(writer.versions, apply.live) : undefined
    if (allowed === undefined) return yield* Effect.fail(Conflicts.refused(result.conflicts))
    const left = Conflicts.without(result.conflicts, allowed)
    if (left.size > 0) return yield* Effect.fail(Conflicts.refused(left))
    result = yield* attempt(writer, managers, { ...apply, force: true })
  }
  if (result._tag === "Conflicts") return yield* Effect.fail(Conflicts.refused(result.conflicts))
  const settled = settle(writer, managers, result, apply)
  return writer.manager === "kubectl" ? LastApplied.synchronized(settled, apply) : settled
}) as (writer: Writer, apply: Apply) => Effect.Effect<Applied, StatusError.StatusError>
