/**
 * `Ahead`: the page of a list that is asked for while the one before it is still being read. There is never more than one.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

export interface Ahead<A> {
  /** Asks for the page of a token, unless one is asked for already. */
  readonly ask: (token: string, page: Effect.Effect<A>) => Effect.Effect<void>
  /** The answer to a token if it was asked for, or to the question now. What was asked for in vain is given up. */
  readonly answer: (token: string | undefined, page: Effect.Effect<A>) => Effect.Effect<A>
}

interface Asked<A> {
  readonly token: string
  fiber: Fiber.Fiber<A> | undefined
}

/** What is asked for ends with the scope. */
export const make = Effect.fnUntraced(function*<A>() {
  const scope = yield* Effect.scope
  let asked: Asked<A> | undefined
  return {
    ask: (token, page) =>
      Effect.suspend(() => {
        if (asked !== undefined) return Effect.void
        const mine: Asked<A> = { token, fiber: undefined }
        // Before it runs: it may come to ask for the page after it.
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
