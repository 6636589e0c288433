/**
 * Runs a `Controller`: its informers, its queue, its workers and sources, each a part of the supervisor.
 *
 * A cache that does not fill holds up only this controller. What it waits for, and why, is logged and counted each time
 * the timeout has passed, and the workers start as soon as the kind or the permission exists.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { CacheReader, layered, makeReader, makeReadThrough, Remembered, settled, view } from "../Cache.ts"
import { FieldManager, Writing } from "../Client.ts"
import type { Controller } from "../Controller.ts"
import type { Delta } from "../Delta.ts"
import { EventSink } from "../EventRecorder.ts"
import { type Informer, Informers, type Subscriber } from "../Informers.ts"
import { KubeClient } from "../KubeClient.ts"
import { keyString } from "../KubeObject.ts"
import type { Leadership } from "../Leadership.ts"
import * as Metrics from "../Metrics.ts"
import { hint } from "../Reflector.ts"
import { Applied, makeApplied } from "../ServerSideApply.ts"
import * as Resource from "../Resource.ts"
import * as Settings from "../Settings.ts"
import * as Source from "../Source.ts"
import type { Supervisor } from "../Supervisor.ts"
import type * as Trigger from "../Trigger.ts"
import type { Watch } from "../Watch.ts"
import * as WorkQueue from "../WorkQueue.ts"
import type { Tracing } from "./tracing.ts"
import * as Deadlines from "./Deadlines.ts"
import * as Following from "./following.ts"
import * as Invalid from "./invalid.ts"
import { Lagging } from "./Lagging.ts"
import * as Leaving from "./leaving.ts"
import * as Overdue from "./Overdue.ts"
import { monotonicMillis } from "./monotonic.ts"
import { OwnWrites } from "./OwnWrites.ts"
import { fits, scopeHint, subscriber } from "./triggers.ts"
import * as Stalled from "./stalled.ts"
import { waking } from "./waking.ts"
import * as Worker from "./worker.ts"

/** What a controller is doing. */
export type Status =
  /** Not all of its caches are full. */
  | { readonly _tag: "Syncing"; readonly since: number }
  | { readonly _tag: "Running"; readonly since: number }

const running = (since: number): Status => ({ _tag: "Running", since })

/** A running controller. */
export interface Running {
  readonly name: string
  /** Id of the kind it reconciles. */
  readonly resource: string
  readonly status: SubscriptionRef.SubscriptionRef<Status>
  /** Completes when every cache is full and the workers have started. */
  readonly ready: Effect.Effect<void>
  /** What its caches wait for, and why; empty once they are full. */
  readonly waitingFor: Effect.Effect<ReadonlyArray<string>>
  readonly stats: () => WorkQueue.Stats
  readonly processing: WorkQueue.WorkQueue["processing"]
  readonly keys: WorkQueue.WorkQueue["keys"]
  /** Requests a reconcile of a key. */
  readonly trigger: WorkQueue.WorkQueue["add"]
  /** Starts no new reconcile; completes when none is running. */
  readonly drain: Effect.Effect<void>
}

