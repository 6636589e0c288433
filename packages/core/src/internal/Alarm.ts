/**
 * `Alarm`: one timer that rings at the earliest time it was set for. It sleeps until exactly then, never polls, and
 * costs nothing while it is not set.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import { monotonicMillis } from "./monotonic.ts"

export interface Alarm {
  /** Rings at that time (`monotonicMillis` of the Clock), or earlier if it was set for an earlier one. */
  readonly set: (at: number | undefined) => void
}

/** `ring` is called with the current time, and returns when it wants to be called next. */
export const make = Effect.fnUntraced(function*(ring: (now: number) => number | undefined) {
  const clock = yield* Clock.Clock
  const run = yield* FiberHandle.makeRuntime<never>()
  let armedFor = Infinity
  let ringing = false

  const sleep: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.sleep(Math.max(0, armedFor - monotonicMillis(clock))),
      Effect.suspend(() => {
        armedFor = Infinity
        ringing = true
        const next = ring(monotonicMillis(clock))
        ringing = false
        armedFor = Math.min(armedFor, next ?? Infinity)
        return armedFor === Infinity ? Effect.void : sleep
      })
    )
  )

  return {
    set: (at) => {
      if (at === undefined || at >= armedFor) return
      armedFor = at
      // The timer cannot be replaced from within its own fiber, which goes on to sleep by itself.
      if (!ringing) run(sleep)
    }
  } satisfies Alarm
})
