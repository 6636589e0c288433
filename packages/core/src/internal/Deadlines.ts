/**
 * `Deadlines`: interrupts reconciles that take too long, all with the same timeout, by one timer: one that ends in
 * time, as nearly all do, costs one entry in a map.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { ReconcileTimeout } from "../Reconciler.ts"
import * as Alarm from "./Alarm.ts"
import { monotonicMillis } from "./monotonic.ts"

export interface Deadlines {
  /** Starts the timeout of a fiber. */
  readonly begin: (fiber: Fiber.Fiber<unknown, unknown>) => void
  /** The exit of a fiber whose timeout has started or will start later. */
  readonly end: <A, E>(fiber: Fiber.Fiber<A, E>) => Effect.Effect<Exit.Exit<A, E | ReconcileTimeout>>
  /**
   * The exit of a fiber that has just started. If it is late, it is interrupted, and its exit is a `ReconcileTimeout`,
   * whatever it makes of the interruption.
   */
  readonly ending: <A, E>(fiber: Fiber.Fiber<A, E>) => Effect.Effect<Exit.Exit<A, E | ReconcileTimeout>>
}

/** Deadlines for as long as the scope lives; none without a timeout. */
export const make = Effect.fnUntraced(function*(timeout: Duration.Duration | undefined) {
  if (timeout === undefined) return { begin: () => {}, end: Fiber.await, ending: Fiber.await } satisfies Deadlines
  const clock = yield* Clock.Clock
  const millis = Duration.toMillis(timeout)
  const late = Exit.fail(
    new ReconcileTimeout({ message: `the reconcile took longer than its timeout of ${Duration.format(timeout)}` })
  )
  /** When each must be over, in this order: the timeout is the same for all. */
  const running = new Map<Fiber.Fiber<unknown, unknown>, number>()
  const tardy = new WeakSet<Fiber.Fiber<unknown, unknown>>()

  const alarm = yield* Alarm.make((now) => {
    for (const [fiber, at] of running) {
      if (at > now) return at
      running.delete(fiber)
      tardy.add(fiber)
      fiber.interruptUnsafe()
    }
    return undefined
  })

  const begin: Deadlines["begin"] = (fiber) => {
    const at = monotonicMillis(clock) + millis
    running.set(fiber, at)
    fiber.addObserver(() => running.delete(fiber))
    alarm.set(at)
  }
  const end: Deadlines["end"] = (fiber) => Effect.map(Fiber.await(fiber), (exit) => tardy.has(fiber) ? late : exit)

  return {
    begin,
    end,
    ending: (fiber) => {
      begin(fiber)
      return end(fiber)
    }
  } satisfies Deadlines
})
