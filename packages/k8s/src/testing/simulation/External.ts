/**
 * `External`: the seam for what an operator does outside its cluster: a cloud API, a database, an email.
 *
 * A scenario gives its operator a stand-in for the outside system. A simulation can make a call that is wrapped in
 * `call` fail, be slow, or succeed without an answer. `state` holds the state of the stand-in: it lives as long as the
 * cluster of one run, whatever happens to the operator's process. The steps of a scenario see the same state, which is
 * how people change what is outside. In a step, and outside a simulation, `call` only runs the effect. Each
 * `TestCluster` has a state of its own.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Outside {
  readonly call: <A, E>(name: string, failure: () => E, act: Effect.Effect<A, E>) => Effect.Effect<A, E>
  readonly state: Map<string, unknown>
}

export const External: Context.Reference<Outside> = Context.Reference<Outside>(
  "@effect-operator/k8s/testing/simulation/External",
  { defaultValue: () => ({ call: (_, __, act) => act, state: new Map() }) }
)

/** An outside of its own, without faults. */
export const layer: Layer.Layer<never> = Layer.sync(External, () => ({ call: (_, __, act) => act, state: new Map() }))

/** A call to something outside; `failure` is the error that the caller gets if there is no answer. */
export const call = <A, E, R>(
  name: string,
  failure: () => E,
  act: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Effect.context<R>(),
    (context) => Effect.flatMap(External, (outside) => outside.call(name, failure, Effect.provideContext(act, context)))
  )

/** What the outside system stores under a name, created on first use. Change it in place. */
export const state = <A>(name: string, initial: () => A): Effect.Effect<A> =>
  Effect.map(External, ({ state }) => {
    if (!state.has(name)) state.set(name, initial())
    return state.get(name) as A
  })
