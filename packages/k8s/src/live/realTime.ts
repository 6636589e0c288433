/** `realTime`: time as the servers have it, whatever `Clock` is in context: they do not live in a test's. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export const clock: Clock.Clock = Clock.Clock.defaultValue()

/** An effect in real time. What is over already needs none. */
export const inRealTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Exit.isExit(effect) ? effect : Effect.provideService(effect, Clock.Clock, clock)
