/**
 * `Assignment`: a controller whose objects are assigned to its process by labels, and handed back on request. See
 * `Ring`.
 *
 * An object is new here until it was accepted once. If it was reconciled before, its children may be elsewhere, so they
 * are searched for: in one list for all new objects, in the namespaces of these. A finalizer of the framework, which is
 * added before the first reconcile, shows which objects were reconciled before; without one, all may have been. Other
 * writes of other shards are waited for, as far as those have published them.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as Cache from "../Cache.ts"
import type { Client, Mark } from "../Client.ts"
import type { Controller } from "../Controller.ts"
import * as Finalizer from "../Finalizer.ts"
import { KubeClient, Patch } from "../KubeClient.ts"
import type { KubeError } from "../KubeError.ts"
import { controllerOf, keyString, type KubeObject } from "../KubeObject.ts"
import type { Admit, Aside, Confined } from "../Leadership.ts"
import * as Projection from "../Projection.ts"
import * as Resource from "../Resource.ts"
import { type LabelSelector, toLabels } from "../Selector.ts"
import { Applied } from "../ServerSideApply.ts"
import type { Watch } from "../Watch.ts"
import type { Desk } from "./Desk.ts"
import { guarded } from "./guarded.ts"
import { monotonicMillis } from "./monotonic.ts"

export const defaults = {
  /** In up to this many namespaces children are searched for one by one; in more, all at once. */
  namespaces: 16,
  /** Minimum pause between two searches: in milliseconds, and as a multiple of the duration of the last one. */
  pause: 1_000,
  rest: 4,
  /** How many times the pause is doubled, at most, when searches fail. */
  doublings: 5,
  /** Children that are labelled concurrently. */
  concurrency: 8
} as const

export interface Place {
  readonly ring: string
  readonly shard: string
  /** The objects that the controllers of the shard are working on. */
  readonly desk: Desk
  /** Qualified names of the kinds that are sharded themselves: see `Resource.qualifiedName`. */
  readonly mains: ReadonlySet<string>
  /** Publishes to the other shards how far the writes of this one have come. */
  readonly tell: Effect.Effect<void>
  /** Waits until the caches show what the other shards have published. */
  readonly hear: Effect.Effect<void, KubeError>
}

/** Label of an object: the shard it belongs to. */
export const shardLabel = (ring: string): string => `shard.alpha.sharding.timebertt.dev/${ring}`
/** Label of an object: its shard must hand it back. */
export const drainLabel = (ring: string): string => `drain.alpha.sharding.timebertt.dev/${ring}`

