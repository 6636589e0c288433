/**
 * `Desk`: what is worked on in one process, by all of its controllers together.
 *
 * Several controllers of a kind work on the same objects, each for itself. But an object is assigned to a process, and
 * handed back, as a whole: when the last of them has ended with it. None begins with it while it is being handed back.
 */
import * as Effect from "effect/Effect"

export const defaults = {
  /** When who cannot have an object now may ask for it again, in milliseconds. */
  pause: 1_000
} as const

export class Desk {
  /** How many work on an object, by its uid. */
  readonly #working = new Map<string, number>()
  readonly #leaving = new Set<string>()

  /** Works on the object, unless it is being handed back: then it says in how many milliseconds to ask again. */
  work<A, E, R>(uid: string, work: Effect.Effect<A, E, R>): Effect.Effect<A | number, E, R> {
    return Effect.suspend((): Effect.Effect<A | number, E, R> => {
      if (this.#leaving.has(uid)) return Effect.succeed(defaults.pause)
      this.#working.set(uid, (this.#working.get(uid) ?? 0) + 1)
      return Effect.ensuring(work, Effect.sync(() => this.#end(uid)))
    })
  }

  /** Hands the object back, unless somebody works on it: then it says in how many milliseconds to ask again. */
  handBack<A, E, R>(uid: string, write: Effect.Effect<A, E, R>): Effect.Effect<A | number, E, R> {
    return Effect.suspend((): Effect.Effect<A | number, E, R> => {
      if (this.#working.has(uid) || this.#leaving.has(uid)) return Effect.succeed(defaults.pause)
      this.#leaving.add(uid)
      return Effect.ensuring(write, Effect.sync(() => this.#leaving.delete(uid)))
    })
  }

  #end(uid: string): void {
    const left = this.#working.get(uid)! - 1
    if (left === 0) this.#working.delete(uid)
    else this.#working.set(uid, left)
  }
}
