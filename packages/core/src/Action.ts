/**
 * `Action`: what a successful reconcile asks for next.
 *
 * Failing is not an action: an error is retried with a growing delay, and a `Terminal` error waits for the next change.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

export type Action =
  /** Nothing until something changes. */
  | { readonly _tag: "Done" }
  /** The same, and of `finalize`: the object stays, as its clean-up waits for a change. */
  | { readonly _tag: "AwaitChange" }
  /** Once more, at once, behind the other keys; held back if that goes on and nothing is written. */
  | { readonly _tag: "Requeue" }
  /** Once more after `delay` milliseconds, unless a change comes first. */
  | { readonly _tag: "RequeueAfter"; readonly delay: number }

export const done: Action = { _tag: "Done" }

/** What is waited for must wake the controller: an object of a kind that it watches. */
export const awaitChange: Action = { _tag: "AwaitChange" }

export const requeue: Action = { _tag: "Requeue" }

/** Throws if the delay is no duration, or a negative one. */
export const requeueAfter = (delay: Duration.Input): Action => {
  const duration = Duration.fromInput(delay)
  const millis = Option.isNone(duration) ? Number.NaN : Duration.toMillis(duration.value)
  // A negative number would be taken for none.
  if (!(millis >= 0) || typeof delay === "number" && !(delay >= 0)) {
    // JSON has no word for NaN.
    const shown = typeof delay === "number" ? String(delay) : JSON.stringify(delay)
    throw new Error(
      `Action.requeueAfter: delay: ${shown}: must be a duration, such as "30 seconds", and not negative`
    )
  }
  return { _tag: "RequeueAfter", delay: millis }
}

const tags: ReadonlySet<unknown> = new Set(["Done", "AwaitChange", "Requeue", "RequeueAfter"])

export const isAction = (value: unknown): value is Action =>
  typeof value === "object" && value !== null && "_tag" in value && tags.has(value._tag)
