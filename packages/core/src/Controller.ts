/**
 * `Controller`: one kind, the kinds it depends on, and the reconciler that brings objects to their desired state.
 *
 * `make` is a description, nothing more; a `Manager` runs it. Guarantees: every cache is full before the first
 * reconcile, or the controller fails loudly; a key is never in two workers; a key that changes while it is reconciled
 * is reconciled again; errors and defects of one object delay that object alone and never stop the controller; an
 * object that does not decode is reported (log, event, metric) and skipped; on stop the reconciles under way finish.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Schedule from "effect/Schedule"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Action from "./Action.ts"
import { type Cached, CacheReader, makeReader } from "./Cache.ts"
import type { Delta } from "./Delta.ts"
import { EventSink } from "./EventRecorder.ts"
import * as Finalizer from "./Finalizer.ts"
import { type Informer, Informers } from "./Informers.ts"
import { FieldManager, KubeClient } from "./KubeClient.ts"
import { KubeError } from "./KubeError.ts"
import { isTerminating, keyString, type KubeObject } from "./KubeObject.ts"
import * as Metrics from "./Metrics.ts"
import type { Predicate } from "./Predicate.ts"
import type { Item } from "./QueueState.ts"
import { type Context, Terminal } from "./Reconciler.ts"
import { hints } from "./Reflector.ts"
import type * as Resource from "./Resource.ts"
import type { Supervisor } from "./Supervisor.ts"
import * as Trigger from "./Trigger.ts"
import * as Watch from "./Watch.ts"
import * as WorkQueue from "./WorkQueue.ts"

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** Reconciles at once. */
  concurrency: 1,
  /** How long all caches may take to fill. */
  cacheSyncTimeout: "2 minutes",
  /** Every object is looked at again this often, whatever happens. */
  resync: "10 hours"
} as const

export interface Options<
  A extends KubeObject,
  Id extends string,
  E,
  R,
  FE,
  FR,
  O extends ReadonlyArray<Resource.Any>,
  W extends ReadonlyArray<Watch.Watch>
> extends Watch.Scope {
  /** The kind whose objects are reconciled. */
  readonly for: Resource.Resource<A, Id>
  /** Which changes of those objects count; all by default. */
  readonly predicate?: Predicate<A> | undefined
  /** Kinds whose objects carry a managing owner reference to an object of `for`. */
  readonly owns?: O | undefined
  /** Other kinds to read, and whom their changes concern. */
  readonly watches?: W | undefined
  readonly reconcile: (object: A, context: Context) => Effect.Effect<Action.Action, E, R>
  /**
   * Cleans up before an object goes. With it comes a finalizer: the object stays until this succeeds with
   * `Action.done`. A clean-up that fails, or asks for another run, keeps the finalizer.
   */
  readonly finalize?: ((object: A, context: Context) => Effect.Effect<Action.Action, FE, FR>) | undefined
  /** Name of the finalizer; `<group>/<name of the controller>` by default. */
  readonly finalizer?: string | undefined
  readonly concurrency?: number | undefined
  /** Delays after failures of one key, by error; 5 ms doubled up to 16 min by default. */
  readonly retry?: Schedule.Schedule<unknown, unknown> | undefined
  readonly cacheSyncTimeout?: Duration.Input | undefined
  readonly resync?: Duration.Input | undefined
}

/** The description of a controller that needs `R` to run. */
export interface Controller<out R = never> {
  readonly name: string
  readonly resource: Resource.Any
  /** The controller's own kind first. */
  readonly watches: ReadonlyArray<Watch.Watch>
  readonly reconcile: (object: KubeObject, context: Context) => Effect.Effect<Action.Action, unknown, R>
  readonly finalize:
    | {
      readonly finalizer: string
      readonly run: (object: KubeObject, context: Context) => Effect.Effect<Action.Action, unknown, R>
    }
    | undefined
  readonly concurrency: number
  readonly retry: Schedule.Schedule<unknown, unknown> | undefined
  readonly cacheSyncTimeout: Duration.Duration
  readonly resync: Duration.Duration
}

/** What a controller needs besides a client and the kinds it declared. */
export type RequirementsOf<C> = C extends Controller<infer R> ? R : never

