/**
 * `EventRecorder`: Kubernetes Events (events.k8s.io/v1) about objects, for `kubectl events` and `kubectl describe`.
 *
 * Recording never blocks and never fails a reconcile: events wait in a bounded queue for one background writer. The
 * same event about the same object within six minutes becomes a series (count and last time) instead of another Event.
 * If the server has expired the Event in the meantime, a new one is created.
 *
 * A controller may write 25 events at once about an object, and then one every five minutes (figures of client-go's
 * spam filter), so a reconciler that reports each of its failures cannot flood the API. Events that are held back are
 * counted, and the next write that is let through, or the end of the program, reports the count.
 *
 * A request without an answer, or one that the server asks to repeat later, is retried. An event that the server
 * refuses is logged and dropped. On stop, recorded events are written out, as far as the manager waits for that.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Semaphore from "effect/Semaphore"
import * as EventObject from "./internal/eventObject.ts"
import { monotonicMillis } from "./internal/monotonic.ts"
import { TokenBucket } from "./internal/TokenBucket.ts"
import { KubeClient, Patch } from "./KubeClient.ts"
import type * as KubeError from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as Metrics from "./Metrics.ts"
import type { Supervisor } from "./Supervisor.ts"

/** Limits of the recorder. */
export const defaults = {
  /** Events that may wait to be written; more are dropped, and the loss is logged. */
  capacity: 1000,
  /** How long, in milliseconds, repetitions of an event join the same series. */
  seriesWindow: 360_000,
  /** Maximum number of series remembered. */
  seriesKept: 4096,
  /** Writes that a controller may make about one object in a burst. */
  burst: 25,
  /** Milliseconds until one more write is allowed. */
  refill: 300_000,
  /** Maximum number of objects whose limit is remembered. */
  limitsKept: 4096,
  /** Attempts of a request that gets no response, and the milliseconds between them. */
  tries: 12,
  pause: 10_000,
  /** Upper limit of a Retry-After, in milliseconds: other events wait behind it. */
  longestRetryAfter: 60_000,
  /** Limits of the API, in bytes of UTF-8 (which the server calls characters). */
  maxNote: EventObject.limits.note,
  maxReason: EventObject.limits.reason
} as const

export interface Note {
  /** Why, in CamelCase or upper case: `ReplicaCreated`. Cut at 128 bytes. */
  readonly reason: string
  /** For a person. Cut at 1,024 bytes. */
  readonly note: string
  /** What the controller did; the reason by default. */
  readonly action?: string | undefined
  /** Another object that is involved. */
  readonly related?: KubeObject | undefined
}

/** Records events about one object. */
export interface EventRecorder {
  readonly normal: (note: Note) => Effect.Effect<void>
  readonly warning: (note: Note) => Effect.Effect<void>
  /**
   * Records events about another object, on behalf of the same controller: about the owner of the object that is
   * reconciled, at which people look.
   */
  readonly about: (object: KubeObject) => EventRecorder
}

/** Where a manager's events go. */
export class EventSink extends Context.Service<EventSink, {
  /** A recorder for an object, on behalf of a controller. */
  readonly recorder: (controller: string, regarding: KubeObject) => EventRecorder
  /** Completes when everything recorded so far, counts included, is written or given up. */
  readonly flush: Effect.Effect<void>
}>()("@effect-operator/core/EventRecorder/EventSink") {}

/** One event and its repetitions. */
interface Series {
  readonly latest: EventObject.Happening
  readonly count: number
  /** The name of its Event, if one was written, and the count in it. */
  readonly name: string | undefined
  readonly told: number
}

