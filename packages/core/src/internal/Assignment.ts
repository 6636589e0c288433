/**
 * `Assignment`: a controller whose objects are assigned to its process by labels, and handed back when they are asked
 * for. See `Ring`.
 *
 * An object is new here until it was accepted once. Whose children may be elsewhere, that is, who has been reconciled
 * before, has them looked for: in one list for all that are new, in the namespaces where those are. A finalizer of the
 * framework, which is added before the first reconcile, tells who has; without one everybody may have. What others have
 * written besides is waited for, by what they have said of it.
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
import type { Accepted, Aside, Confined } from "../Leadership.ts"
import * as Projection from "../Projection.ts"
import * as Resource from "../Resource.ts"
import { type LabelSelector, toLabels } from "../Selector.ts"
import type { Watch } from "../Watch.ts"
import { guarded } from "./guarded.ts"
import { monotonicMillis } from "./monotonic.ts"

export const defaults = {
  /** Namespaces that children are looked for in one by one; of more, in all at once. */
  namespaces: 16,
  /** Milliseconds between two looks at least, and how many times as long as the last one took. */
  pause: 1_000,
  rest: 4,
  /** So many times the pause is doubled where looks fail. */
  doublings: 5,
  /** Children that are labelled at a time. */
  concurrency: 8
} as const

export interface Place {
  readonly ring: string
  readonly shard: string
  /** The kinds that are sharded themselves: see `Resource.qualifiedName`. */
  readonly mains: ReadonlySet<string>
  /** Tells the other shards how far the writes of this one have come. */
  readonly tell: Effect.Effect<void>
  /** Waits until the caches show what the other shards have written, as far as those have told. */
  readonly hear: Effect.Effect<void, KubeError>
}

/** On an object: whose it is. */
export const shardLabel = (ring: string): string => `shard.alpha.sharding.timebertt.dev/${ring}`
/** On an object: its shard is to hand it back. */
export const drainLabel = (ring: string): string => `drain.alpha.sharding.timebertt.dev/${ring}`

/** The controller for what is assigned to a place. Throws on one whose objects nobody assigns. */
export const confine = <R>(controller: Controller<R>, { hear, mains, ring, shard, tell }: Place): Confined<R> => {
  const { finalize, resource, watches: [own, ...others] } = controller
  if (resource.scope === "Cluster") {
    throw new Error(
      `Ring: ${ring}: controller ${controller.name}: ${resource.kind} has no namespace, and objects without one are not ` +
        "assigned again when their shard is gone: run it by another manager, with one leader or `per: \"object\"`"
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
  /** By uid, whose work was asked for since it came: whether it was accepted. */
  const known = new Map<string, boolean>()
  const isAccepted = (uid: string): boolean => known.get(uid) === true
  const strays = lookout(controller, children, whose, shard, isAccepted, hear)

  const left = ({ metadata: { uid } }: KubeObject): void => {
    known.delete(uid)
    strays.forget(uid)
  }

  const predicate: NonNullable<Watch["predicate"]> = (delta) => {
    // No predicate is asked about what is not valid.
    if (delta._tag === "Invalid") return true
    if (delta._tag === "Deleted") left(delta.object)
    // What was to be done for one that was not accepted is left to be done, if it is to stay here after all.
    const isOwed = known.get(delta.object.metadata.uid) === false
    return isAsked(delta.object) || isOwed || (own!.predicate?.(delta) ?? true)
  }

  const handBack = (resource: Resource.Any, object: KubeObject) =>
    Effect.andThen(
      tell,
      guarded(resource, object, [
        { op: "test", path: pointer(whose), value: shard },
        { op: "remove", path: pointer(asked) },
        { op: "remove", path: pointer(whose) }
      ], "shard")
    )

  const refuse = (object: KubeObject) =>
    Effect.suspend(() => {
      left(object)
      known.set(object.metadata.uid, false)
      return Effect.as(handBack(resource, object), false)
    })

  /** What the server says: a cache may show an object that has gone elsewhere since. */
  const arrive = Effect.fnUntraced(function*(object: KubeObject) {
    const client = yield* KubeClient
    const { uid } = object.metadata
    known.set(uid, false)
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
    // Gone, or gone and come again: then it is asked about once more.
    if (!known.has(uid)) return false
    known.set(uid, true)
    return true
  })

  const accept = (object: KubeObject): Effect.Effect<Accepted, KubeError, KubeClient> =>
    isAsked(object)
      ? refuse(object)
      : isAccepted(object.metadata.uid)
      ? Effect.succeed(true)
      : arrive(object)

  return {
    controller: {
      ...controller,
      watches: [
        { ...confined(own!), predicate },
        ...others.map((watch) => isChild(watch) ? confined(watch) : watch)
      ]
    },
    accept,
    aside: undecoded(
      (object) => isHere(object) && isAsked(object),
      (object) => handBack(Resource.unstructured(resource), object)
    ),
    mark: children.length === 0 ? undefined : labelling(resource, children, { [whose]: shard })
  }
}

/** Hands back what does not decode: no worker ever has it. */
const undecoded = (
  isDue: (object: KubeObject) => boolean,
  handBack: (object: KubeObject) => Effect.Effect<unknown, KubeError, KubeClient>
): Aside => {
  const due = new Map<string, KubeObject>()
  const some = Latch.makeUnsafe()
  const turn = Effect.gen(function*() {
    yield* some.await
    yield* some.close
    for (const [uid, object] of due) {
      const isLeft = yield* handBack(object).pipe(
        Effect.as(false),
        Effect.catch((error) =>
          // What has changed is seen anew.
          error.isRetryable && error.reason._tag !== "Conflict"
            ? Effect.as(Effect.logWarning(`${keyString(object)} is not handed back yet`, error), true)
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

/** What does not parse is left for the server to refuse. */
const and = ({ labels }: Watch, requirement: LabelSelector[number]): LabelSelector => [
  ...Result.getOrElse(toLabels(labels), () => []),
  requirement
]

/** Labels a child, unless it has gone meanwhile. */
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
  /** Objects whose children were looked for, and what of them was found. */
  const found = new Map<string, ReadonlyArray<Stray>>()
  /** Whose children are being looked for; not those that have gone meanwhile. */
  let wanted = new Set<string>()
  /** When they may be looked for again, and how often that has failed in a row. */
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
    // What runs a controller gives it the cache of its own kind.
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
    /** Or in how many milliseconds it can be said: whoever waits for that holds up nobody else. */
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
    /** The object is not here any more: what was found of it is of no use when it comes again. */
    forget: (uid: string): void => {
      found.delete(uid)
      wanted.delete(uid)
    }
  }
}

/** The labels of what is written as a child of one of the kinds. */
const labelling = (
  owner: Resource.Any,
  children: ReadonlyArray<Resource.Any>,
  labels: Readonly<Record<string, string>>
): Mark => {
  // Of whichever version, and however little of them is cached.
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
