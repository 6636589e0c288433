/**
 * `Metrics`: metrics of a controller, under controller-runtime's and client-go's names, so that existing dashboards
 * work.
 *
 * They are bound to their labels once, when the controller starts: an update on the hot path is one call.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Client, Selection } from "./Client.ts"
import { bind } from "./internal/boundMetric.ts"
import { monotonicMillis } from "./internal/monotonic.ts"
import type * as Reflector from "./Reflector.ts"
import type * as Resource from "./Resource.ts"
import { fieldsText, labelsText } from "./Selector.ts"
import * as WorkQueue from "./WorkQueue.ts"

const counter = (name: string, description: string): Metric.Counter<number> =>
  Metric.counter(name, { description, incremental: true })

const reconcileTotal = counter("controller_runtime_reconcile_total", "Total number of reconciliations per controller")
const reconcileErrors = counter(
  "controller_runtime_reconcile_errors_total",
  "Total number of reconciliation errors per controller"
)
const terminalErrors = counter(
  "controller_runtime_terminal_reconcile_errors_total",
  "Total number of terminal reconciliation errors per controller"
)
const panics = counter(
  "controller_runtime_reconcile_panics_total",
  "Total number of reconciliation panics per controller"
)
const invalidObjects = counter(
  "effect_operator_invalid_objects_total",
  "Objects of the controller's kinds that did not decode"
)
const sourceFailures = counter(
  "effect_operator_source_failures_total",
  "Times a source of the controller failed and was started again"
)
const reconcileTime = Metric.histogram("controller_runtime_reconcile_time_seconds", {
  description: "Length of time per reconciliation per controller",
  boundaries: [
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.15,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.45,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1,
    1.25,
    1.5,
    1.75,
    2,
    2.5,
    3,
    3.5,
    4,
    4.5,
    5,
    6,
    7,
    8,
    9,
    10,
    15,
    20,
    25,
    30,
    40,
    50,
    60
  ]
})
const activeWorkers = Metric.gauge("controller_runtime_active_workers", {
  description: "Number of currently used workers per controller"
})
const maxConcurrent = Metric.gauge("controller_runtime_max_concurrent_reconciles", {
  description: "Maximum number of concurrent reconciles per controller"
})
const timeouts = counter(
  "controller_runtime_reconcile_timeouts_total",
  "Total number of reconciliation timeouts per controller"
)
const stalled = counter("effect_operator_stalled_total", "Objects given up until something changes")
const hotLoops = counter("effect_operator_hot_loops_total", "Reconciles after which a key was held back as a hot loop")
const syncTimeouts = counter(
  "effect_operator_cache_sync_timeouts_total",
  "Times a controller reported that its caches did not sync in time"
)

const eventsHeldBack = counter(
  "effect_operator_events_held_back_total",
  "Events counted or left out because the controller wrote too many about an object"
)
const eventsLost = counter("effect_operator_events_lost_total", "Events dropped from a full queue, or refused")

const queueDepth = Metric.gauge("workqueue_depth", {
  description: "Current depth of workqueue by workqueue and priority"
})
const queueAdds = counter("workqueue_adds_total", "Total number of adds handled by workqueue")
const queueRetries = counter("workqueue_retries_total", "Total number of retries handled by workqueue")
/** From ten nanoseconds, twelve boundaries, each ten times the previous one. */
const queueBoundaries = Array.from({ length: 12 }, (_, i) => Number(`1e${i - 8}`))
const queueDuration = Metric.histogram("workqueue_queue_duration_seconds", {
  description: "How long in seconds an item stays in workqueue before being requested",
  boundaries: queueBoundaries
})
const workDuration = Metric.histogram("workqueue_work_duration_seconds", {
  description: "How long in seconds processing an item from workqueue takes",
  boundaries: queueBoundaries
})
const unfinishedWork = Metric.gauge("workqueue_unfinished_work_seconds", {
  description: "How many seconds of work has been done that is in progress and has not been observed by work_duration"
})
const longestRunning = Metric.gauge("workqueue_longest_running_processor_seconds", {
  description: "How many seconds has the longest running processor for workqueue been running"
})

