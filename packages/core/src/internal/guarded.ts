/** A JSON patch (RFC 6902) that applies only to the object that was read, never to the next one of its name. */
import * as Effect from "effect/Effect"
import { type JsonPatchOperation, KubeClient, Patch, type WriteOptions } from "../KubeClient.ts"
import * as KubeError from "../KubeError.ts"
import { key, type KubeObject } from "../KubeObject.ts"
import * as Resource from "../Resource.ts"
import { isStatus } from "../Status.ts"

/** Tests that nothing at all has changed since the object was read, for lack of anything more precise to test. */
export const unchanged = ({ metadata }: KubeObject): JsonPatchOperation => ({
  op: "test",
  path: "/metadata/resourceVersion",
  value: metadata.resourceVersion
})

/**
 * Sends the operations if the object still has the uid that was read. Fails with `Conflict` if it does not, if one of
 * the operations' own `test`s fails, or if what they change is gone.
 */
export const guarded = <A extends KubeObject>(
  resource: Resource.Resource<A>,
  object: A,
  operations: ReadonlyArray<JsonPatchOperation>,
  what: string,
  options: WriteOptions = {}
): Effect.Effect<A, KubeError.KubeError, KubeClient> =>
  KubeClient.use((client) =>
    client.patch(
      resource,
      object,
      Patch.json([{ op: "test", path: "/metadata/uid", value: object.metadata.uid }, ...operations]),
      options
    )
  ).pipe(
    // An operation that cannot be applied is answered with Invalid; it means that somebody else was faster. Only the
    // fault of a field (the finalizer's name, say) comes with causes, and stays Invalid.
    Effect.mapError((error) =>
      error.reason._tag === "Invalid" && !hasCauses(error.reason)
        ? KubeError.make(
          { verb: error.verb, resource: error.resource, ...key(object) },
          new KubeError.Conflict({
            message: `the ${what} of ${object.metadata.name} changed in the meantime: ${error.reason.message}`,
            code: 409
          })
        )
        : error
    )
  )

const hasCauses = ({ status }: KubeError.Invalid): boolean => isStatus(status) && status.details?.causes !== undefined
