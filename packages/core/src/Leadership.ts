/**
 * `Leadership`: whether this process may act.
 *
 * Of several replicas one reconciles, while the others keep their caches warm. What decides it is behind this
 * interface: see `LeaderElection`. Without it every process leads.
 */
import * as Effect from "effect/Effect"
import type { KubeError } from "./KubeError.ts"

export interface Leadership {
  /** Runs the work whenever this process leads, and interrupts it as soon as it does not; never completes. */
  readonly lead: <E, R>(work: Effect.Effect<never, E, R>) => Effect.Effect<never, E, R>
  /** Fails unless this process leads: asked before every write of what is led. */
  readonly permit: Effect.Effect<void, KubeError>
}

/** Leads from the start and for ever. */
export const always: Leadership = { lead: (work) => work, permit: Effect.void }
