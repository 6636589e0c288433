/**
 * `realTime`: runs effects in the time of the servers, whatever `Clock` is in context: they do not follow a test's
 * clock.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export const clock: Clock.Clock = Clock.Clock.defaultValue()

/** Runs an effect in real time. An effect that is already complete is returned as it is. */
export const inRealTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Exit.isExit(effect) ? effect : Effect.provideService(effect, Clock.Clock, clock)