/** The sink, whose writer the supervisor runs. `instance` identifies this process among the replicas. */
export const makeSink = Effect.fnUntraced(function*(supervisor: Supervisor, instance: string) {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const queue = yield* Queue.dropping<EventObject.Happening>(defaults.capacity)
  const all = new Map<string, Series>()
  const buckets = new Map<string, TokenBucket>()
  /** The writer and a flush take turns. */
  const turn = Semaphore.makeUnsafe(1)
  let open = 0
  let sequence = 0
  const waiting = new Set<() => void>()
  const context = yield* Effect.context<never>()
  const metrics = new Map<string, Metrics.EventMetrics>()
  const metricsOf = (controller: string): Metrics.EventMetrics => {
    const known = metrics.get(controller) ?? Metrics.forEvents(context, controller)
    metrics.set(controller, known)
    return known
  }

  /**
   * Repeats a request until it is answered, within limits. `unanswered` is called for each attempt without a response.
   */
  const patiently = <A>(request: Effect.Effect<A, KubeError.KubeError>, unanswered: () => void = () => {}) => {
    const attempt = (tries: number): Effect.Effect<A, KubeError.KubeError> =>
      Effect.catch(request, (error) => {
        const lost = error.reason._tag === "Transport"
        if (lost) unanswered()
        return tries < defaults.tries && (lost || error.retryAfter !== undefined)
          ? Effect.andThen(
            Effect.sleep(Math.min(error.retryAfter ?? defaults.pause, defaults.longestRetryAfter)),
            attempt(tries + 1)
          )
          : Effect.fail(error)
      })
    return attempt(1)
  }

  /** Returns the name of the Event. */
  const create = Effect.fnUntraced(function*(event: EventObject.Happening, count: number) {
    for (;;) {
      const name = EventObject.nameOf(event, sequence++)
      let lost = false
      const request = client.create(EventObject.Event, EventObject.body(event, name, instance, count))
      const created = yield* patiently(request, () => {
        lost = true
      }).pipe(
        Effect.as(true),
        // After a lost response, this is our own Event. Otherwise another replica wrote about the object in the same
        // millisecond.
        Effect.catchReason("KubeError", "AlreadyExists", () => Effect.succeed(lost))
      )
      if (created) return name
    }
  })

  /** Writes what the server does not know of a series yet. */
  const tell = Effect.fnUntraced(function*(id: string, { count, latest, name, told }: Series) {
    if (name === undefined) {
      return remember(id, { latest, count, name: yield* create(latest, count), told: count })
    }
    const ref = { namespace: EventObject.namespaceOf(latest.regarding), name }
    const known = yield* patiently(
      client.patch(EventObject.Event, ref, Patch.merge(EventObject.series(count, latest.at)))
    ).pipe(
      Effect.as(true),
      Effect.catchReason("KubeError", "NotFound", () => Effect.succeed(false))
    )
    if (known) return remember(id, { latest, count, name, told: count })
    // The server has expired the Event: the new one has only the count that was not written yet.
    const left = count - told
    return remember(id, { latest, count: left, name: yield* create(latest, left), told: left })
  })

  const remember = (id: string, series: Series): void => {
    all.delete(id)
    all.set(id, series)
    forgetOldest(all, defaults.seriesKept)
  }

  const mayWrite = (event: EventObject.Happening): boolean => {
    const subject = EventObject.subjectOf(event)
    const bucket = buckets.get(subject) ?? new TokenBucket(defaults.burst, defaults.burst * defaults.refill)
    buckets.delete(subject)
    buckets.set(subject, bucket)
    forgetOldest(buckets, defaults.limitsKept)
    const now = monotonicMillis(clock)
    if (bucket.nextAt > now) return false
    bucket.take(now)
    return true
  }

  const write = Effect.fnUntraced(function*(event: EventObject.Happening) {
    const id = EventObject.identityOf(event)
    const before = all.get(id)
    const anew = before === undefined || event.at - before.latest.at > defaults.seriesWindow
    if (anew && before !== undefined && isUntold(before)) yield* tell(id, before)
    const series: Series = anew
      ? { latest: event, count: 1, name: undefined, told: 0 }
      : { ...before, latest: event, count: before.count + 1 }
    remember(id, series)
    if (mayWrite(event)) return yield* tell(id, series)
    metricsOf(event.controller).heldBack()
    yield* Effect.logDebug(
      `event ${event.reason} about ${event.regarding.metadata.name}: counted but not written: too many about this object`
    )
  })

  const lost = ({ controller, reason, regarding }: EventObject.Happening) => (error: KubeError.KubeError) => {
    metricsOf(controller).lost()
    return Effect.logWarning(`event ${reason} about ${regarding.metadata.name} was lost: ${error.message}`)
  }

  yield* supervisor.run(
    "event recorder",
    Queue.take(queue).pipe(
      Effect.flatMap((event) =>
        turn.withPermit(write(event)).pipe(
          Effect.catch(lost(event)),
          Effect.ensuring(Effect.sync(() => {
            open -= 1
            if (open > 0) return
            // A resumed fiber may record and wait again before this loop ends.
            const flushed = [...waiting]
            waiting.clear()
            for (const resume of flushed) resume()
          }))
        )
      ),
      // No yield in between: a burst is written before the fiber pauses.
      Effect.forever({ disableYield: true })
    )
  )

  const record = (type: "Normal" | "Warning", controller: string, regarding: KubeObject) => (note: Note) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      if (!Queue.offerUnsafe(queue, { ...note, type, controller, regarding, at })) {
        metricsOf(controller).lost()
        return Effect.logWarning(
          `event ${note.reason} was dropped: more than ${defaults.capacity} events are waiting to be written`
        )
      }
      open += 1
      return Effect.void
    })

  const written = Effect.callback<void>((resume) => {
    if (open === 0) return resume(Effect.void)
    const done = () => resume(Effect.void)
    waiting.add(done)
    return Effect.sync(() => waiting.delete(done))
  })

  /** Updates the counts of existing Events. Events that the limit held back are not created now either. */
  const counts = Effect.suspend(() =>
    Effect.forEach(
      [...all].filter(([, series]) => isUntold(series)),
      ([id, series]) => Effect.catch(tell(id, series), lost(series.latest)),
      { discard: true }
    )
  )

  const recorder = (controller: string, regarding: KubeObject): EventRecorder => ({
    normal: record("Normal", controller, regarding),
    warning: record("Warning", controller, regarding),
    about: (object) => recorder(controller, object)
  })

  return EventSink.of({
    recorder,
    flush: Effect.andThen(written, turn.withPermit(counts))
  })
})

/** Whether the Event on the server has too low a count. */
const isUntold = ({ count, name, told }: Series): boolean => name !== undefined && count > told

/** A Map keeps insertion order: the first entry is the least recently used one. */
const forgetOldest = <A>(entries: Map<string, A>, most: number): void => {
  if (entries.size > most) { for (const oldest of entries.keys()) return void entries.delete(oldest) }
}