const cacheObjects = Metric.gauge("effect_operator_cache_objects", { description: "Objects in a cache" })
const cacheBytes = Metric.gauge("effect_operator_cache_bytes", {
  description: "Approximate memory of the objects in a cache, in bytes"
})
const unconfirmedWrites = Metric.gauge("effect_operator_cache_unconfirmed_writes", {
  description: "Writes of this process that the watch has not shown yet"
})
const lastEvent = Metric.gauge("effect_operator_watch_last_event_age_seconds", {
  description: "Seconds since the last event or bookmark of a live watch"
})
const degraded = Metric.gauge("effect_operator_watch_degraded", {
  description: "Whether a watch is degraded (1) or healthy (0)"
})
const relists = counter(
  "effect_operator_watch_relists_total",
  "Lists after the first, because a watch could not resume"
)
const restarts = counter("effect_operator_watch_restarts_total", "Watches opened after the first, for whatever reason")
const watchFailures = counter("effect_operator_watch_failures_total", "Lists and watches that failed")

/** How a reconcile ended. */
export type Result = "success" | "error" | "requeue" | "requeue_after"

const results: ReadonlyArray<Result> = ["success", "error", "requeue", "requeue_after"]

/** Records a controller's work: each is a synchronous call, bound to its labels. Times in milliseconds. */
export interface ControllerMetrics {
  readonly started: () => void
  readonly ended: (millis: number) => void
  readonly result: (result: Result) => void
  readonly terminal: () => void
  readonly panicked: () => void
  readonly timedOut: () => void
  readonly stalled: () => void
  readonly hotLoop: () => void
  readonly invalid: () => void
  /** Of each source, and of `dynamicWatches`. */
  readonly sourceFailed: (source: string) => () => void
  readonly cacheSyncTimedOut: () => void
  readonly queue: WorkQueue.Monitor
  /** Exposes the state of the queue, computed on each read, until the scope closes. */
  readonly observe: (
    queue: Pick<WorkQueue.WorkQueue, "stats" | "readyAt" | "handedOut">
  ) => Effect.Effect<void, never, Scope.Scope>
}

/** A bound counter: each call adds one. */
const counting = (
  context: Context.Context<never>,
  metric: Metric.Counter<number>,
  attributes: Record<string, string>
): () => void => {
  const { update } = bind(context, metric, attributes)
  return () => update(1)
}

/** Counts the events of one controller that were not written. */
export interface EventMetrics {
  readonly heldBack: () => void
  readonly lost: () => void
}

export const forEvents = (context: Context.Context<never>, controller: string): EventMetrics => ({
  heldBack: counting(context, eventsHeldBack, { controller }),
  lost: counting(context, eventsLost, { controller })
})

/** The metrics of one controller. Every series exists from the start, with 0. */
export const forController = (
  controller: { readonly name: string; readonly concurrency: number }
): Effect.Effect<ControllerMetrics> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const clock = yield* Clock.Clock
    const { name } = controller
    const labels = { controller: name }
    const queueLabels = { name, controller: name }
    const total = (metric: Metric.Counter<number>, attributes: Record<string, string> = labels) =>
      counting(context, metric, attributes)
    const totals = Object.fromEntries(
      results.map((result) => [result, total(reconcileTotal, { ...labels, result })])
    ) as Record<Result, () => void>
    const errors = total(reconcileErrors)
    const time = bind(context, reconcileTime, labels)
    const workers = bind(context, activeWorkers, labels)
    const waited = bind(context, queueDuration, queueLabels)
    const worked = bind(context, workDuration, queueLabels)
    forEvents(context, name)
    workers.update(0)
    bind(context, maxConcurrent, labels).update(controller.concurrency)
    return {
      started: () => workers.modify(1),
      ended: (millis) => {
        workers.modify(-1)
        time.update(millis / 1000)
        worked.update(millis / 1000)
      },
      result: (result) => {
        totals[result]()
        if (result === "error") errors()
      },
      terminal: total(terminalErrors),
      panicked: total(panics),
      timedOut: total(timeouts),
      stalled: total(stalled),
      hotLoop: total(hotLoops),
      invalid: total(invalidObjects),
      sourceFailed: (source) => total(sourceFailures, { ...labels, source }),
      cacheSyncTimedOut: total(syncTimeouts),
      queue: {
        added: total(queueAdds, queueLabels),
        taken: (millis) => waited.update(millis / 1000),
        retried: total(queueRetries, queueLabels)
      },
      observe: (queue) => {
        const running = (): ReadonlyArray<number> => {
          const now = monotonicMillis(clock)
          return [...queue.handedOut().values()].map((since) => (now - since) / 1000)
        }
        return Effect.forEach(
          [
            computed(context, queueDepth, { ...queueLabels, priority: String(WorkQueue.priorities.normal) }, () =>
              queue.stats().ready - queue.readyAt(WorkQueue.priorities.background)),
            computed(context, queueDepth, { ...queueLabels, priority: String(WorkQueue.priorities.background) }, () =>
              queue.readyAt(WorkQueue.priorities.background)),
            computed(context, unfinishedWork, queueLabels, () =>
              running().reduce((sum, seconds) =>
                sum + seconds, 0)),
            computed(context, longestRunning, queueLabels, () =>
              Math.max(0, ...running()))
          ],
          (register) =>
            register,
          { discard: true }
        )
      }
    } satisfies ControllerMetrics
  })