/**
 * Describes a controller. Reading a kind that is neither `for`, `owns` nor `watches` leaves its `Cached<…>` in the
 * requirements, where nothing can provide it: the program does not compile.
 */
export const make = <
  A extends KubeObject,
  Id extends string,
  E,
  R,
  FE = never,
  FR = never,
  const O extends ReadonlyArray<Resource.Any> = [],
  const W extends ReadonlyArray<Watch.Watch> = []
>(
  name: string,
  options: Options<A, Id, E, R, FE, FR, O, W>
): Controller<
  Exclude<
    R | FR,
    KubeClient | Cached<Id> | Cached<Resource.IdOf<O[number]>> | Cached<Resource.IdOf<W[number]["resource"]>>
  >
> => {
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
    throw new Error(`Controller.make: name: ${JSON.stringify(name)}: must be lower-case letters, digits and "-"`)
  }
  const concurrency = options.concurrency ?? defaults.concurrency
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new Error(`Controller.make: ${name}: concurrency: ${concurrency}: must be a whole number above 0`)
  }
  const resync = Duration.fromInputUnsafe(options.resync ?? defaults.resync)
  if (Duration.toMillis(resync) < 1000) {
    throw new Error(`Controller.make: ${name}: resync: ${Duration.format(resync)}: must be a second at least`)
  }
  for (const scope of [options, ...(options.watches ?? [])]) {
    if (scope.namespaces?.length === 0) {
      throw new Error(`Controller.make: ${name}: namespaces: []: selects nothing; leave it out for all namespaces`)
    }
  }
  const self = Watch.make(options.for, {
    namespaces: options.namespaces,
    labels: options.labels,
    fields: options.fields,
    predicate: options.predicate,
    map: ({ metadata }) => [metadata]
  })
  const owns = (options.owns ?? []).map((resource) =>
    Watch.owned(resource, options.for, { namespaces: options.namespaces })
  )
  const { finalize } = options
  // The cached kinds and the client are provided by `start`; what remains in R is the user's.
  type Erased = Controller<any>
  return {
    name,
    resource: options.for,
    watches: [self, ...owns, ...(options.watches ?? [])],
    reconcile: options.reconcile as Erased["reconcile"],
    finalize: finalize === undefined ? undefined : {
      finalizer: options.finalizer ?? `${options.for.group === "" ? "kubernetes.io" : options.for.group}/${name}`,
      run: finalize as Erased["reconcile"]
    },
    concurrency,
    retry: options.retry,
    cacheSyncTimeout: Duration.fromInputUnsafe(options.cacheSyncTimeout ?? defaults.cacheSyncTimeout),
    resync
  } satisfies Erased
}

/** A controller that runs. */
export interface Running {
  readonly name: string
  /** Completes when every cache is full and the workers have started. */
  readonly ready: Effect.Effect<void>
  readonly stats: () => WorkQueue.Stats
  /** No new reconcile starts; completes when none is under way. */
  readonly drain: Effect.Effect<void>
}

/** Not every cache was full in time; the message names those that were not, and why. */
export class CacheSyncTimeout extends Error {
  readonly _tag = "CacheSyncTimeout"
  override readonly name = "CacheSyncTimeout"
}

