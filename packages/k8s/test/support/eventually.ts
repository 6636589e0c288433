import { Effect } from "effect"

/** Waits until it is so; dies if it is not within ten seconds of real time. */
export const eventually = (isSo: () => boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const began = Date.now()
    const timer = setInterval(() => {
      const isLate = Date.now() - began > 10_000
      if (!isSo() && !isLate) return
      clearInterval(timer)
      resume(isLate ? Effect.die(new Error(`not within ten seconds: ${isSo}`)) : Effect.void)
    }, 5)
    return Effect.sync(() => clearInterval(timer))
  })
