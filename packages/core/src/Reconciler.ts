/**
 * `Reconciler`: the contract of a reconciler, which brings the world to the state that an object declares.
 *
 * Level-based: a reconcile sees the current object, never the event that woke it, and must work from any state: after a
 * crash half way, after missed events, twice in a row. One object is never reconciled twice at once. Different objects
 * are, up to the controller's concurrency. An object that changes while it is being reconciled is reconciled again.
 *
 * Success returns what comes next (`Action`). An error is retried with growing delays, and `Terminal` waits for a
 * change. A defect is caught, counted and retried like an error. A reconcile is never called for an object that no
 * longer exists or is being deleted; clean up in `finalize`.
 *
 * Reads through `Cache` are local. They may lag behind the server by a moment, but never behind the reconciler's own
 * writes.
 */
import type * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"
import type { EventRecorder } from "./EventRecorder.ts"
import type { KubeError } from "./KubeError.ts"
import type { Reason } from "./Trigger.ts"

/** What a reconcile knows besides its object. */
export interface Context {
  /** `namespace/name`. */
  readonly key: string
  /** Why: the merged reasons since the last reconcile of this key, each once; of very many changes the first hundred. */
  readonly reasons: ReadonlyArray<Reason>
  /** Consecutive failures before this run. */
  readonly failures: number
  /** The cause of the last of them. */
  readonly lastFailure: Cause.Cause<unknown> | undefined
  /** Records events about this object. */
  readonly events: EventRecorder
}

/** The one error that stops retrying: the object rests until it, or something it watches, changes. */
export class Terminal extends Schema.TaggedError<Terminal>()("Terminal", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** A reconcile was interrupted because it took longer than the controller's `timeout`. */
export class ReconcileTimeout extends Schema.TaggedError<ReconcileTimeout>()("ReconcileTimeout", {
  message: Schema.String
}) {}

/** What a run of code that fails with `E` is retried after; undefined for a defect. */
export type Retried<E> = Exclude<E, Terminal> | KubeError | ReconcileTimeout | undefined