/** Starts a controller in the scope; the supervisor runs its parts. */
export const start = Effect.fnUntraced(function*<R>(
  described: Controller<R>,
  supervisor: Supervisor,
  leadership: Leadership,
  traced: Tracing | undefined
) {
  const whole = Settings.applied(described, yield* Settings.Settings)
  const { admit, aside, controller, mark } = leadership.confine(whole)
  const tracing = traced?.of(controller.name)
  const all = yield* Informers
  const events = yield* EventSink
  const client = yield* KubeClient
  const metrics = yield* Metrics.forController(controller)
  const queue = yield* WorkQueue.make({ ...controller.queue, monitor: metrics.queue, counts: leadership.owns })
  yield* metrics.observe(queue)
  const ownWrites = new OwnWrites()

  const watched: Array<{ readonly watch: Watch; readonly informers: ReadonlyArray<Informer> }> = []
  for (const watch of controller.watches) {
    const { fields, indexedLabels, labels, namespaces = [undefined], resource } = watch
    const informers = yield* Effect.forEach(
      namespaces,
      (namespace) => all.get({ resource, namespace, labels, fields, indexedLabels })
    )
    watched.push({ watch, informers })
  }
  const informers = watched.flatMap(({ informers }) => informers)
  /**
   * Informers of the controller's own watch: another watch of the kind may see objects that are not the controller's.
   */
  const own = watched[0]!.informers
  const unwritten = Stalled.teller(controller.resource)
  const invalid = yield* Invalid.make({ controller, own, events, metrics, leadership, unwritten })
  const leaving = yield* Leaving.make(whole, events)
  const inner = makeReader(informers)
  const outer = yield* Effect.serviceOption(CacheReader)
  const reader = Option.isNone(outer) ? inner : layered(inner, outer.value)
  const cache = view(reader)
  const lagging = new Lagging(reader, informers)
  const woken = waking({ own, queue, withdrawn: tracing?.withdrawn })
  const subscriberOf = (watch: Watch) =>
    subscriber(controller.resource, watch, woken, invalid.report, cache, tracing?.triggered)
  for (const { informers, watch } of watched) {
    const subscribe = subscriberOf(watch)
    const take: Subscriber = watch === controller.watches[0]
      ? (deltas, initial) => {
        leaving?.see(deltas)
        aside?.see(deltas)
        const isNews = (delta: Delta) => !ownWrites.echoes(delta, () => subscribe([delta], false))
        return subscribe(deltas.filter(isNews), initial)
      }
      : subscribe
    const counted = lagging.subscriber(watch, take)
    for (const informer of informers) yield* informer.subscribe(counted)
  }
  const remembered = makeReadThrough()
  const applied = makeApplied()
  yield* client.observe(remembered.wrote)
  const status = yield* SubscriptionRef.make<Status>({ _tag: "Syncing", since: yield* Clock.currentTimeMillis })

  const complain = Effect.gen(function*() {
    yield* Effect.sleep(controller.cacheSyncTimeout)
    const missing = yield* notSynced(informers)
    metrics.cacheSyncTimedOut()
    yield* Effect.logError(`not started: the caches are not in sync yet: ${missing.join("; ")}`)
  })

  const synced = Effect.forEach(informers, ({ synced }) => synced, { discard: true }).pipe(
    Effect.raceFirst(Effect.forever(complain))
  )

  const underWay = new Map<string, Fiber.Fiber<unknown, unknown>>()
  yield* leadership.share({
    release: (keeps) => queue.idle((key) => !keeps(key)),
    interrupt: (keeps) => {
      for (const [key, fiber] of underWay) if (!keeps(key)) fiber.interruptUnsafe()
    },
    take: (isNew) => {
      remembered.forget()
      for (const { store } of own) {
        for (const key of store.keys()) {
          if (!isNew(key)) continue
          applied.forgetOf(key)
          queue.add(key, { _tag: "Handover" })
        }
      }
      invalid.again()
    }
  })

  const worker = Worker.make({
    controller,
    queue,
    find: (key) => settled(own, key),
    events,
    metrics,
    leadership,
    admit,
    mark,
    unwritten,
    ownWrites,
    deadlines: yield* Deadlines.make(controller.timeout),
    underWay,
    tracing,
    nextId: reconcileIds(yield* Clock.currentTimeMillis)
  })

  const work = Effect.all(Array.from({ length: controller.concurrency }, () => worker), {
    concurrency: "unbounded",
    discard: true
  }).pipe(Effect.andThen(Effect.never))

  const addAll = (reason: Trigger.Reason): void => {
    for (const { store } of own) {
      for (const key of store.keys()) queue.add(key, reason, WorkQueue.priorities.background)
    }
  }

  const resync = Effect.andThen(Effect.sleep(controller.resync), Effect.sync(() => addAll({ _tag: "Resync" })))

  const overdue = new Overdue.Overdue()
  const tellOverdue = Effect.gen(function*() {
    yield* Effect.sleep(Overdue.defaults.first)
    for (const [key, age] of overdue.due(queue.handedOut(), monotonicMillis(yield* Clock.Clock))) {
      yield* Effect.logWarning(Overdue.line(key, age, controller.concurrency, controller.timeout))
    }
  })

  const emit = (source: string): Source.Emit => (...keys) => {
    for (const key of keys.map(keyString)) {
      if (!fits(controller.resource, key)) {
        throw new Error(`source ${source}: ${key}: ${controller.resource.kind} is ${scopeHint(controller.resource)}`)
      }
      queue.add(key, { _tag: "Source", source })
    }
  }

  /** Restarts a source after failures, which a metric counts from the start. */
  const kept = <RR>(source: Source.Source<RR>, emit: Source.Emit) =>
    Effect.provideService(Source.keepRunning(source, emit), Source.OnFailure, metrics.sourceFailed(source.name))

  /** For writes outside reconciles. */
  const led: Writing = { permit: leadership.permit, wrote: () => {}, mark }

  const sources = Effect.all(controller.sources.map((source) => kept(source, emit(source.name))), {
    concurrency: "unbounded",
    discard: true
  }).pipe(
    Effect.andThen(Effect.never),
    Effect.provideService(Writing, led)
  )

  let terms = 0
  /**
   * Another replica may have led meanwhile, so what is remembered may be outdated. Pending work of that replica (a
   * retry, a requeue, a request of a source) shows in no cache, so every object is reconciled again.
   */
  const begin = Effect.sync(() => {
    remembered.forget()
    applied.forgetOf()
    terms += 1
    if (terms > 1) addAll({ _tag: "Handover" })
  })

  const started = yield* Latch.make()
  const following = (watches: NonNullable<typeof controller.dynamicWatches>) =>
    Effect.gen(function*() {
      const follow = yield* Following.make(subscriberOf, cache)
      yield* started.await
      yield* kept({ name: "dynamicWatches", run: () => Stream.runForEach(watches, follow) }, () => {})
      return yield* Effect.never
    }).pipe(Effect.scoped)

  /** Provides what the controller's own code reads and writes with. */
  const equipped = <A, E, RR>(effect: Effect.Effect<A, E, RR>) =>
    effect.pipe(
      Effect.provideService(CacheReader, reader),
      Effect.provideService(Remembered, remembered),
      Effect.provideService(KubeClient, client),
      Effect.provideService(Applied, applied),
      Effect.provideService(FieldManager, controller.name)
    )
  const run = (name: string, part: Effect.Effect<unknown, unknown, any>) =>
    supervisor.run(name, Effect.annotateLogs(part, { controller: controller.name }))
  yield* run(`invalid objects of ${controller.name}`, invalid.telling)
  if (invalid.marking !== undefined) {
    yield* run(`conditions of ${controller.name}`, Effect.provideService(invalid.marking, KubeClient, client))
  }
  if (leaving !== undefined) {
    yield* run(
      `objects leaving the selection of ${controller.name}`,
      Effect.provideService(leaving.telling, KubeClient, client)
    )
  }
  if (aside !== undefined) {
    yield* run(
      `hand-over of invalid objects of ${controller.name}`,
      leadership.lead(aside.run).pipe(
        Effect.provideService(Writing, { permit: leadership.permit, wrote: () => {} }),
        Effect.provideService(KubeClient, client)
      )
    )
  }
  yield* run(`resync of ${controller.name}`, Effect.forever(resync))
  yield* run(`overdue reconciles of ${controller.name}`, Effect.forever(tellOverdue))
  yield* run(
    `controller ${controller.name}`,
    Effect.gen(function*() {
      yield* synced
      const cached = informers.map(({ resource, store }) => `${store.size} ${resource.plural}`).join(", ")
      yield* Effect.logInfo(`started: ${cached} cached`)
      yield* SubscriptionRef.set(status, running(yield* Clock.currentTimeMillis))
      yield* started.open
      return yield* leadership.lead(Effect.andThen(begin, Effect.raceFirst(work, sources)))
    }).pipe(equipped)
  )
  if (controller.dynamicWatches !== undefined) {
    yield* run(
      `dynamic watches of ${controller.name}`,
      equipped(following(controller.dynamicWatches)).pipe(Effect.provideService(Writing, led))
    )
  }
  return {
    name: controller.name,
    resource: controller.resource.id,
    status,
    ready: started.await,
    waitingFor: notSynced(informers),
    stats: queue.stats,
    processing: queue.processing,
    keys: queue.keys,
    trigger: queue.add,
    drain: queue.drain
  } satisfies Running
})

/** Which informers have no list yet, and why. */
const notSynced = Effect.fnUntraced(function*(informers: ReadonlyArray<Informer>) {
  const reports: Array<string> = []
  for (const { resource, selection, status, store } of informers) {
    if (store.resourceVersion !== "0") continue
    const now = yield* SubscriptionRef.get(status)
    const where = selection.namespace === undefined ? resource.id : `${resource.id} in ${selection.namespace}`
    reports.push(
      now._tag === "Degraded"
        ? `${where}: ${now.reason._tag}: ${now.reason.message}${hint(now.reason, Resource.qualifiedName(resource))}`
        : `${where}: the API server has not answered the list request`
    )
  }
  return reports
})

/** Ids of reconciles, unique even across restarts: the start time of the controller, and a number. */
const reconcileIds = (started: number): () => string => {
  const prefix = started.toString(16).padStart(12, "0")
  let count = 0
  return () => `${prefix}-${(count++).toString(16).padStart(8, "0")}`
}
