/**
 * What the types of a reconcile would have rejected, for programs that are run without type checks. It is a defect of
 * the user's code, reported as such, and stops nothing else.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Action from "../Action.ts"
import { told } from "./workerWords.ts"

interface Named {
  readonly name: string
}

/** What a function of a controller returned, if it is an effect; else one that says what to return. */
export const runnable = <A, E, R>(
  { name }: Named,
  what: "reconcile" | "finalize",
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.isEffect(effect) ? effect : Effect.die(
    new TypeError(
      `${what} of controller ${name} returned ${told(effect)}: it must return an Effect ` +
        `(wrap a function that returns a Promise in Effect.promise(() => ...))`
    )
  )

/** How a run ended, if with an action; else with a defect that says with what to end. */
export const meant = (
  { name }: Named,
  exit: Exit.Exit<Action.Action, unknown>
): Exit.Exit<Action.Action, unknown> =>
  Exit.isFailure(exit) || Action.isAction(exit.value) ? exit : Exit.die(
    new TypeError(
      `reconcile or finalize of controller ${name} ended with ${told(exit.value)}: it must end with ` +
        `Action.done, Action.awaitChange, Action.requeue or Action.requeueAfter("30 seconds")`
    )
  )
