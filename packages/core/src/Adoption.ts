/**
 * `Adoption`: which dependents belong to an owner, by label and controller reference, as a ReplicaSet claims its Pods.
 *
 * An object that matches the selector and has no controller is adopted: the owner becomes its controller. An object
 * that has the owner as its controller but no longer matches is released. An object of another controller is left
 * alone. An owner that is being deleted adopts nothing. The server decides that, not the cache, so that an object that
 * has just been deleted gets no new dependents.
 *
 * A shard of a `Ring` caches only children that carry its label, and orphans carry none. There, orphans are listed on the
 * server, in every claim, and get the label when they are adopted.
 *
 * Source: k8s.io/kubernetes/pkg/controller/controller_ref_manager.go.
 */
import * as Effect from "effect/Effect"
import * as Cache from "./Cache.ts"
import * as Crossing from "./internal/crossing.ts"
import { KubeClient, Patch, Writing } from "./KubeClient.ts"
import type * as KubeError from "./KubeError.ts"
import { controllerOf, controllerReference, isTerminating, type KubeObject } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"
import { type LabelSelector, type LabelsInput, matchesLabels, toLabels } from "./Selector.ts"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"

/**
 * Whether an object still exists and is not being deleted, by a read from the server. The cache may come from a server
 * that lags behind: call this before you create, for the object, something that garbage collection would not remove
 * with it.
 */
export const isAlive = Effect.fn("Adoption.isAlive")(function*<A extends KubeObject>(
  resource: Resource.Resource<A>,
  object: A
): Effect.fn.Return<boolean, KubeError.KubeError, KubeClient> {
  const client = yield* KubeClient
  return yield* client.get(resource, object.metadata).pipe(
    Effect.map((fresh) => fresh.metadata.uid === object.metadata.uid && !isTerminating(fresh)),
    Effect.catchReason("KubeError", "NotFound", () => Effect.succeed(false))
  )
})

/** The owner's dependents of a kind in its namespace, after adoption and release. The kind must be cached. */
export const claim = Effect.fn("Adoption.claim")(function*<
  O extends KubeObject,
  OId extends string,
  A extends KubeObject,
  Id extends string
>(
  owner: { readonly resource: Resource.Resource<O, OId>; readonly object: O },
  resource: Resource.Resource<A, Id>,
  labels: LabelsInput
): Effect.fn.Return<ReadonlyArray<A>, KubeError.KubeError, KubeClient | Cache.Cached<Id>> {
  const { object } = owner
  if (owner.resource.cluster !== resource.cluster) {
    return yield* Effect.die(new Error(`Adoption.claim: ${Crossing.told(resource, owner.resource, object)}`))
  }
  const selector = Result.getOrThrowWith(toLabels(labels), (why) => new Error(`Adoption.claim: labels: ${why}`))
  const cached = yield* Cache.list(resource, { namespace: object.metadata.namespace })
  const found = [...cached, ...yield* orphansElsewhere(resource, object, selector, cached)]
  const claimed: Array<A> = []
  let mayAdopt: boolean | undefined

  for (const dependent of found) {
    const controller = controllerOf(dependent)
    const matches = matchesLabels(selector, dependent.metadata.labels)
    if (controller?.uid === object.metadata.uid) {
      if (matches) claimed.push(dependent)
      else yield* release(resource, dependent, object)
      continue
    }
    if (controller !== undefined || !matches || isTerminating(dependent) || isTerminating(object)) continue
    // Read once, and only if there is something to adopt.
    mayAdopt ??= yield* isAlive(owner.resource, object)
    if (!mayAdopt) continue
    const adopted = yield* adopt(resource, dependent, object)
    if (adopted !== undefined) claimed.push(adopted)
  }
  return claimed
})

/** Orphans that the cache does not show, because it shows only objects that are marked as those of an owner here. */
const orphansElsewhere = Effect.fnUntraced(function*<A extends KubeObject>(
  resource: Resource.Resource<A>,
  owner: KubeObject,
  selector: LabelSelector,
  cached: ReadonlyArray<A>
) {
  const { mark } = yield* Writing
  const child = { metadata: { ownerReferences: [controllerReference(owner)] } }
  if (mark === undefined || mark(resource, child) === child) return []
  const client = yield* KubeClient
  const known = new Set(cached.map(({ metadata: { uid } }) => uid))
  const all = yield* Stream.runCollect(
    client.list(Resource.unstructured(resource), { namespace: owner.metadata.namespace, labels: selector })
  )
  return all.flatMap((object): ReadonlyArray<A> => {
    if (known.has(object.metadata.uid) || controllerOf(object) !== undefined) return []
    const decoded = resource.decode(object)
    return Result.isSuccess(decoded) ? [decoded.success] : []
  })
})

/** An object that was deleted meanwhile is neither adopted nor released. */
const unlessGone = <A, R>(write: Effect.Effect<A, KubeError.KubeError, R>) =>
  Effect.catchReason(write, "KubeError", "NotFound", () => Effect.undefined)

const adopt = <A extends KubeObject>(resource: Resource.Resource<A>, dependent: A, owner: KubeObject) =>
  Effect.flatMap(Writing, ({ mark }) => {
    const { labels, resourceVersion, uid } = dependent.metadata
    const ownerReferences = [...(dependent.metadata.ownerReferences ?? []), controllerReference(owner)]
    const owned = { metadata: { labels, ownerReferences } }
    const marked = (mark?.(resource, owned) ?? owned).metadata
    // If the object was recreated or changed, this is a Conflict: the decision was about another state.
    const metadata = { uid, resourceVersion, ownerReferences }
    return unlessGone(KubeClient.use((client) =>
      client.patch(
        resource,
        dependent,
        Patch.merge({ metadata: marked.labels === labels ? metadata : { ...metadata, labels: marked.labels } })
      )
    ))
  })

const release = <A extends KubeObject>(resource: Resource.Resource<A>, dependent: A, owner: KubeObject) =>
  unlessGone(KubeClient.use((client) =>
    client.patch(
      resource,
      dependent,
      Patch.merge({
        metadata: {
          uid: dependent.metadata.uid,
          resourceVersion: dependent.metadata.resourceVersion,
          ownerReferences: (dependent.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid)
        }
      })
    )
  ))
