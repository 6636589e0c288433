/**
 * `FieldManager`: metadata.managedFields through every kind of write.
 *
 * `updated` is asked by creates, updates and patches, once the object is read and defaulted but before admission and the
 * kind's own rules: what those set belongs to nobody. `applied` merges an applied configuration into the object. Both
 * never own the parts of an object that are not configuration: apiVersion, kind, names, and what the server sets.
 *
 * An object that nobody owns (its managedFields were cleared) is not tracked again until it is applied; then what is
 * there belongs to `before-first-apply`.
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

/** Who writes, through what, and when. */
export interface Writer {
  readonly versions: Updater.Versions
  readonly manager: string
  /** `""` for the object itself. */
  readonly subresource: string
  /** A time as entries have it. */
  readonly time: string
}

/** What nobody owns. */
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
 * The managers before a write: those the request gives, if it gives any and may; otherwise those of the object. A client
 * that knows nothing of managedFields takes nothing away.
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

/** The managers after what an update owns is its writer's. */
const credited = (writer: Writer, updated: Updater.Updated): Managers.Managers => {
  const fields = FieldSet.difference(updated.fields, unowned)
  if (FieldSet.isEmpty(fields)) return Managers.capped(updated.managers)
  const owner = ownerOf(writer, "Update")
  const id = Managers.identity(owner)
  const own = updated.managers.get(id)?.fields ?? FieldSet.empty
  const all = SchemaChanges.fits(writer.versions.typeOf(writer.versions.own)!, FieldSet.union(fields, own))
  return Managers.capped(new Map(updated.managers).set(id, { ...owner, fields: all }))
}

/** The managers after an update by somebody. */
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
 * The managedFields after the server itself changed an object it has: at once, for nothing is converted. Where that would
 * be needed, they stay.
 */
export const touched = (writer: Writer, live: unknown, next: unknown, entries: Entries): Entries => {
  const managers = decoded(entries)
  if (managers.size === 0) return undefined
  const updated = Updater.updateNow(writer.versions, managers, live, next)
  return updated === undefined ? entries : Managers.encode(credited(writer, updated), entries)
}

/** A write that is no apply. */
export interface Update {
  /** The object as it was; of a creation, an empty one. */
  readonly live: unknown
  readonly liveEntries: Entries
  readonly creates: boolean
  /** The object as it is to be, without managedFields. */
  readonly next: unknown
  /** The managedFields of the request. */
  readonly given: Entries
}

/** The managedFields after an update; `undefined` for none. A fault in it all means none, too: a write never fails here. */
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
  /** Undefined if nothing but the ownership changes. */
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

/** The time of an entry changes only with the object; the entry loses what nobody owns. */
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

/** The object and its managedFields after an apply; the configuration fits the type of its version. */
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
    // Only kubectl takes over what it applied from the client's side.
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
