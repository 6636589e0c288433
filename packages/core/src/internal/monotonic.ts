/** `monotonic`: time that cannot be set, for durations and delays. */
import type * as Clock from "effect/Clock"

/** Whole milliseconds since a fixed moment. */
export const monotonicMillis = (clock: Clock.Clock): number =>
  Math.floor(Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
