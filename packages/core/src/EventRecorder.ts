/**
 * `EventRecorder`: Kubernetes Events (events.k8s.io/v1) about objects, for `kubectl events` and `kubectl describe`.
 *
 * Recording never blocks and never fails a reconcile: events wait in a bounded queue for one background writer, and an
 * event that cannot be written is logged. The same event about the same object within six minutes becomes a series
 * (count and last time) instead of another Event; if the server has expired the Event meanwhile, a new one is created.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { KubeClient, Patch } from "./KubeClient.ts"
import type * as KubeError from "./KubeError.ts"
import type { KubeObject, NamespacedObjectMeta } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"
import type { Supervisor } from "./Supervisor.ts"

/** Figures of the recorder. */
export const defaults = {
  /** Events waiting to be written; more are dropped, and the loss is logged. */
  capacity: 1000,
  /** How long, in milliseconds, a repeated event counts into the same series. */
  seriesWindow: 360_000,
  /** Series remembered at most. */
  seriesKept: 4096,
  /** Limits of the API, in bytes of UTF-8 (which the server calls characters). */
  maxNote: 1024,
  maxReason: 128
} as const

export interface Note {
  /** Why, in CamelCase or upper case: `ReplicaCreated`. Cut at 128 bytes. */
  readonly reason: string
  /** For a person. Cut at 1,024 bytes. */
  readonly note: string
  /** What the controller did; the reason if absent. */
  readonly action?: string | undefined
  readonly related?: KubeObject | undefined
}

/** Events about one object. */
export interface EventRecorder {
  readonly normal: (note: Note) => Effect.Effect<void>
  readonly warning: (note: Note) => Effect.Effect<void>
}

/** Where events of a manager go. */
export class EventSink extends Context.Service<EventSink, {
  /** A recorder for an object, in the name of a controller. */
  readonly recorder: (controller: string, regarding: KubeObject) => EventRecorder
  /** Completes when everything recorded so far was written or given up. */
  readonly flush: Effect.Effect<void>
}>()("@effect-operator/core/EventRecorder/EventSink") {}

interface Event extends KubeObject {
  readonly apiVersion: "events.k8s.io/v1"
  readonly kind: "Event"
  readonly metadata: NamespacedObjectMeta
  readonly [field: string]: unknown
}

const Event = Resource.make<Event>()({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  scope: "Namespaced",
  shortNames: ["ev"]
})

interface Pending extends Note {
  readonly type: "Normal" | "Warning"
  readonly controller: string
  readonly regarding: KubeObject
  readonly at: number
}

interface Series {
  readonly name: string
  readonly count: number
  readonly last: number
}

/** The sink, its writer run by the supervisor. `instance` names this process among its replicas. */
export const makeSink = Effect.fnUntraced(function*(supervisor: Supervisor, instance: string) {
  const client = yield* KubeClient
  const queue = yield* Queue.dropping<Pending>(defaults.capacity)
  const series = new Map<string, Series>()
  let open = 0
  let sequence = 0
  const waiting = new Set<() => void>()

  const create: (event: Pending, id: string) => Effect.Effect<void, KubeError.KubeError> = Effect.fnUntraced(function*(
    event,
    id
  ) {
    const name = `${prefixOf(event.regarding)}.${(BigInt(event.at) * 1_000_000n + BigInt(sequence++)).toString(16)}`
    const created = yield* client.create(Event, {
      metadata: { name, namespace: namespaceOf(event.regarding) },
      eventTime: microTime(event.at),
      type: event.type,
      reason: cut(event.reason, defaults.maxReason),
      action: cut(event.action ?? event.reason, defaults.maxReason),
      note: cut(event.note, defaults.maxNote),
      regarding: reference(event.regarding),
      ...(event.related === undefined ? {} : { related: reference(event.related) }),
      reportingController: event.controller,
      reportingInstance: cut(instance, defaults.maxReason)
    }).pipe(
      Effect.as(true),
      // Another replica wrote about the same object in the same millisecond.
      Effect.catchReason("KubeError", "AlreadyExists", () => Effect.succeed(false))
    )
    if (!created) return yield* create(event, id)
    series.delete(id)
    series.set(id, { name, count: 1, last: event.at })
    if (series.size > defaults.seriesKept) { for (const oldest of series.keys()) return void series.delete(oldest) }
  })

  const write = Effect.fnUntraced(function*(event: Pending) {
    const id = identity(event)
    const known = series.get(id)
    if (known === undefined || event.at - known.last > defaults.seriesWindow) return yield* create(event, id)
    const count = known.count + 1
    series.set(id, { ...known, count, last: event.at })
    yield* client.patch(
      Event,
      { namespace: namespaceOf(event.regarding), name: known.name },
      Patch.merge({ series: { count, lastObservedTime: microTime(event.at) } })
    ).pipe(Effect.catchReason("KubeError", "NotFound", () => create(event, id)))
  })

  yield* supervisor.run(
    "event recorder",
    Queue.take(queue).pipe(
      Effect.flatMap((event) =>
        write(event).pipe(
          Effect.catch((error: KubeError.KubeError) =>
            Effect.logWarning(
              `the event ${event.reason} about ${event.regarding.metadata.name} was lost: ${error.message}`
            )
          ),
          Effect.ensuring(Effect.sync(() => {
            open -= 1
            if (open > 0) return
            // Whoever goes on may record and wait again before this is over.
            const flushed = [...waiting]
            waiting.clear()
            for (const resume of flushed) resume()
          }))
        )
      ),
      // Without a yield in between: a burst is written out before the fiber rests.
      Effect.forever({ disableYield: true })
    )
  )

  const record = (type: Pending["type"], controller: string, regarding: KubeObject) => (note: Note) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      if (!Queue.offerUnsafe(queue, { ...note, type, controller, regarding, at })) {
        return Effect.logWarning(`more than ${defaults.capacity} events wait to be written: ${note.reason} was dropped`)
      }
      open += 1
      return Effect.void
    })

  return EventSink.of({
    recorder: (controller, regarding) => ({
      normal: record("Normal", controller, regarding),
      warning: record("Warning", controller, regarding)
    }),
    flush: Effect.callback<void>((resume) => {
      if (open === 0) return resume(Effect.void)
      const done = () => resume(Effect.void)
      waiting.add(done)
      return Effect.sync(() => waiting.delete(done))
    })
  })
})

/** Events about cluster-scoped objects live in `default`. */
const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? "default"

/** The first part of an event's name: the object's, where that may stand in the name of an Event. */
const prefixOf = ({ metadata: { name } }: KubeObject): string => {
  const legal = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name)
  const text = legal ? name : name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-/, "")
  return text.slice(0, 200).replace(/[-.]+$/, "") || "event"
}

/** The text, shortened to so many bytes of UTF-8 at the end of a character. */
const cut = (text: string, max: number): string => {
  if (new TextEncoder().encode(text).length <= max) return text
  const room = new Uint8Array(max - 3)
  return `${text.slice(0, new TextEncoder().encodeInto(text, room).read)}…`
}

const reference = ({ apiVersion, kind, metadata }: KubeObject) => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace })
})

const identity = (event: Pending): string =>
  [
    event.regarding.metadata.uid,
    event.type,
    event.reason,
    event.action ?? "",
    event.controller,
    event.related?.metadata.uid ?? "",
    event.note
  ].join("\u0000")

/** RFC 3339 with exactly six digits of a second, as the API demands of a MicroTime. */
const microTime = (at: number): string => new Date(at).toISOString().replace("Z", "000Z")
