/** Encodes objects, or some of their fields, as they are written to the server and stored. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as KubeError from "../KubeError.ts"
import type { PartialKubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"

type Options = { readonly subresource?: string | undefined } | undefined

/** Whether a subresource has another kind, as `scale` and `eviction` do: that passes through as it is. */
export const isForeign = (resource: Resource.Any, object: unknown, options: Options): boolean => {
  const { kind } = object as PartialKubeObject
  return options?.subresource !== undefined && kind !== undefined && kind !== resource.kind
}

/** A whole object, or some of its fields, encoded. Fails with `Decode` if they do not fit the Schema. */
export const stored = <A extends object>(
  call: KubeError.Call,
  resource: Resource.Any,
  what: "encode" | "encodeFields",
  object: A,
  options?: Options
): Effect.Effect<A, KubeError.KubeError> =>
  isForeign(resource, object, options)
    ? Effect.succeed(object)
    : Effect.fromResult(Result.mapBoth(resource[what](object), {
      onSuccess: (encoded) => encoded as A,
      onFailure: ({ issues }) =>
        KubeError.make(
          call,
          new KubeError.Decode({ message: `the object is not a valid ${resource.kind}: ${issues.join("; ")}`, issues })
        )
    }))
