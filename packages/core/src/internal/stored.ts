/** What is written to the server of an object, or of some of its fields: as it is stored. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as KubeError from "../KubeError.ts"
import type { PartialKubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"

type Options = { readonly subresource?: string | undefined } | undefined

/** Whether a subresource speaks of another kind, as `scale` and `eviction` do: that goes through as it is. */
export const isForeign = (resource: Resource.Any, object: unknown, options: Options): boolean => {
  const { kind } = object as PartialKubeObject
  return options?.subresource !== undefined && kind !== undefined && kind !== resource.kind
}

/** A whole object, or the fields that are there of one. Fails with `Decode` where they do not fit the Schema. */
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
          new KubeError.Decode({ message: `the object is no ${resource.kind}: ${issues.join("; ")}`, issues })
        )
    }))
