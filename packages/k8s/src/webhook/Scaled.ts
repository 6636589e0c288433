/**
 * `Scaled`: a write of the scale subresource, as a hook for the kind sees it.
 *
 * The API server sends a Scale, which has only the replicas of the object. So the current object is read with the
 * client: that is the old object and, with the Scale's replicas at their path, the new one. If it cannot be read, there
 * is no verdict.
 */
import type * as CustomResource from "@effect-operator/core/CustomResource"
import { KubeClient } from "@effect-operator/core/KubeClient"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Review from "./Review.ts"

/** The path of the replicas in objects of a kind that can be scaled: `spec`, `replicas`. */
export const pathOf = (
  resource: Resource.Any & Partial<Pick<CustomResource.CustomResource, "scale">>
): ReadonlyArray<string> | undefined =>
  resource.subresources.includes("scale")
    ? (resource.scale?.specReplicasPath ?? ".spec.replicas").split(".").filter((key) => key !== "")
    : undefined

/** Turns a request about a Scale into a request about the object behind it. */
export const asked = Effect.fnUntraced(function*(
  resource: Resource.Any,
  path: ReadonlyArray<string>,
  asked: Review.Asked
) {
  const client = yield* Effect.serviceOption(KubeClient)
  if (Option.isNone(client)) {
    return yield* Effect.die(
      new Error(
        `a hook for ${resource.plural}/scale needs a KubeClient: provide one, or serve the hook with \`Webhook.layer\``
      )
    )
  }
  const { name, namespace } = asked
  const old = yield* client.value.get(Resource.unstructured(resource), { name, namespace })
  const spec = asked.object?.["spec"]
  // Go omits a zero.
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
