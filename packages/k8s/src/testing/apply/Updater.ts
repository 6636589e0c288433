/**
 * `Updater`: how a change of an object affects the ownership of its fields, and how an apply changes the object.
 *
 * An update owns what it changes, and previous owners lose it. An apply owns what it contains. Fields that its previous
 * configuration contained and the new one does not are removed, unless another manager owns them. Changing fields of
 * other managers is a conflict, unless it is forced. Sets are paths in the version in which they were written, so
 * objects are compared in every version that occurs.
 *
 * This module knows no manager names, times or entries; see `FieldManager`.
 *
 * Source: sigs.k8s.io/structured-merge-diff/merge/update.go.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Comparison from "./Comparison.ts"
import type { Conflicts } from "./Conflicts.ts"
import { fieldsOf } from "./Fields.ts"
import * as FieldSet from "./FieldSet.ts"
import type { Managers, Owner } from "./Managers.ts"
import * as Merging from "./Merging.ts"
import * as SchemaChanges from "./SchemaChanges.ts"
import * as StatusError from "../../api/StatusError.ts"
import type { Type } from "./Types.ts"

/** An object, or none yet. */
export type Value = unknown

/** The versions of a resource. */
export interface Versions {
  /** The version of the request, and of all given objects. */
  readonly own: string
  /** The type of a version; undefined for an unknown version, whose sets are dropped. */
  readonly typeOf: (version: string) => Type | undefined
  /** Converts an object to another version that has a type; fails if it does not match there. */
  readonly convert: (object: Value, from: string, to: string) => Effect.Effect<Value, StatusError.StatusError>
  /** The set without the fields that writes here cannot change in that version. */
  readonly reach: (version: string, set: FieldSet.FieldSet) => FieldSet.FieldSet
}

interface Drafts extends Map<string, Owner> {}

const typed = (versions: Versions, version: string): Type => versions.typeOf(version)!

const reached = (
  versions: Versions,
  version: string,
  { added, modified, removed }: Comparison.Comparison
): Comparison.Comparison =>
  Comparison.make(
    versions.reach(version, added),
    versions.reach(version, modified),
    versions.reach(version, removed)
  )

type Converted = Effect.Effect<Value, StatusError.StatusError>

/** Converts an object from the version of the request. */
const inVersion = (versions: Versions, object: Value, version: string): Converted =>
  version === versions.own ? Effect.succeed(object) : versions.convert(object, versions.own, version)

/** Adds the purpose of a conversion to its failure. */
const because = (words: string, converted: Converted): Converted =>
  Effect.mapError(converted, ({ body }) => StatusError.plain(`${words}: ${body.message}`))

/** Sets adapted to the current schemas; those of unknown versions are dropped. */
const current = (versions: Versions, managers: Managers): Drafts => {
  const out: Drafts = new Map()
  for (const [id, owner] of managers) {
    const type = versions.typeOf(owner.apiVersion)
    if (type === undefined) continue
    const fields = SchemaChanges.reconcile(type, owner.fields)
    out.set(id, fields === owner.fields ? owner : { ...owner, fields })
  }
  return out
}

/** The versions of sets other than that of the request; undefined if there are none, which is usual. */
const foreign = ({ own }: Versions, managers: Managers): ReadonlySet<string> | undefined => {
  let found: Set<string> | undefined
  for (const { apiVersion } of managers.values()) if (apiVersion !== own) (found ??= new Set()).add(apiVersion)
  return found
}

/** Fails if the object cannot be converted to the version of every set. */
const convertible = (
  versions: Versions,
  managers: Managers,
  live: Value
): Effect.Effect<void, StatusError.StatusError> => {
  const others = foreign(versions, managers)
  return others === undefined
    ? Effect.void
    : Effect.forEach(others, (version) => inVersion(versions, live, version), { discard: true })
}

/** Compares two objects in the version of the request. */
const compareOwn = (
  versions: Versions,
  before: Value,
  after: Value,
  form: "structs" | "plain"
): Map<string, Comparison.Comparison> => {
  const own = Comparison.compare(typed(versions, versions.own), before, after, form)
  return new Map([[versions.own, reached(versions, versions.own, own)]])
}

