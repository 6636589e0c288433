/** `monotonic`: time that nobody can set, for how long something takes or has to wait. */
import type * as Clock from "effect/Clock"

/** Whole milliseconds since some moment that stays the same. */
export const monotonicMillis = (clock: Clock.Clock): number =>
  Math.floor(Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
