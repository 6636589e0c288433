/**
 * Reports objects that a controller cannot work with: one that does not decode, or that cannot be turned into keys. It
 * is logged, counted, and reported in an event about the object. An object of the controller's own kind that has
 * conditions gets one, too (`Stalled`, reason `Invalid`), until it has been corrected and reconciled.
 *
 * Every replica reports. Only the one to which the object belongs writes conditions, including those for what was found
 * while it did not lead.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { Writing } from "../Client.ts"
import type { Controller } from "../Controller.ts"
import type { EventSink } from "../EventRecorder.ts"
import type { Informer } from "../Informers.ts"
import type { KubeClient } from "../KubeClient.ts"
import { KubeError } from "../KubeError.ts"
import { keyString } from "../KubeObject.ts"
import type { Leadership } from "../Leadership.ts"
import type { ControllerMetrics } from "../Metrics.ts"
import { logFailure } from "./logFailure.ts"
import { monotonicMillis } from "./monotonic.ts"
import * as Stalled from "./stalled.ts"
import type { Fault } from "./triggers.ts"

/** How long, in milliseconds, a condition waits that could not be written for a temporary reason. */
const patience = 30_000

export interface Options {
  readonly controller: Pick<Controller, "name" | "resource">
  /** Informers of the controller's own kind. */
  readonly own: ReadonlyArray<Pick<Informer, "store">>
  readonly events: EventSink["Service"]
  readonly metrics: Pick<ControllerMetrics, "invalid">
  readonly leadership: Leadership
  /** Reports that a condition could not be written. */
  readonly unwritten: ReturnType<typeof Stalled.teller>
}

export interface Invalid {
  /** Takes a fault; returns at once. */
  readonly report: (fault: Fault) => void
  /** Reports the faults. */
  readonly telling: Effect.Effect<never>
  /** Writes conditions while this process leads; absent if objects of the kind have none. */
  readonly marking: Effect.Effect<never, never, KubeClient> | undefined
  /** More objects belong to this process now. */
  readonly again: () => void
}

export const make = Effect.fnUntraced(function*({ controller, events, leadership, metrics, own, unwritten }: Options) {
  const faults = yield* Queue.unbounded<Fault>()
  const clock = yield* Clock.Clock
  const now = () => monotonicMillis(clock)
  /**
   * Why an object of the own kind does not decode, by key, until its condition was written, or cannot be; and when the
   * next attempt is due.
   */
  const unmarked = new Map<string, { readonly why: string; readonly at: number }>()
  const changed = yield* Queue.dropping<void>(1)
  const { resource } = controller
  const canSay = Stalled.canSay(resource)

  const isOwn = ({ action, object }: Fault): boolean =>
    canSay && action === "Decode" && object.kind === resource.kind && object.apiVersion === resource.apiVersion

  const tell = Effect.fnUntraced(function*(fault: Fault) {
    const { action, object, why } = fault
    if (isOwn(fault)) {
      // Writing the condition itself causes another version of an object that does not decode.
      if (Stalled.saysSo(object, "Invalid", why)) return
      unmarked.set(keyString(object), { why, at: -Infinity })
      yield* Queue.offer(changed, undefined)
    }
    const note = `${object.kind} ${keyString(object)} ${why}`
    metrics.invalid()
    yield* fault.defect === undefined
      ? Effect.logError(note)
      : logFailure(Effect.logError, note, Cause.die(fault.defect))
    yield* events.recorder(controller.name, object).warning({ reason: "Invalid", action, note })
  })

  const find = (key: string) =>
    Effect.sync(() => own.map(({ store }) => store.invalid.get(key)).find((object) => object !== undefined))

  const mark = (key: string, why: string) =>
    Stalled.say(resource, find(key), controller.name, "Invalid", why).pipe(
      Effect.provideService(Writing, { permit: leadership.permit, wrote: () => {} }),
      Effect.as(false),
      // Fails even if it was written: the response is the object, which does not decode.
      Effect.catchCause((cause) => {
        const error = Cause.squash(cause)
        return Effect.as(unwritten(cause), error instanceof KubeError && error.isRetryable)
      }),
      Effect.annotateLogs("object", key),
      Effect.map((isPassing) => {
        // Something else may be wrong with it by now.
        if (unmarked.get(key)?.why !== why) return
        if (isPassing) unmarked.set(key, { why, at: now() + patience })
        else unmarked.delete(key)
      })
    )

  const marks = Effect.suspend(() =>
    Effect.forEach(
      [...unmarked],
      ([key, { at, why }]) => at <= now() && leadership.owns(key) ? mark(key, why) : Effect.void,
      { discard: true }
    )
  )

  /** Waits until there may be something to write. */
  const more = Effect.suspend(() => {
    const next = Math.min(...[...unmarked].flatMap(([key, { at }]) => (leadership.owns(key) ? [at] : [])))
    const news = Queue.take(changed)
    return next === Infinity ? news : Effect.timeoutOption(news, Math.max(0, next - now()))
  })

  return {
    report: (fault) => void Queue.offerUnsafe(faults, fault),
    telling: Effect.forever(Effect.flatMap(Queue.take(faults), tell)),
    marking: canSay
      ? leadership.lead(Effect.andThen(marks, Effect.forever(Effect.andThen(more, marks))))
      : undefined,
    again: () => void Queue.offerUnsafe(changed, undefined)
  } satisfies Invalid as Invalid
})
