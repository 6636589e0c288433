/**
 * `Ahead`: the next page of a list, requested while the current one is still being read. There is never more than one.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

export interface Ahead<A> {
  /** Requests the page of a token, unless one is in flight. */
  readonly ask: (token: string, page: Effect.Effect<A>) => Effect.Effect<void>
  /**
   * The page of a token: the one requested ahead, or else `page`. A page requested ahead for another token is
   * abandoned.
   */
  readonly answer: (token: string | undefined, page: Effect.Effect<A>) => Effect.Effect<A>
}

interface Asked<A> {
  readonly token: string
  fiber: Fiber.Fiber<A> | undefined
}

/** Requests end with the scope. */
export const make = Effect.fnUntraced(function*<A>() {
  const scope = yield* Effect.scope
  let asked: Asked<A> | undefined
  return {
    ask: (token, page) =>
      Effect.suspend(() => {
        if (asked !== undefined) return Effect.void
        const mine: Asked<A> = { token, fiber: undefined }
        // Set before it runs: it may try to request the page after it.
        asked = mine
        return Effect.map(Effect.forkIn(page, scope, { startImmediately: true }), (fiber) => {
          mine.fiber = fiber
        })
      }),
    answer: (token, page) =>
      Effect.suspend(() => {
        const known = asked
        asked = undefined
        if (known?.fiber === undefined) return page
        return known.token === token ? Fiber.join(known.fiber) : Effect.andThen(Fiber.interrupt(known.fiber), page)
      })
  } satisfies Ahead<A>
})
