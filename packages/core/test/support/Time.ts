/** Virtual time, and quiet: a step of the clock runs fibers one hop, and a request takes several. */
import { Clock, type Duration, Effect, Fiber, Random, Scheduler } from "effect"
import { TestClock } from "effect/testing"

/** Lets everything happen that is to happen now. */
export const settle: Effect.Effect<void> = Effect.asVoid(Effect.repeat(TestClock.adjust(0), { times: 20 }))

/** Lets time pass, and everything happen that is to happen by then. */
export const pass = (duration: Duration.Input): Effect.Effect<void> =>
  settle.pipe(Effect.andThen(TestClock.adjust(duration)), Effect.andThen(settle))

/**
 * Runs something with chance by a seed, in a time of its own: its clock waits for what it wakes however long a busy machine
 * takes. By itself one goes on after a second, as if the process had stood still.
 */
export const seeded = <A, E, R>(seed: number, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Random.withSeed(effect, `${seed}`).pipe(Effect.provide(TestClock.layer({ warningDelay: "10 minutes" })))

/**
 * Begins an effect, and interrupts it where it lets others go first after so many steps, or else where it waits. True if it
 * came that far.
 */
export const interruptedAfter = <A, E, R>(
  steps: number,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<boolean, never, R> =>
  Effect.gen(function*() {
    let taken = 0
    let own: number | undefined
    const scheduler = new Scheduler.MixedScheduler()
    scheduler.shouldYield = ({ id }) => id === (own ??= id) && ++taken === steps
    const begun = Effect.provideService(effect, Scheduler.Scheduler, scheduler)
    const fiber = yield* Effect.forkChild(begun, { startImmediately: true })
    const reached = taken >= steps
    yield* Fiber.interrupt(fiber)
    return reached
  })

/** Begins an effect, and does something between two of its steps, after so many. True if it came that far. */
export const between = <A, E, R>(steps: number, effect: Effect.Effect<A, E, R>, happens: () => void) =>
  Effect.gen(function*() {
    let taken = 0
    const scheduler = new Scheduler.MixedScheduler()
    scheduler.shouldYield = () => {
      if (++taken === steps) happens()
      return false
    }
    const begun = Effect.provideService(effect, Scheduler.Scheduler, scheduler)
    const fiber = yield* Effect.forkChild(begun, { startImmediately: true })
    const reached = taken >= steps
    taken = Infinity
    return { fiber, reached }
  })

/** The clock of the test, whose time of day somebody may put back, by so many milliseconds; what passes goes on. */
export const settable: Effect.Effect<{ readonly clock: Clock.Clock; readonly putBack: (millis: number) => void }> =
  Effect.map(Clock.Clock, (clock) => {
    let behind = 0
    const millis = () => clock.currentTimeMillisUnsafe() - behind
    return {
      clock: { ...clock, currentTimeMillisUnsafe: millis, currentTimeMillis: Effect.sync(millis) },
      putBack: (by) => {
        behind += by
      }
    }
  })
