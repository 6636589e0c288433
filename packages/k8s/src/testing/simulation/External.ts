/**
 * `External`: the seam for what an operator does outside of its cluster: a cloud's API, a database, a mail.
 *
 * A scenario gives its operator a stand-in for the outside. Wrapped in `call`, it is a place where a simulation can
 * make it fail, be slow, or succeed without an answer. `state` is the state of the stand-in: it lives as long as the
 * cluster of one run, whatever happens to the operator's process. Outside of a simulation `call` does nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

export interface Outside {
  readonly call: <A, E>(name: string, failure: () => E, act: Effect.Effect<A, E>) => Effect.Effect<A, E>
  readonly state: Map<string, unknown>
}

export const External: Context.Reference<Outside> = Context.Reference<Outside>(
  "@effect-operator/k8s/testing/simulation/External",
  { defaultValue: () => ({ call: (_, __, act) => act, state: new Map() }) }
)

/** A call of something outside; `failure` is what a caller sees when it does not answer. */
export const call = <A, E, R>(
  name: string,
  failure: () => E,
  act: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Effect.context<R>(),
    (context) => Effect.flatMap(External, (outside) => outside.call(name, failure, Effect.provideContext(act, context)))
  )

/** What the outside keeps under a name, made when it is first asked for. Change it in place. */
export const state = <A>(name: string, initial: () => A): Effect.Effect<A> =>
  Effect.map(External, ({ state }) => {
    if (!state.has(name)) state.set(name, initial())
    return state.get(name) as A
  })
