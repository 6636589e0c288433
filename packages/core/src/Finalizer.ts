/**
 * Finalizers, kept by the framework: added before the first reconcile of an object, removed after its clean-up.
 *
 * Both are JSON patches guarded by `test` operations on the list that was seen, so they never touch another owner's
 * finalizer and never lose a concurrent change; a lost race is a `Conflict`, retried like any other.
 */
import * as Effect from "effect/Effect"
import { type JsonPatchOperation, KubeClient, Patch } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import { key, type KubeObject } from "./KubeObject.ts"
import type { Resource } from "./Resource.ts"
import { isStatus } from "./Status.ts"

export const has = (object: KubeObject, finalizer: string): boolean =>
  object.metadata.finalizers?.includes(finalizer) === true

const guarded = <A extends KubeObject>(
  resource: Resource<A>,
  object: A,
  operations: ReadonlyArray<JsonPatchOperation>
): Effect.Effect<A, KubeError.KubeError, KubeClient> =>
  Effect.flatMap(KubeClient, (client) =>
    client.patch(
      resource,
      object,
      Patch.json([{ op: "test", path: "/metadata/uid", value: object.metadata.uid }, ...operations])
    )).pipe(
      // A failed `test` is answered as Invalid; what it means is that somebody else was faster. Only the fault of a
      // field (the finalizer's name, say) comes with causes, and stays what it is.
      Effect.mapError((error) =>
        error.reason._tag === "Invalid" && !hasCauses(error.reason)
          ? KubeError.make(
            { verb: error.verb, resource: error.resource, ...key(object) },
            new KubeError.Conflict({
              message: `the finalizers of ${object.metadata.name} changed meanwhile: ${error.reason.message}`,
              code: 409
            })
          )
          : error
      )
    )

const hasCauses = ({ status }: KubeError.Invalid): boolean => isStatus(status) && status.details?.causes !== undefined

/** Adds the finalizer; answers the object with it. */
export const add = <A extends KubeObject>(resource: Resource<A>, object: A, finalizer: string) => {
  const seen = object.metadata.finalizers
  return guarded(
    resource,
    object,
    seen === undefined || seen.length === 0
      ? [
        // With nothing to test against, the resourceVersion stands guard.
        { op: "test", path: "/metadata/resourceVersion", value: object.metadata.resourceVersion },
        { op: "add", path: "/metadata/finalizers", value: [finalizer] }
      ]
      : [
        { op: "test", path: "/metadata/finalizers", value: seen },
        { op: "add", path: "/metadata/finalizers/-", value: finalizer }
      ]
  )
}

/** Removes the finalizer, which lets the object go if it was the last. An object already gone is no failure. */
export const remove = <A extends KubeObject>(resource: Resource<A>, object: A, finalizer: string) => {
  const index = object.metadata.finalizers?.indexOf(finalizer) ?? -1
  return index < 0
    ? Effect.void
    : guarded(resource, object, [
      { op: "test", path: `/metadata/finalizers/${index}`, value: finalizer },
      { op: "remove", path: `/metadata/finalizers/${index}` }
    ]).pipe(Effect.asVoid, Effect.catchReason("KubeError", "NotFound", () => Effect.void))
}
