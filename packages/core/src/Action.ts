/**
 * `Action`: what a reconcile that succeeded asks for next.
 *
 * Failing is not an action: an error is retried with a growing delay, a `Terminal` error waits for the next change.
 */
import * as Duration from "effect/Duration"

export type Action =
  /** Nothing until something changes. */
  | { readonly _tag: "Done" }
  /** Once more, at once, behind the other keys. */
  | { readonly _tag: "Requeue" }
  /** Once more after `delay` milliseconds, unless a change comes first. */
  | { readonly _tag: "RequeueAfter"; readonly delay: number }

export const done: Action = { _tag: "Done" }

export const requeue: Action = { _tag: "Requeue" }

export const requeueAfter = (delay: Duration.Input): Action => ({
  _tag: "RequeueAfter",
  delay: Duration.toMillis(Duration.fromInputUnsafe(delay))
})
