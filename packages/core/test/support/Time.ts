/** Virtual time, and quiet: a step of the clock runs fibers one hop, and a request takes several. */
import { type Duration, Effect } from "effect"
import { TestClock } from "effect/testing"

/** Lets everything happen that is to happen now. */
export const settle: Effect.Effect<void> = Effect.asVoid(Effect.repeat(TestClock.adjust(0), { times: 20 }))

/** Lets time pass, and everything happen that is to happen by then. */
export const pass = (duration: Duration.Input): Effect.Effect<void> =>
  settle.pipe(Effect.andThen(TestClock.adjust(duration)), Effect.andThen(settle))
