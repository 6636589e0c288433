/**
 * `Sync`: a reconcile as a function from an object to the objects it should have.
 *
 * `children` takes the desired children and brings the cluster there. Every desired child is applied (see
 * `ServerSideApply`: nothing is sent if nothing would change), with the parent as its controller. Every other child of
 * the named kinds is deleted. Children are identified by kind, namespace and name.
 *
 * What the parent does not control is never touched. A desired name that belongs to somebody else is an error that
 * names the owner. An object that has no controller, and that this controller has never written, also counts as
 * somebody else's, unless the child is `adopted`. An object that lost its owner reference is recognised by its managed
 * fields, and gets it again.
 *
 * If the cache does not show a child, it may still exist, because a filtered watch leaves objects out and every watch
 * lags. The server is asked once before a child is made.
 *
 * Two controllers of one kind need different kinds of children, because each deletes the children that only the other
 * wants.
 *
 * A child that is made `once` is left alone from then on. With `stages`, children are made in order: those of a stage
 * when all of the previous stages are ready. A child that is being deleted is not ready, whatever its status says.
 * `remove` deletes them in reverse.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Cache from "./Cache.ts"
import { FieldManager, Writing } from "./Client.ts"
import { guarded, unchanged } from "./internal/guarded.ts"
import { KubeClient } from "./KubeClient.ts"
import type * as KubeError from "./KubeError.ts"
import {
  controllerOf,
  controllerReference,
  isTerminating,
  keyString,
  type KubeObject,
  type ObjectKey,
  type OwnerReference
} from "./KubeObject.ts"
import * as Resource from "./Resource.ts"
import * as ServerSideApply from "./ServerSideApply.ts"

/** Somebody else has an object of a wanted name. */
export class NotOurs extends Data.TaggedError("NotOurs")<{ readonly message: string }> {}

/** A wanted child of a kind. `Id` is the identity of the kind. */
export interface Child<out Id extends string = string> {
  readonly resource: Resource.Resource<any, Id>
  readonly fields: ServerSideApply.Fields<KubeObject>
  readonly ready: (object: any) => boolean
  readonly adopt: boolean
  readonly once: boolean
}

/**
 * A child with these fields, in the parent's namespace; if the parent has none, the fields name one. `ready` counts for
 * `stages`. A child outside its parent's namespace cannot be owned: see `OwnerLabel`.
 */
export const child = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  fields: Resource.DeepPartial<Resource.Input<A>> & { readonly metadata: { readonly name: string } },
  ready: (object: A) => boolean = () => true
): Child<Id> => ({ resource, fields: fields as ServerSideApply.Fields<KubeObject>, ready, adopt: false, once: false })

/** The same child, taking over an existing object of its name that has no controller. */
export const adopted = <Id extends string>(child: Child<Id>): Child<Id> => ({ ...child, adopt: true })

/**
 * The same child, created if it does not exist and then left as it is, whatever is wanted: for random values (a
 * password), for what cannot be changed (a Job), for what others work on.
 */
export const once = <Id extends string>(child: Child<Id>): Child<Id> => ({ ...child, once: true })

/** The result of a sync. */
export interface Outcome {
  /** The wanted children as they are, by `Kind namespace/name`; those of waiting stages are missing. */
  readonly children: ReadonlyMap<string, KubeObject>
  /** Whether every wanted child exists and is ready. */
  readonly ready: boolean
  /** What the next stage waits for. */
  readonly waitingFor: ReadonlyArray<string>
}

type Needs<Id extends string> = KubeClient | Cache.Cached<Id>

/** Makes the parent's children of these kinds what is wanted. */
export const children = <Id extends string>(
  parent: KubeObject,
  kinds: ReadonlyArray<Resource.Resource<KubeObject, Id>>,
  wanted: ReadonlyArray<Child<NoInfer<Id>>>
): Effect.Effect<Outcome, KubeError.KubeError | NotOurs, Needs<Id>> => stages(parent, kinds, [wanted])

