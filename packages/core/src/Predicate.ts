/**
 * Predicates: which changes are worth a reconcile. They see the delta, before and after.
 *
 * A deletion, an addition and a change of uid always pass a `changed` predicate: an object re-created under the same
 * name is another object, whatever its fields say.
 */
import type { Delta } from "./Delta.ts"
import { isTerminating, type KubeObject } from "./KubeObject.ts"

export type Predicate<in A extends KubeObject = KubeObject> = (delta: Delta<A>) => boolean

/** Passes an update if `select` gives another value for the new state; everything else passes. Compared as JSON. */
export const changed = <A extends KubeObject>(select: (object: A) => unknown): Predicate<A> => (delta) =>
  delta._tag !== "Updated" || isTerminating(delta.object) !== isTerminating(delta.old) ||
  JSON.stringify(select(delta.old)) !== JSON.stringify(select(delta.object))

/** The desired state changed: an own status write does not pass. For kinds without generation everything passes. */
export const generationChanged: Predicate = (delta) =>
  delta._tag !== "Updated" || delta.object.metadata.generation === undefined ||
  delta.old.metadata.generation !== delta.object.metadata.generation

export const labelsChanged: Predicate = changed((object) => object.metadata.labels)

export const annotationsChanged: Predicate = changed((object) => object.metadata.annotations)

export const any = <A extends KubeObject>(...predicates: ReadonlyArray<Predicate<A>>): Predicate<A> => (delta) =>
  predicates.some((predicate) => predicate(delta))

export const all = <A extends KubeObject>(...predicates: ReadonlyArray<Predicate<A>>): Predicate<A> => (delta) =>
  predicates.every((predicate) => predicate(delta))

export const not = <A extends KubeObject>(predicate: Predicate<A>): Predicate<A> => (delta) => !predicate(delta)