/** Starts a controller in the scope, its parts run by the supervisor. */
export const start = Effect.fnUntraced(function*<R>(controller: Controller<R>, supervisor: Supervisor) {
  const all = yield* Informers
  const sink = yield* EventSink
  const client = yield* KubeClient
  const metrics = Metrics.forController(controller.name)
  const queue = yield* WorkQueue.make({ retry: controller.retry })
  const faults = yield* Queue.unbounded<Fault>()

  const informers: Array<Informer> = []
  /** Those of the controller's own kind: a watch of the same kind may see objects that are not the controller's. */
  const own: Array<Informer> = []
  for (const watch of controller.watches) {
    for (const namespace of watch.namespaces ?? [undefined]) {
      const informer = yield* all.get({
        resource: watch.resource,
        namespace,
        labels: watch.labels,
        fields: watch.fields,
        indexedLabels: watch.indexedLabels
      })
      informers.push(informer)
      if (watch === controller.watches[0]) own.push(informer)
      yield* informer.subscribe((deltas) => {
        for (const delta of deltas) {
          const fault = triggered(controller.resource, watch, delta, queue.add)
          if (fault !== undefined) Queue.offerUnsafe(faults, fault)
        }
      })
    }
  }
  const reader = makeReader(informers)

  const synced = Effect.forEach(informers, ({ synced }) => synced, { discard: true }).pipe(
    Effect.timeoutOrElse({
      duration: controller.cacheSyncTimeout,
      orElse: () => Effect.flatMap(notSynced(informers), (why) => Effect.fail(new CacheSyncTimeout(why)))
    }),
    Effect.withSpan("Controller.sync", { attributes: { controller: controller.name } })
  )

  /** One run of one key: the action, or why not. */
  const attempt = Effect.fnUntraced(function*(item: Item) {
    const object = own.map(({ store }) => store.get(item.key)).find((object) => object !== undefined)
    if (object === undefined) return Action.done
    const { finalize } = controller
    const context: Context = { ...item, events: sink.recorder(controller.name, object) }
    if (isTerminating(object)) {
      if (finalize === undefined || !Finalizer.has(object, finalize.finalizer)) return Action.done
      const action = yield* finalize.run(object, context)
      if (action._tag === "Done") yield* Finalizer.remove(controller.resource, object, finalize.finalizer)
      return action
    }
    const guarded = finalize === undefined || Finalizer.has(object, finalize.finalizer)
      ? object
      : yield* Finalizer.add(controller.resource, object, finalize.finalizer)
    return yield* controller.reconcile(guarded, context)
  })

  const process = Effect.fnUntraced(function*(item: Item) {
    const started = yield* Clock.currentTimeMillis
    yield* Metric.modify(metrics.activeWorkers, 1)
    const exit = yield* Effect.exit(attempt(item))
    const ended = yield* Clock.currentTimeMillis
    yield* Metric.update(metrics.time, (ended - started) / 1000)
    yield* Metric.modify(metrics.activeWorkers, -1)
    yield* Exit.isSuccess(exit) ? succeeded(item, exit.value) : failed(item, exit.cause)
    yield* Metric.update(metrics.depth, queue.stats().ready)
  })

  const succeeded = (item: Item, action: Action.Action) => {
    switch (action._tag) {
      case "Done":
        return Effect.andThen(Metric.update(metrics.total.success, 1), queue.done(item.key, { _tag: "Done" }))
      case "Requeue":
        return Effect.andThen(
          Metric.update(metrics.total.requeue, 1),
          queue.done(item.key, { _tag: "Again", delay: 0 })
        )
      case "RequeueAfter":
        return Effect.andThen(
          Metric.update(metrics.total.requeue_after, 1),
          queue.done(item.key, { _tag: "Again", delay: action.delay })
        )
    }
  }

  const failed = Effect.fnUntraced(function*(item: Item, cause: Cause.Cause<unknown>) {
    const error = Option.getOrUndefined(Cause.findErrorOption(cause))
    yield* Metric.update(metrics.total.error, 1)
    yield* Metric.update(metrics.errors, 1)
    if (error === undefined) yield* Metric.update(metrics.panics, 1)
    if (error instanceof Terminal) {
      yield* Metric.update(metrics.terminalErrors, 1)
      yield* queue.done(item.key, { _tag: "Rest" })
      return yield* Effect.logError(`gave up until something changes: ${error.message}`, cause)
    }
    const kube = error instanceof KubeError ? error : undefined
    const delay = yield* queue.done(item.key, { _tag: "Failed", error, atLeast: kube?.retryAfter })
    yield* Metric.update(metrics.retries, 1)
    const next = delay === undefined ? "not again until something changes" : `again in ${delay} ms`
    // Losing a race is everyday life of a controller, anything else is worth a line in production logs.
    yield* kube?.reason._tag === "Conflict"
      ? Effect.logDebug(`conflict, ${next}: ${kube.message}`)
      : Effect.logWarning(`reconcile failed (${item.failures + 1} in a row), ${next}`, cause)
  })

  const worker = Effect.whileLoop({
    while: () => true,
    body: () =>
      Effect.flatMap(queue.take, (item) =>
        Option.isNone(item)
          ? Effect.never
          : process(item.value).pipe(
            Effect.withSpan("Controller.reconcile", {
              attributes: { controller: controller.name, key: item.value.key }
            }),
            Effect.annotateLogs({ controller: controller.name, object: item.value.key })
          )),
    step: () => {}
  }).pipe(
    Effect.provideService(CacheReader, reader),
    Effect.provideService(KubeClient, client),
    Effect.provideService(FieldManager, controller.name)
  )

  const report = Effect.fnUntraced(function*({ action, object, why }: Fault) {
    const note = `${object.kind} ${keyString(object)} ${why}`
    yield* Metric.update(metrics.invalid, 1)
    yield* Effect.logError(note)
    yield* sink.recorder(controller.name, object).warning({ reason: "Invalid", action, note })
  })

  const resync = Effect.andThen(
    Effect.sleep(controller.resync),
    Effect.sync(() => {
      for (const { store } of own) {
        for (const object of store.values()) queue.add(keyString(object), { _tag: "Resync" })
      }
    })
  )

  const started = yield* Latch.make()
  const annotate = Effect.annotateLogs({ controller: controller.name })
  yield* supervisor.run(
    `invalid objects of ${controller.name}`,
    Effect.forever(Effect.flatMap(Queue.take(faults), report)).pipe(annotate)
  )
  yield* supervisor.run(`resync of ${controller.name}`, Effect.forever(resync))
  yield* supervisor.run(
    `controller ${controller.name}`,
    synced.pipe(
      Effect.andThen(
        Effect.suspend(() =>
          Effect.logInfo(
            `started: ${informers.map(({ resource, store }) => `${store.size} ${resource.plural}`).join(", ")} cached`
          )
        )
      ),
      Effect.andThen(started.open),
      Effect.andThen(Effect.all(Array.from({ length: controller.concurrency }, () => worker), {
        concurrency: "unbounded",
        discard: true
      })),
      annotate
    )
  )
  return { name: controller.name, ready: started.await, stats: queue.stats, drain: queue.drain } satisfies Running
})