/** Compares two objects in the version of every set. */
const comparisons = (
  versions: Versions,
  managers: Managers,
  before: Value,
  after: Value,
  form: "structs" | "plain"
): Effect.Effect<ReadonlyMap<string, Comparison.Comparison>, StatusError.StatusError> => {
  const out = compareOwn(versions, before, after, form)
  const others = foreign(versions, managers)
  if (others === undefined) return Effect.succeed(out)
  return Effect.gen(function*() {
    for (const version of others) {
      const left = yield* because("failed to convert old object", inVersion(versions, before, version))
      const right = yield* because("failed to convert new object", inVersion(versions, after, version))
      out.set(
        version,
        reached(versions, version, Comparison.compare(versions.typeOf(version)!, left, right, "structs"))
      )
    }
    return out
  })
}

/** The changed fields of other managers. */
const conflictsOf = (
  managers: Managers,
  workflow: string | undefined,
  compared: ReadonlyMap<string, Comparison.Comparison>
): Conflicts => {
  const conflicts = new Map<string, Owner>()
  for (const [id, owner] of managers) {
    if (id === workflow) continue
    const fields = FieldSet.intersection(owner.fields, compared.get(owner.apiVersion)!.changed)
    if (!FieldSet.isEmpty(fields)) conflicts.set(id, { ...owner, fields })
  }
  return conflicts
}

/** Removes changed and removed fields from other managers, and managers without fields. */
const dispossess = (
  versions: Versions,
  managers: Drafts,
  workflow: string | undefined,
  conflicts: Conflicts,
  compared: ReadonlyMap<string, Comparison.Comparison>
): void => {
  for (const [id, owner] of managers) {
    let { fields } = owner
    if (id !== workflow) {
      const taken = conflicts.get(id)
      if (taken !== undefined) fields = FieldSet.difference(fields, taken.fields)
      fields = FieldSet.difference(fields, compared.get(owner.apiVersion)!.removed)
    }
    if (FieldSet.isEmpty(fields)) managers.delete(id)
    else if (fields !== owner.fields) {
      managers.set(id, { ...owner, fields: SchemaChanges.fits(typed(versions, owner.apiVersion), fields) })
    }
  }
}

/** The ownership after an update. */
export interface Updated {
  readonly managers: Managers
  /** The fields that the update itself owns now. */
  readonly fields: FieldSet.FieldSet
}

const updated = (
  versions: Versions,
  drafts: Drafts,
  compared: ReadonlyMap<string, Comparison.Comparison>
): Updated => {
  dispossess(versions, drafts, undefined, conflictsOf(drafts, undefined, compared), compared)
  return { managers: drafts, fields: versions.reach(versions.own, compared.get(versions.own)!.changed) }
}

/** Like `update` if all sets have the version of the request, which is usual; undefined otherwise. */
export const updateNow = (versions: Versions, managers: Managers, before: Value, after: Value): Updated | undefined => {
  const drafts = current(versions, managers)
  return foreign(versions, drafts) === undefined
    ? updated(versions, drafts, compareOwn(versions, before, after, "structs"))
    : undefined
}

/** The ownership after an object was replaced by another. */
export const update = (
  versions: Versions,
  managers: Managers,
  before: Value,
  after: Value
): Effect.Effect<Updated, StatusError.StatusError> => {
  const drafts = current(versions, managers)
  return convertible(versions, drafts, before).pipe(
    Effect.andThen(comparisons(versions, drafts, before, after, "structs")),
    Effect.map((compared) => updated(versions, drafts, compared))
  )
}

/** The object and its ownership after an apply, or its conflicts. */
export type Applied =
  | { readonly _tag: "Applied"; readonly object: Value; readonly managers: Managers }
  | { readonly _tag: "Conflicts"; readonly conflicts: Conflicts }

/** The fields of a value, with the declared fields above them. */
const named = (type: Type, object: Value): FieldSet.FieldSet => FieldSet.withNamedFields(fieldsOf(type, object), type)

