/**
 * A clock that runs faster than the one on the wall, by a factor, and is real otherwise.
 *
 * Sockets take real time, so a test clock that stands still between two steps cannot drive them. Under this clock the
 * reflector's deadlines and delays pass in their true proportions (an idle deadline of two minutes, a backoff that ends
 * at half a minute), a hundred times as fast. The server under test runs on the same clock, so its bookmarks and
 * time-outs keep their proportions to the client's.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export const make = (factor: number): Clock.Clock => {
  const wall = Clock.Clock.defaultValue()
  const millis = wall.currentTimeMillisUnsafe()
  const nanos = wall.currentTimeNanosUnsafe()
  const origin = wall.monotonicTimeNanosUnsafe()
  const elapsed = () => (wall.monotonicTimeNanosUnsafe() - origin) * BigInt(factor)
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => millis + Number(elapsed() / 1_000_000n),
    currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe()),
    currentTimeNanosUnsafe: () => nanos + elapsed(),
    currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe()),
    monotonicTimeNanosUnsafe: () => origin + elapsed(),
    monotonicTimeNanos: Effect.sync(() => clock.monotonicTimeNanosUnsafe()),
    sleep: (duration) => wall.sleep(Duration.millis(Math.ceil(Duration.toMillis(duration) / factor)))
  }
  return clock
}
