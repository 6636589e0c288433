/**
 * `Predicate`: which changes are worth a reconcile. Predicates see the delta, with the object before and after.
 *
 * An addition, a deletion, its beginning (`deletionTimestamp`) and a change of uid pass every predicate named
 * `…Changed`: an object that is recreated under the same name is another object, whatever its fields say. If a
 * predicate throws, the change passes, and the error is reported like an object that does not decode.
 */
import type { Delta } from "./Delta.ts"
import { isTerminating, type KubeObject } from "./KubeObject.ts"

export type Predicate<in A extends KubeObject = KubeObject> = (delta: Delta<A>) => boolean

/** Drops an update that leaves what matters unchanged, but never another object or the beginning of a deletion. */
const unless = <A extends KubeObject>(same: (old: A, object: A) => boolean): Predicate<A> => (delta) =>
  delta._tag !== "Updated" || delta.old.metadata.uid !== delta.object.metadata.uid ||
  isTerminating(delta.old) !== isTerminating(delta.object) || !same(delta.old, delta.object)

/** Passes an update if `select` returns another value for the new state, compared as JSON; everything else passes. */
export const changed = <A extends KubeObject>(select: (object: A) => unknown): Predicate<A> =>
  unless((old, object) => JSON.stringify(select(old)) === JSON.stringify(select(object)))

/**
 * Passes changes of the desired state; a status write does not pass. For kinds without generation everything passes.
 */
export const generationChanged: Predicate = unless(({ metadata: old }, { metadata }) =>
  metadata.generation !== undefined && metadata.generation === old.generation
)

export const labelsChanged: Predicate = changed((object) => object.metadata.labels)

export const annotationsChanged: Predicate = changed((object) => object.metadata.annotations)

/** Combines predicates. Where the kind is known, functions in them need no type; otherwise they determine the kind. */
interface Combine {
  <A extends KubeObject>(...predicates: ReadonlyArray<Predicate<NoInfer<A>>>): Predicate<A>
  <A extends KubeObject>(...predicates: ReadonlyArray<Predicate<A>>): Predicate<A>
}

export const any: Combine =
  <A extends KubeObject>(...predicates: ReadonlyArray<Predicate<A>>): Predicate<A> => (delta) =>
    predicates.some((predicate) => predicate(delta))

export const all: Combine =
  <A extends KubeObject>(...predicates: ReadonlyArray<Predicate<A>>): Predicate<A> => (delta) =>
    predicates.every((predicate) => predicate(delta))

export const not = <A extends KubeObject>(predicate: Predicate<A>): Predicate<A> => (delta) => !predicate(delta)