/** Like `children`, in order: a stage starts when all children of the stages before are ready. */
export const stages = Effect.fn("Sync.stages")(function*<Id extends string>(
  parent: KubeObject,
  kinds: ReadonlyArray<Resource.Resource<KubeObject, Id>>,
  wanted: ReadonlyArray<ReadonlyArray<Child<NoInfer<Id>>>>
): Effect.fn.Return<Outcome, KubeError.KubeError | NotOurs, Needs<Id>> {
  const found = new Map<string, KubeObject>()
  let waitingFor: ReadonlyArray<string> = []
  for (const stage of wanted) {
    if (waitingFor.length > 0) break
    const unready: Array<string> = []
    for (const wanted of stage) {
      const { ready } = wanted
      const object = yield* put(parent, wanted)
      const name = describe(object)
      found.set(name, object)
      // It will soon be gone, and a later reconcile creates it again.
      if (isTerminating(object) || !ready(object)) unready.push(name)
    }
    waitingFor = unready
  }
  const keep = new Set(
    wanted.flat().map(({ fields, resource }) => identity(resource, placed(parent, resource, fields)))
  )
  for (const kind of kinds) yield* prune(parent, kind, (object) => keep.has(identity(kind, object.metadata)))
  return { children: found, ready: waitingFor.length === 0, waitingFor }
})

/**
 * Deletes the parent's children of these kinds, kind by kind in reverse order, each when the one before is gone. True
 * when none is left. For `finalize`.
 */
export const remove = Effect.fn("Sync.remove")(function*<Id extends string>(
  parent: KubeObject,
  kinds: ReadonlyArray<Resource.Resource<KubeObject, Id>>
): Effect.fn.Return<boolean, KubeError.KubeError, Needs<Id>> {
  for (const kind of kinds.toReversed()) {
    const left = yield* prune(parent, kind, () => false)
    if (left > 0) return false
  }
  return true
})

/** The key of a child. */
const placed = (
  parent: KubeObject,
  resource: Resource.Any,
  { metadata }: ServerSideApply.Fields<KubeObject>
): ObjectKey => ({
  namespace: resource.scope === "Cluster" ? undefined : metadata.namespace ?? parent.metadata.namespace,
  name: metadata.name
})

const put = Effect.fnUntraced(function*<Id extends string>(
  parent: KubeObject,
  { adopt, fields, once, resource }: Child<Id>
): Effect.fn.Return<KubeObject, KubeError.KubeError | NotOurs, Needs<Id>> {
  const key = placed(parent, resource, fields)
  if (parent.metadata.namespace !== undefined && parent.metadata.namespace !== key.namespace) {
    return yield* Effect.die(
      new Error(
        `Sync: ${resource.kind} ${keyString(key)}: ${parent.kind} ${
          keyString(parent)
        } cannot own it: it is not in its ` +
          "namespace, so the garbage collector would delete it: apply it with an OwnerLabel, and clean up in finalize"
      )
    )
  }
  const { object, owner } = yield* standing(resource, key, adopt)
  if (owner !== undefined && owner.uid !== parent.metadata.uid) {
    return yield* new NotOurs({
      message: `${resource.kind} ${keyString(key)} ${owner.told}: ` +
        `choose another name for the ${resource.kind} of ${parent.kind} ${parent.metadata.name}` +
        (owner.uid === undefined ? ", or take it over with Sync.adopted" : "")
    })
  }
  const ours = controllerReference(parent)
  if (once && object !== undefined) return owner === undefined ? yield* own(resource, object, ours) : object
  return yield* ServerSideApply.apply(resource, {
    ...fields,
    metadata: { ...fields.metadata, ...key, ownerReferences: [ours] }
  } as ServerSideApply.Fields<KubeObject>)
})

