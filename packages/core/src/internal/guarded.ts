/** A JSON patch (RFC 6902) that holds for the very object that was read, never for the next one of its name. */
import * as Effect from "effect/Effect"
import { type JsonPatchOperation, KubeClient, Patch, type WriteOptions } from "../KubeClient.ts"
import * as KubeError from "../KubeError.ts"
import { key, type KubeObject } from "../KubeObject.ts"
import * as Resource from "../Resource.ts"
import { isStatus } from "../Status.ts"

/** That nothing at all has changed since the object was read: where there is nothing more precise to test. */
export const unchanged = ({ metadata }: KubeObject): JsonPatchOperation => ({
  op: "test",
  path: "/metadata/resourceVersion",
  value: metadata.resourceVersion
})

/**
 * Sends the operations if the object's uid is the one that was read. Fails with `Conflict` where it is not, where one of
 * the operations' own `test`s does not hold, or where what they change is not there any more.
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
    // An operation that cannot be done is answered as Invalid; what it means is that somebody else was faster. Only the
    // fault of a field (the finalizer's name, say) comes with causes, and stays what it is.
    Effect.mapError((error) =>
      error.reason._tag === "Invalid" && !hasCauses(error.reason)
        ? KubeError.make(
          { verb: error.verb, resource: error.resource, ...key(object) },
          new KubeError.Conflict({
            message: `the ${what} of ${object.metadata.name} changed meanwhile: ${error.reason.message}`,
            code: 409
          })
        )
        : error
    )
  )

const hasCauses = ({ status }: KubeError.Invalid): boolean => isStatus(status) && status.details?.causes !== undefined
