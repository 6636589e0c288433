/**
 * `Action`: what a successful reconcile asks for next.
 *
 * Failing is not an action: an error is retried with a growing delay, and a `Terminal` error waits for the next change.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

export type Action =
  /** Reconcile again only when something changes. */
  | { readonly _tag: "Done" }
  /** Like `Done`. From `finalize`: the clean-up waits for a change, so the object stays. */
  | { readonly _tag: "AwaitChange" }
  /** Reconcile again at once, behind the other keys; slowed down if this repeats and nothing is written. */
  | { readonly _tag: "Requeue" }
  /** Reconcile again after `delay` milliseconds, or earlier if a change comes first. */
  | { readonly _tag: "RequeueAfter"; readonly delay: number }

export const done: Action = { _tag: "Done" }

/** The awaited change must be able to wake the controller: it must be of a kind that the controller watches. */
export const awaitChange: Action = { _tag: "AwaitChange" }

export const requeue: Action = { _tag: "Requeue" }

/** Throws if the delay is not a duration, or is negative. */
export const requeueAfter = (delay: Duration.Input): Action => {
  const duration = Duration.fromInput(delay)
  const millis = Option.isNone(duration) ? Number.NaN : Duration.toMillis(duration.value)
  // `Duration` reads NaN as zero.
  if (!(millis >= 0) || typeof delay === "number" && !(delay >= 0)) {
    // `JSON.stringify` turns NaN into null.
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
