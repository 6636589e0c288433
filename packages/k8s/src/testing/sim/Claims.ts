/**
 * `Claims`: the objects that a controller's object owns, after adoption and release by its selector.
 *
 * An object without a controller that matches the selector is adopted; an owned one that no longer matches is released.
 * Before the first adoption the server is asked whether the owner still exists and is not being deleted. An owner that
 * is being deleted changes nothing.
 *
 * Source: k8s.io/kubernetes/pkg/controller/controller_ref_manager.go.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { KubeError } from "@effect-operator/core/KubeError"
import { controllerOf, controllerReference, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Selector from "@effect-operator/core/Selector"
import * as Effect from "effect/Effect"

export interface Claim<O extends KubeObject, A extends KubeObject> {
  readonly owner: O
  readonly ownerResource: Resource.Resource<O>
  readonly resource: Resource.Resource<A>
  /** Owned objects, and those without a controller. */
  readonly candidates: ReadonlyArray<A>
  readonly matches: (object: A) => boolean
  /** Finalizers that adoption adds and release removes. */
  readonly finalizers?: ReadonlyArray<string>
}

/** A matcher for a label selector; an absent or empty one matches nothing. */
export const matcher = (selector: Selector.LabelSelectorObject | undefined) => {
  const requirements = Selector.fromObject(selector) ?? []
  return (object: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }): boolean =>
    requirements.length > 0 && Selector.matchesLabels(requirements, object.metadata.labels)
}

/** The objects that the owner owns now. */
export const claim = Effect.fnUntraced(function*<O extends KubeObject, A extends KubeObject>(
  { candidates, finalizers, matches, owner, ownerResource, resource }: Claim<O, A>
): Effect.fn.Return<ReadonlyArray<A>, KubeError, KubeClient> {
  const client = yield* KubeClient
  const owned: Array<A> = []
  const adopted: Array<A> = []
  const released: Array<A> = []
  for (const object of candidates) {
    const controller = controllerOf(object)
    if (controller === undefined) {
      if (matches(object) && !isTerminating(owner) && !isTerminating(object)) adopted.push(object)
    } else if (controller.uid === owner.metadata.uid) {
      if (matches(object)) owned.push(object)
      else if (!isTerminating(owner)) released.push(object)
    }
  }
  if (adopted.length > 0) {
    const fresh = yield* client.get(ownerResource, owner)
    if (fresh.metadata.uid !== owner.metadata.uid || isTerminating(fresh)) return owned
  }
  const adoption = {
    ownerReferences: [controllerReference(owner)],
    ...(finalizers === undefined ? {} : { finalizers })
  }
  const release = {
    ownerReferences: [{ $patch: "delete", uid: owner.metadata.uid }],
    ...(finalizers === undefined ? {} : { "$deleteFromPrimitiveList/finalizers": finalizers })
  }
  const change = (object: A, metadata: object) =>
    client.patch(resource, object, Patch.strategic({ metadata: { uid: object.metadata.uid, ...metadata } }))
  for (const object of adopted) {
    const mine = yield* change(object, adoption).pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
    )
    if (mine !== undefined) owned.push(mine)
  }
  for (const object of released) {
    yield* change(object, release).pipe(
      // The object is gone or was re-created meanwhile.
      Effect.catchReason("KubeError", "NotFound", () => Effect.void),
      Effect.catchReason("KubeError", "Invalid", () => Effect.void)
    )
  }
  return owned
})