/**
 * Restores fields that other managers own or the new configuration contains: removes from `merged` what `pruned` lacks
 * and `owned` does not contain. Both are objects of the type's version.
 */
const addBackOwned = (type: Type, merged: Value, pruned: Value, owned: FieldSet.FieldSet): Value => {
  const kept = FieldSet.union(named(type, pruned), FieldSet.withNamedFields(owned, type))
  return Merging.remove(type, merged, FieldSet.difference(named(type, merged), kept))
}

/** Restores fields that the applier may not remove, because it did not own them. */
const addBackDangling = (type: Type, merged: Value, pruned: Value, last: FieldSet.FieldSet): Value => {
  const gone = FieldSet.difference(named(type, merged), named(type, pruned))
  return Merging.remove(type, merged, FieldSet.intersection(gone, FieldSet.withNamedFields(last, type)))
}

/** Removes fields that the previous configuration contained, the new one does not, and no other manager owns. */
const prune = Effect.fnUntraced(function*(versions: Versions, merged: Value, managers: Managers, last: Owner) {
  const version = last.apiVersion
  const type = versions.typeOf(version)
  if (type === undefined) return merged
  const base = yield* because(
    "failed to convert merged object to last applied version",
    inVersion(versions, merged, version)
  )
  const owned = new Map<string, FieldSet.FieldSet>()
  for (const { apiVersion, fields } of managers.values()) {
    owned.set(apiVersion, FieldSet.union(owned.get(apiVersion) ?? FieldSet.empty, fields))
  }
  let pruned = Merging.remove(type, base, FieldSet.withNamedFields(last.fields, type))
  const mine = owned.get(version)
  // First in the version of the removed fields, since a conversion may need what is restored.
  if (mine !== undefined) pruned = addBackOwned(type, base, pruned, mine)
  for (const [other, fields] of owned) {
    if (other === version || versions.typeOf(other) === undefined) continue
    const there = (name: string, object: Value) =>
      because(
        `failed add back owned items: failed to convert ${name} object at version ${other}`,
        versions.convert(object, version, other)
      )
    const from = yield* there("merged", base)
    const to = addBackOwned(typed(versions, other), from, yield* there("pruned", pruned), fields)
    pruned = yield* because(
      "failed add back dangling items: failed to convert pruned object to last applied version",
      versions.convert(to, other, version)
    )
  }
  const complete = addBackDangling(type, base, pruned, last.fields)
  return version === versions.own ? complete : yield* versions.convert(complete, version, versions.own)
})

/** Applies a configuration as the manager `applier`. The configuration must match its type. */
export const apply = Effect.fnUntraced(function*(
  versions: Versions,
  managers: Managers,
  live: Value,
  config: Value,
  applier: { readonly id: string; readonly owner: Omit<Owner, "fields"> },
  force: boolean
) {
  const type = typed(versions, versions.own)
  const drafts = current(versions, managers)
  yield* convertible(versions, drafts, live)
  const last = drafts.get(applier.id)
  const merged = Merging.merge(type, live, config)
  if (Result.isFailure(merged)) {
    return yield* Effect.fail(StatusError.plain(`failed to merge config: ${merged.failure}`))
  }
  drafts.set(applier.id, { ...applier.owner, fields: versions.reach(versions.own, fieldsOf(type, config)) })
  const object = last === undefined || FieldSet.isEmpty(last.fields)
    ? merged.success
    : yield* because("failed to prune fields", prune(versions, merged.success, drafts, last))
  const compared = yield* comparisons(versions, drafts, live, object, "plain")
  const conflicts = conflictsOf(drafts, applier.id, compared)
  if (!force && conflicts.size > 0) return { _tag: "Conflicts", conflicts } satisfies Applied
  dispossess(versions, drafts, applier.id, conflicts, compared)
  return { _tag: "Applied", object, managers: drafts } satisfies Applied
}) as (
  versions: Versions,
  managers: Managers,
  live: Value,
  config: Value,
  applier: { readonly id: string; readonly owner: Omit<Owner, "fields"> },
  force: boolean
) => Effect.Effect<Applied, StatusError.StatusError>
