/**
 * `Desk`: the objects that the controllers of one process are working on.
 *
 * Several controllers of a kind work on the same objects independently. But an object is assigned to a process, and
 * handed back, as a whole: after the last of them has finished with it. While it is being handed back, none starts.
 */
import * as Effect from "effect/Effect"

export const defaults = {
  /** The delay, in milliseconds, before asking again for an object that is not available. */
  pause: 1_000
} as const

export class Desk {
  /** How many controllers work on an object, by its uid. */
  readonly #working = new Map<string, number>()
  readonly #leaving = new Set<string>()

  /** Works on the object. If it is being handed back, returns after how many milliseconds to ask again. */
  work<A, E, R>(uid: string, work: Effect.Effect<A, E, R>): Effect.Effect<A | number, E, R> {
    return Effect.suspend((): Effect.Effect<A | number, E, R> => {
      if (this.#leaving.has(uid)) return Effect.succeed(defaults.pause)
      this.#working.set(uid, (this.#working.get(uid) ?? 0) + 1)
      return Effect.ensuring(work, Effect.sync(() => this.#end(uid)))
    })
  }

  /** Hands the object back. If a controller works on it, returns after how many milliseconds to ask again. */
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
