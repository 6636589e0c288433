/**
 * `Finalizer`: finalizers managed by the framework, added before the first reconcile of an object and removed after its
 * clean-up.
 *
 * Both are JSON patches guarded by `test` operations on the list that was read, so they never touch another owner's
 * finalizer and never lose a concurrent change. A lost race is a `Conflict`, retried like any other.
 */
import * as Effect from "effect/Effect"
import { guarded, unchanged } from "./internal/guarded.ts"
import type { Delta } from "./Delta.ts"
import { isTerminating, type KubeObject } from "./KubeObject.ts"
import type { Resource } from "./Resource.ts"

export const has = (object: KubeObject, finalizer: string): boolean =>
  object.metadata.finalizers?.includes(finalizer) === true

/** Whether this change is the first that shows the object terminating with this finalizer. */
export const isDue = (delta: Delta, finalizer: string): boolean => {
  const waits = (object: KubeObject) => isTerminating(object) && has(object, finalizer)
  return delta._tag === "Added"
    ? waits(delta.object)
    : delta._tag === "Updated" && waits(delta.object) && !waits(delta.old)
}

/** Adds the finalizer and returns the updated object. */
export const add = <A extends KubeObject>(resource: Resource<A>, object: A, finalizer: string) => {
  const seen = object.metadata.finalizers
  return guarded(
    resource,
    object,
    seen === undefined || seen.length === 0
      ? [
        unchanged(object),
        { op: "add", path: "/metadata/finalizers", value: [finalizer] }
      ]
      : [
        { op: "test", path: "/metadata/finalizers", value: seen },
        { op: "add", path: "/metadata/finalizers/-", value: finalizer }
      ],
    "finalizers"
  )
}

/**
 * Removes the finalizer; if it was the last, the object is deleted. An object that is already gone is not a failure.
 */
export const remove = <A extends KubeObject>(resource: Resource<A>, object: A, finalizer: string) => {
  const index = object.metadata.finalizers?.indexOf(finalizer) ?? -1
  return index < 0
    ? Effect.void
    : guarded(
      resource,
      object,
      [
        { op: "test", path: `/metadata/finalizers/${index}`, value: finalizer },
        { op: "remove", path: `/metadata/finalizers/${index}` }
      ],
      "finalizers"
    ).pipe(Effect.asVoid, Effect.catchReason("KubeError", "NotFound", () => Effect.void))
}
