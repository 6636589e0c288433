/**
 * `Turns`: long synchronous work as an Effect that lets others run from time to time.
 *
 * A simulated run is synchronous, so nothing else can happen during it. Between two runs, timers, signals and other
 * fibers get their turn, and the work can be interrupted.
 */
import * as Effect from "effect/Effect"

/** Work that can be suspended at each `yield`. */
export type Turns<A> = Generator<void, A, void>

/** Lets everything that waits in the event loop have its turn. */
const others: Effect.Effect<void> = Effect.callback((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/** Does the work and returns its result. */
export const effect = <A>(work: () => Turns<A>): Effect.Effect<A> =>
  Effect.gen(function*() {
    const turns = work()
    for (;;) {
      const turn = turns.next()
      if (turn.done === true) return turn.value
      yield* others
    }
  })