/** The controller, restricted to what is assigned to a place. Throws if nobody assigns its objects. */
export const confine = <R>(
  controller: Controller<R>,
  { desk, hear, mains, ring, shard, tell }: Place
): Confined<R> => {
  const { finalize, resource, watches: [own, ...others] } = controller
  if (resource.scope === "Cluster") {
    throw new Error(
      `Ring: ${ring}: controller ${controller.name}: ${resource.kind} is cluster-scoped, and such objects are not ` +
        "reassigned when their shard is gone: run it in another manager, with one leader or `per: \"object\"`"
    )
  }
  if (resource.cluster !== undefined) {
    throw new Error(
      `Ring: ${ring}: controller ${controller.name}: ${resource.id}: the sharder assigns only objects of its own ` +
        "cluster, so no shard would get these: run it in another manager, with one leader or `per: \"object\"`"
    )
  }
  const [whose, asked] = [shardLabel(ring), drainLabel(ring)]
  const isAsked = ({ metadata }: KubeObject): boolean => metadata.labels?.[asked] !== undefined
  const isHere = ({ metadata }: KubeObject): boolean => metadata.labels?.[whose] === shard
  const isChild = ({ owner, resource: kind }: Watch): boolean =>
    owner?.id === resource.id && owner.cluster === resource.cluster && !mains.has(Resource.qualifiedName(kind))
  const children = others.filter(isChild).map(({ resource }) => resource)
  const confined = (watch: Watch): Watch => ({
    ...watch,
    labels: and(watch, { operator: "=", key: whose, value: shard })
  })
  /** By uid, for objects whose work was requested since they arrived: whether they were accepted. */
  const known = new Map<string, boolean>()
  const isAccepted = (uid: string): boolean => known.get(uid) === true
  const strays = lookout(controller, children, whose, shard, isAccepted, hear)

  const left = ({ metadata: { uid } }: KubeObject): void => {
    known.delete(uid)
    strays.forget(uid)
  }

  const predicate: NonNullable<Watch["predicate"]> = (delta) => {
    // Predicates do not apply to invalid objects.
    if (delta._tag === "Invalid") return true
    if (delta._tag === "Deleted") left(delta.object)
    // If an object that was not accepted stays here after all, its work is still owed.
    const isOwed = known.get(delta.object.metadata.uid) === false
    return isAsked(delta.object) || isOwed || (own!.predicate?.(delta) ?? true)
  }

  /** False if it was handed back; otherwise after how many milliseconds to try again. */
  const handBack = (resource: Resource.Any, object: KubeObject): Effect.Effect<false | number, KubeError, KubeClient> =>
    desk.handBack(
      object.metadata.uid,
      Effect.andThen(
        tell,
        guarded(resource, object, [
          { op: "test", path: pointer(whose), value: shard },
          { op: "remove", path: pointer(asked) },
          { op: "remove", path: pointer(whose) }
        ], "shard")
      ).pipe(Effect.as(false as const))
    )

  const refuse = (object: KubeObject) =>
    Effect.suspend(() => {
      left(object)
      known.set(object.metadata.uid, false)
      return handBack(resource, object)
    })

  /** Asks the server: a cache may show an object that has moved since. */
  const arrive = Effect.fnUntraced(function*(object: KubeObject) {
    const client = yield* KubeClient
    const { uid } = object.metadata
    known.set(uid, false)
    // Another shard may have changed what live reads remember, and applied more than applies remember.
    const remembered = yield* Cache.Remembered
    remembered?.forget()
    const applied = yield* Applied
    applied.forgetOf(keyString(object))
    const isKnown = finalize === undefined || Finalizer.has(object, finalize.finalizer)
    const found = isKnown && others.length > 0 ? yield* strays.of(object) : []
    if (typeof found === "number") return found
    const live = yield* client.get(Resource.unstructured(resource), object.metadata).pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
    )
    if (live === undefined || live.metadata.uid !== uid || !isHere(live) || isAsked(live)) return false
    yield* Effect.forEach(found, ({ child, kind }) => fetched(client, kind, child, whose, shard), {
      concurrency: defaults.concurrency,
      discard: true
    })
    // It has left meanwhile, or left and returned: then it is requested again.
    if (!known.has(uid)) return false
    known.set(uid, true)
    return true
  })

  const admit: Admit = <A extends object, E, R>(object: KubeObject, work: Effect.Effect<A, E, R>) => {
    if (isAsked(object)) return refuse(object)
    const { uid } = object.metadata
    const arriving = Effect.flatMap(
      arrive(object),
      (accepted): Effect.Effect<A | false | number, E, R> => accepted === true ? work : Effect.succeed(accepted)
    )
    return desk.work(
      uid,
      Effect.suspend((): Effect.Effect<A | false | number, E | KubeError, R | KubeClient> =>
        isAccepted(uid) ? work : arriving
      )
    )
  }

  return {
    controller: {
      ...controller,
      watches: [
        { ...confined(own!), predicate },
        ...others.map((watch) => isChild(watch) ? confined(watch) : watch)
      ]
    },
    admit,
    aside: undecoded(
      (object) => isHere(object) && isAsked(object),
      (object) => handBack(Resource.unstructured(resource), object)
    ),
    mark: children.length === 0 ? undefined : labelling(resource, children, { [whose]: shard })
  }
}

/** Hands back objects that do not decode: no worker ever gets them. */
const undecoded = (
  isDue: (object: KubeObject) => boolean,
  handBack: (object: KubeObject) => Effect.Effect<false | number, KubeError, KubeClient>
): Aside => {
  const due = new Map<string, KubeObject>()
  const some = Latch.makeUnsafe()
  const turn = Effect.gen(function*() {
    yield* some.await
    yield* some.close
    for (const [uid, object] of due) {
      const isLeft = yield* handBack(object).pipe(
        Effect.map((later) => later !== false),
        Effect.catch((error) =>
          // A changed object will be seen again.
          error.isRetryable && error.reason._tag !== "Conflict"
            ? Effect.as(Effect.logWarning(`${keyString(object)} could not be handed back; trying again`, error), true)
            : Effect.succeed(false)
        )
      )
      if (isLeft) yield* some.open
      else if (due.get(uid) === object) due.delete(uid)
    }
  })
  return {
    see: (deltas) => {
      for (const delta of deltas) {
        if (delta._tag !== "Invalid" || !isDue(delta.raw)) continue
        due.set(delta.raw.metadata.uid, delta.raw)
        some.openUnsafe()
      }
    },
    run: Effect.forever(Effect.andThen(turn, Effect.sleep(defaults.pause)))
  }
}