/** A gauge whose value is computed on each read, until the scope closes. */
export const computed = (
  context: Context.Context<never>,
  gauge: Metric.Gauge<number>,
  attributes: Record<string, string>,
  value: () => number
): Effect.Effect<void, never, Scope.Scope> =>
  register(context, Metric.withAttributes(gauge, attributes), () => ({ value: value() }))

/** A counter whose value is kept elsewhere, until the scope closes. */
const counted = (
  context: Context.Context<never>,
  counter: Metric.Counter<number>,
  attributes: Record<string, string>,
  count: () => number
): Effect.Effect<void, never, Scope.Scope> =>
  register(context, Metric.withAttributes(counter, attributes), () => ({ count: count(), incremental: true }))

const register = <State>(
  context: Context.Context<never>,
  metric: Metric.Metric<number, State>,
  get: () => State
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(Effect.acquireRelease(
    Effect.sync(() => Metric.registerUnsafe(metric, context, { get, update: () => {}, modify: () => {} })),
    (registration) => Effect.sync(() => registration.remove())
  ))

// --- watches and their caches ---------------------------------------------------------------------------------------

/** The measured parts of a watch and its cache. */
export interface Observed {
  readonly resource: Resource.Any
  readonly selection: Selection
  readonly status: SubscriptionRef.SubscriptionRef<Reflector.Status>
  readonly quietFor: () => number | undefined
  readonly store: {
    readonly size: number
    readonly unconfirmed: number
    /** Approximate memory, in bytes. */
    readonly bytes: number
  }
}

/** Counts of the requests for one cache. */
export interface Traffic {
  /** Lists that replaced the cache after the first. */
  readonly relists: number
  /** Watches opened after the first. */
  readonly restarts: number
  /** Lists and watches that failed. */
  readonly failures: number
}

/** The labels of a watch's series. */
const watchLabels = ({ resource, selection }: Pick<Observed, "resource" | "selection">): Record<string, string> => ({
  resource: resource.id,
  namespace: selection.namespace ?? "",
  selector: selectorText(selection)
})

/** `app=web` or `app=web,spec.nodeName=a`; empty for everything. */
export const selectorText = (selection: Selection): string =>
  [labelsText(selection.labels), fieldsText(selection.fields)].filter((text) => text !== undefined && text !== "").join(
    ","
  )

/** Counts the lists and watches that a client makes for one cache. */
export const traffic = (client: Client): { readonly client: Client; readonly now: () => Traffic } => {
  let lists = 0
  let watches = 0
  let failures = 0
  const list = Effect.sync(() => {
    lists += 1
  })
  const failed = Effect.sync(() => {
    failures += 1
  })
  return {
    client: {
      ...client,
      listPage: (resource, options) => {
        const listed = Effect.tapError(client.listPage(resource, options), () => failed)
        return options?.continue === undefined ? Effect.tap(listed, () => list) : listed
      },
      watch: (resource, options) => {
        if (options?.sendInitialEvents === true) lists += 1
        watches += 1
        return Stream.tapError(client.watch(resource, options), () => failed)
      }
    },
    now: () => ({ relists: Math.max(0, lists - 1), restarts: Math.max(0, watches - 1), failures })
  }
}

/** Exposes a watch and its cache, computed on each read, until the scope closes. */
export const forWatch = Effect.fnUntraced(function*(observed: Observed, traffic: () => Traffic) {
  const context = yield* Effect.context<never>()
  const labels = watchLabels(observed)
  const { quietFor, status, store } = observed
  const since = (): number => SubscriptionRef.getUnsafe(status)._tag === "Live" ? (quietFor() ?? 0) / 1000 : 0
  yield* computed(context, cacheObjects, labels, () => store.size)
  yield* computed(context, cacheBytes, labels, () => store.bytes)
  yield* computed(context, unconfirmedWrites, labels, () => store.unconfirmed)
  yield* computed(context, lastEvent, labels, since)
  yield* computed(context, degraded, labels, () => SubscriptionRef.getUnsafe(status)._tag === "Degraded" ? 1 : 0)
  yield* counted(context, relists, labels, () => traffic().relists)
  yield* counted(context, restarts, labels, () => traffic().restarts)
  yield* counted(context, watchFailures, labels, () => traffic().failures)
})
