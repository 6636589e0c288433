/**
 * `Scaled`: a write of the scale subresource, as a hook for the kind sees it.
 *
 * The API server asks about a Scale, which has the replicas and nothing else of the object. So the object is read, with
 * the client, as it is now: that is the old one, and with the replicas of the Scale at their path it is the new one.
 * Where it cannot be read there is no verdict.
 */
import type * as CustomResource from "@effect-operator/core/CustomResource"
import { KubeClient } from "@effect-operator/core/KubeClient"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Review from "./Review.ts"

/** Where the replicas are in objects of a kind that can be scaled: `spec`, `replicas`. */
export const pathOf = (
  resource: Resource.Any & Partial<Pick<CustomResource.CustomResource, "scale">>
): ReadonlyArray<string> | undefined =>
  resource.subresources.includes("scale")
    ? (resource.scale?.specReplicasPath ?? ".spec.replicas").split(".").filter((key) => key !== "")
    : undefined

/** What is asked about a Scale, as a question about the object behind it. */
export const asked = Effect.fnUntraced(function*(
  resource: Resource.Any,
  path: ReadonlyArray<string>,
  asked: Review.Asked
) {
  const client = yield* Effect.serviceOption(KubeClient)
  if (Option.isNone(client)) {
    return yield* Effect.die(
      new Error(`a hook for ${resource.plural}/scale needs a KubeClient: \`Webhook.layer\` has it`)
    )
  }
  const { name, namespace } = asked
  const old = yield* client.value.get(Resource.unstructured(resource), { name, namespace })
  const spec = asked.object?.["spec"]
  // Go leaves a zero out.
  const replicas = Review.isObject(spec) ? spec["replicas"] ?? 0 : 0
  const oldObject: Review.JsonObject = { ...old }
  return { ...asked, oldObject, object: withAt(oldObject, path, replicas) as Review.JsonObject } satisfies Review.Asked
})

const withAt = (value: unknown, [key, ...rest]: ReadonlyArray<string>, leaf: unknown): unknown =>
  key === undefined
    ? leaf
    : {
      ...(Review.isObject(value) ? value : {}),
      [key]: withAt(Review.isObject(value) ? value[key] : undefined, rest, leaf)
    }