const pointer = (label: string): string => `/metadata/labels/${label.replaceAll("~", "~0").replaceAll("/", "~1")}`

/** A selector that does not parse is left for the server to reject. */
const and = ({ labels }: Watch, requirement: LabelSelector[number]): LabelSelector => [
  ...Result.getOrElse(toLabels(labels), () => []),
  requirement
]

/** Labels a child, unless it is gone. */
const fetched = (client: Client, kind: Resource.Any, { metadata }: KubeObject, whose: string, shard: string) =>
  client.patch(
    Resource.unstructured(kind),
    metadata,
    Patch.merge({ metadata: { uid: metadata.uid, labels: { [whose]: shard } } })
  ).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.void))

interface Stray {
  readonly kind: Resource.Any
  readonly child: KubeObject
}

/** Finds the children of an object that are not here. */
const lookout = (
  { resource, watches: [own] }: Pick<Controller<any>, "resource" | "watches">,
  children: ReadonlyArray<Resource.Any>,
  whose: string,
  shard: string,
  isAccepted: (uid: string) => boolean,
  hear: Effect.Effect<void, KubeError>
) => {
  const one = Semaphore.makeUnsafe(1)
  const elsewhere: LabelSelector = [{ operator: "notin", key: whose, values: [shard] }]
  /** Objects whose children were searched for, and the children found. */
  const found = new Map<string, ReadonlyArray<Stray>>()
  /** Objects whose children are being searched for, without those that left meanwhile. */
  let wanted = new Set<string>()
  /** When the next search may start, and how many have failed in a row. */
  let next = 0
  let failures = 0

  const look = Effect.gen(function*() {
    const begun = monotonicMillis(yield* Clock.Clock)
    yield* Effect.onExit(looking, (exit) =>
      Effect.map(Clock.Clock, (clock) => {
        const now = monotonicMillis(clock)
        failures = Exit.isSuccess(exit) ? 0 : Math.min(failures + 1, defaults.doublings)
        next = now + Math.max(defaults.pause * 2 ** failures, defaults.rest * (now - begun))
      }))
  })

  const looking = Effect.gen(function*() {
    const client = yield* KubeClient
    // A controller runs with the cache of its own kind.
    const here = yield* Cache.list(resource, {}) as Effect.Effect<ReadonlyArray<KubeObject>>
    const all = here.filter(({ metadata: { uid } }) => !isAccepted(uid) && !found.has(uid))
    wanted = new Set(all.map(({ metadata }) => metadata.uid))
    yield* hear
    const namespaces = [...new Set(all.map(({ metadata }) => metadata.namespace))]
    const strays: Array<Stray> = []
    for (const kind of children) {
      for (const namespace of namespaces.length > defaults.namespaces ? own?.namespaces ?? [undefined] : namespaces) {
        yield* Stream.runForEach(
          client.list(Projection.metadata(kind), { namespace, labels: elsewhere }),
          (child) =>
            Effect.sync(() => {
              const owner = controllerOf(child)
              if (owner !== undefined && wanted.has(owner.uid)) strays.push({ kind, child })
            })
        )
      }
    }
    const ofEach = Map.groupBy(strays, ({ child }) => controllerOf(child)!.uid)
    for (const uid of wanted) found.set(uid, ofEach.get(uid) ?? [])
  })

  return {
    /** The children found, or in how many milliseconds to ask again, so that waiting holds up nobody else. */
    of: Effect.fnUntraced(function*({ metadata: { uid } }: KubeObject) {
      if (!found.has(uid)) {
        const now = monotonicMillis(yield* Clock.Clock)
        if (now < next) return next - now
        const looked = yield* one.withPermitsIfAvailable(1)(look)
        if (Option.isNone(looked)) return defaults.pause
      }
      const strays = found.get(uid) ?? []
      found.delete(uid)
      return strays
    }),
    /** The object has left: what was found is of no use when it returns. */
    forget: (uid: string): void => {
      found.delete(uid)
      wanted.delete(uid)
    }
  }
}

/** Labels what is written as a child of one of the kinds. */
const labelling = (
  owner: Resource.Any,
  children: ReadonlyArray<Resource.Any>,
  labels: Readonly<Record<string, string>>
): Mark => {
  // Of any version, and of any projection that is cached.
  const names = new Set(children.map(Resource.qualifiedName))
  return (kind, object) => {
    if (!names.has(Resource.qualifiedName(kind))) return object
    const metadata = object.metadata as Partial<KubeObject["metadata"]>
    const isOurs = metadata.ownerReferences?.some(({ controller, kind }) => controller === true && kind === owner.kind)
    return isOurs === true
      ? { ...object, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } }
      : object
  }
}