/** Gives an object its controller, and the marks of what this controller writes, and changes nothing else. */
const own = (resource: Resource.Resource<KubeObject>, object: KubeObject, controller: OwnerReference) =>
  Effect.flatMap(Writing, ({ mark }) => {
    const ownerReferences = [...object.metadata.ownerReferences ?? [], controller]
    const owned = { ...object, metadata: { ...object.metadata, ownerReferences } }
    const { labels } = (mark?.(resource, owned) ?? owned).metadata
    return guarded(resource, object, [
      unchanged(object),
      { op: "add", path: "/metadata/ownerReferences", value: ownerReferences },
      ...labels === object.metadata.labels ? [] : [{ op: "add", path: "/metadata/labels", value: labels } as const]
    ], "controller")
  })

interface Owner {
  /** Absent for an owner that is not a controller. */
  readonly uid: string | undefined
  readonly told: string
}

/** What exists under a key, and whose it is. */
interface Standing {
  readonly object: KubeObject | undefined
  /** Undefined if there is no object, or if it may be taken over. */
  readonly owner: Owner | undefined
}

/**
 * What exists under a key. The server is asked if the cache shows no controller: an object may exist outside the
 * selection of the watch, or not be reported yet, and the apply that follows would take it by force.
 */
const standing = Effect.fnUntraced(function*<Id extends string>(
  resource: Resource.Resource<KubeObject, Id>,
  key: ObjectKey,
  adopt: boolean
): Effect.fn.Return<Standing, KubeError.KubeError, Needs<Id>> {
  const cached = yield* Cache.get(resource, key)
  const known = cached === undefined ? undefined : controllerOf(cached)
  if (known !== undefined) return { object: cached, owner: controlledBy(known) }
  if (adopt && cached !== undefined) return { object: cached, owner: undefined }
  const client = yield* KubeClient
  const writer = yield* FieldManager
  // The cache does not hold managed fields.
  const live = yield* client.get(Resource.unstructured(resource) as Resource.Resource<KubeObject>, key).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
  )
  if (live === undefined) return { object: undefined, owner: undefined }
  // If it does not decode, the plain JSON stands in.
  const object = Result.getOrElse(resource.decode(live), () => live)
  const controller = controllerOf(live)
  if (controller !== undefined) return { object, owner: controlledBy(controller) }
  const may = adopt || live.metadata.managedFields?.some(({ manager }) => manager === writer) === true
  return {
    object,
    owner: may ? undefined : { uid: undefined, told: "exists already and was not created by this controller" }
  }
})

const controlledBy = ({ kind, name, uid }: OwnerReference): Owner => ({ uid, told: `is controlled by ${kind} ${name}` })

/**
 * Deletes the parent's children of a kind that are not to be kept. Returns how many of those still exist. Children that
 * do not decode are deleted, too, but not waited for: what becomes of them wakes nobody.
 */
const prune = Effect.fnUntraced(function*<Id extends string>(
  parent: KubeObject,
  resource: Resource.Resource<KubeObject, Id>,
  keep: (object: KubeObject) => boolean
): Effect.fn.Return<number, KubeError.KubeError, Needs<Id>> {
  let left = 0
  for (const object of yield* Cache.list(resource, { owner: parent })) {
    if (controllerOf(object)?.uid !== parent.metadata.uid || keep(object)) continue
    if (!(yield* take(resource, object))) left += 1
  }
  const plain = Resource.unstructured(resource)
  for (const object of yield* Cache.undecodable(resource, parent)) if (!keep(object)) yield* take(plain, object)
  return left
})

/** Deletes an object, once. True if it is gone. */
const take = Effect.fnUntraced(function*(resource: Resource.Any, object: KubeObject) {
  if (isTerminating(object)) return false
  const client = yield* KubeClient
  const deleted = yield* client.delete(resource, object, { propagationPolicy: "Background" }).pipe(
    Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
  )
  return deleted?._tag !== "Terminating"
})

const identity = (resource: Resource.Any, key: { readonly namespace?: string | undefined; readonly name: string }) =>
  `${resource.id} ${key.namespace ?? ""}/${key.name}`

const describe = (object: KubeObject): string => `${object.kind} ${keyString(object)}`