/** An object that is left out, and why. */
interface Fault {
  readonly object: KubeObject
  readonly action: string
  readonly why: string
}

/** Adds the keys a delta concerns. A predicate or map function that throws on an object is that object's fault. */
const triggered = (
  owner: Resource.Any,
  watch: Watch.Watch,
  delta: Delta,
  add: WorkQueue.WorkQueue["add"]
): Fault | undefined => {
  if (delta._tag === "Invalid") {
    return { object: delta.raw, action: "Decode", why: `is not valid and is ignored: ${delta.issues.join("; ")}` }
  }
  try {
    let misplaced: string | undefined
    Trigger.keys(watch, [delta], (key, reason) => {
      if (key.includes("/") === (owner.scope === "Namespaced")) add(key, reason)
      else misplaced = key
    })
    if (misplaced === undefined) return undefined
    const scope = owner.scope === "Namespaced" ? "namespaced: give a namespace" : "cluster-scoped: give none"
    return { object: delta.object, action: "Trigger", why: `is mapped to ${misplaced}, but ${owner.kind} is ${scope}` }
  } catch (defect) {
    return { object: delta.object, action: "Trigger", why: `wakes nobody: predicate or map failed: ${String(defect)}` }
  }
}

/** Which informers have no list yet, and why. */
const notSynced = Effect.fnUntraced(function*(informers: ReadonlyArray<Informer>) {
  const reports: Array<string> = []
  for (const { resource, selection, status, store } of informers) {
    if (store.resourceVersion !== "0") continue
    const now = yield* SubscriptionRef.get(status)
    const where = selection.namespace === undefined ? resource.id : `${resource.id} in ${selection.namespace}`
    reports.push(
      now._tag === "Degraded"
        ? `${where}: ${now.reason._tag}: ${now.reason.message}${hints[now.reason._tag] ?? ""}`
        : `${where}: the list has not been answered`
    )
  }
  return `the caches did not fill in time: ${reports.join("; ")}`
})
