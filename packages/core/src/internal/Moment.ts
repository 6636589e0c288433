/**
 * `Moment`: a time by both clocks, for what holds only for a while.
 *
 * The wall clock may be set back, and what was remembered would hold for hours longer. The monotonic clock stands still
 * while a machine sleeps, and so does the age of what was remembered. So the clock that shows more counts.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { monotonicMillis } from "./monotonic.ts"

export interface Moment {
  readonly passed: number
  readonly today: number
}

export const now: Effect.Effect<Moment> = Effect.map(
  Clock.Clock,
  (clock) => ({ passed: monotonicMillis(clock), today: clock.currentTimeMillisUnsafe() })
)

/** Milliseconds from one moment to another. */
export const between = (from: Moment, to: Moment): number => Math.max(to.passed - from.passed, to.today - from.today)
