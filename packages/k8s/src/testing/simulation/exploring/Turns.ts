/**
 * `Turns`: long synchronous work as an Effect that lets others go first from time to time.
 *
 * A simulated run is synchronous, so that nothing else can happen meanwhile. Between two runs timers, signals and other
 * fibers have their turn, and the work can be interrupted.
 */
import * as Effect from "effect/Effect"

/** Work that stops at each `yield`. */
export type Turns<A> = Generator<void, A, void>

/** Everything that waits in the event loop has its turn. */
const others: Effect.Effect<void> = Effect.callback((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/** The result of the work. */
export const effect = <A>(work: () => Turns<A>): Effect.Effect<A> =>
  Effect.gen(function*() {
    const turns = work()
    for (;;) {
      const turn = turns.next()
      if (turn.done === true) return turn.value
      yield* others
    }
  })
