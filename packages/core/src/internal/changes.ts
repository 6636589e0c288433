/**
 * The changes of a selection for one reader, each computed when it is read.
 *
 * Two things are remembered: the state of each object that the reader received last, and which objects have changed
 * since. The reader gets the difference to their current state. So it may be as slow as it likes, several informers
 * with the same object count as one, and an object that begins or ceases to match the reader's conditions is added or
 * deleted.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import type { Delta } from "../Delta.ts"
import type { Informer } from "../Informers.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"
import type { LabelsInput } from "../Selector.ts"
import { matchesLabels } from "../Selector.ts"
import { freeze } from "./freeze.ts"
import { newest, toSelector } from "./reader.ts"

/** The objects at the start, and every change since. An object re-created under its name is deleted and added. */
export type Change<A extends KubeObject = KubeObject> =
  | { readonly _tag: "Snapshot"; readonly objects: ReadonlyArray<A> }
  | Exclude<Delta<A>, { readonly _tag: "Invalid" }>

export interface Options {
  readonly namespace?: string | undefined
  readonly labels?: LabelsInput | undefined
  readonly filter?: ((object: KubeObject) => boolean) | undefined
}

/** The stream of one reader over informers. */
export const stream = (informers: ReadonlyArray<Informer>, options: Options): Stream.Stream<Change> =>
  Stream.unwrap(Effect.gen(function*() {
    const selector = toSelector(options.labels)
    const matches = (object: KubeObject): boolean =>
      (options.namespace === undefined || object.metadata.namespace === options.namespace) &&
      matchesLabels(selector, object.metadata.labels) && (options.filter === undefined || options.filter(object))
    const shown = new Map<string, KubeObject>()
    const dirty = new Set<string>()
    const changed = yield* Latch.make()
    for (const informer of informers) {
      yield* informer.subscribe((deltas) => {
        for (const delta of deltas) dirty.add(keyString(delta._tag === "Invalid" ? delta.raw : delta.object))
        changed.openUnsafe()
      })
    }

    /** The differences since the last call, after which each object's state counts as received. */
    const take = (): ReadonlyArray<Change> => {
      const changes: Array<Change> = []
      for (const key of dirty) {
        const old = shown.get(key)
        const found = newest(informers, key, true)
        const object = found !== undefined && matches(found) ? freeze(found) : undefined
        if (object === undefined) shown.delete(key)
        else shown.set(key, object)
        changes.push(...difference(old, object))
      }
      dirty.clear()
      changed.closeUnsafe()
      return changes
    }

    const snapshot = Effect.sync((): ReadonlyArray<Change> => {
      take()
      return [{ _tag: "Snapshot", objects: [...shown.values()] }]
    })
    const next = Effect.andThen(changed.await, Effect.sync(take))
    return Stream.fromEffect(snapshot).pipe(Stream.concat(Stream.fromEffectRepeat(next)), Stream.flattenIterable)
  }))

const difference = (old: KubeObject | undefined, object: KubeObject | undefined): ReadonlyArray<Change> => {
  if (old === object) return []
  if (object === undefined) return [{ _tag: "Deleted", object: old! }]
  if (old === undefined) return [{ _tag: "Added", object }]
  if (old.metadata.uid !== object.metadata.uid) return [{ _tag: "Deleted", object: old }, { _tag: "Added", object }]
  return old.metadata.resourceVersion === object.metadata.resourceVersion ? [] : [{ _tag: "Updated", old, object }]
}
