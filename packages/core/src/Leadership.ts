/**
 * `Leadership`: whether this process may act, and on which objects.
 *
 * Either one of several replicas reconciles while the others keep their caches warm, or each reconciles its own
 * objects. `LeaderElection`, `Sharding` and `Ring` implement this interface. Without it, every process leads and owns
 * all objects.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Mark } from "./Client.ts"
import type { Controller } from "./Controller.ts"
import type { Delta } from "./Delta.ts"
import type { KubeClient } from "./KubeClient.ts"
import type { KubeError } from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"

export interface Leadership {
  /** Runs the work whenever this process leads, and interrupts it as soon as it does not; never completes. */
  readonly lead: <E, R>(work: Effect.Effect<never, E, R>) => Effect.Effect<never, E, R>
  /** Why nothing may be done, unless this process leads: asked before every reconcile and write of what is led. */
  readonly permit: () => KubeError | undefined
  /** Whether this process may begin to work on the object of a key. */
  readonly owns: (key: string) => boolean
  /** Takes part in handing objects over until the scope closes. */
  readonly share: (part: Part) => Effect.Effect<void, never, Scope.Scope>
  /** The controller for what is this process's, where that is assigned to it from outside. */
  readonly confine: <R>(controller: Controller<R>) => Confined<R>
}

/** A controller that follows only what is assigned to its process. */
export interface Confined<R> {
  readonly controller: Controller<R>
  /** Whether an object is to be worked on, asked before anything is done for it; nothing where all are. */
  readonly accept?: ((object: KubeObject) => Effect.Effect<Accepted, KubeError, KubeClient>) | undefined
  /** What the controller writes carries what others are to know it by. */
  readonly mark?: Mark | undefined
  /** What is done with objects that nobody reconciles. */
  readonly aside?: Aside | undefined
}

export interface Aside {
  /** Takes note of changes of the controller's own kind; returns at once. */
  readonly see: (deltas: ReadonlyArray<Delta>) => void
  /** Does what there is to do, while this process leads. */
  readonly run: Effect.Effect<never, never, KubeClient>
}

/** Yes, no, or to be asked again after so many milliseconds. */
export type Accepted = boolean | number

/** Who works on objects that may go to another process, and come from one. */
export interface Part {
  /** Completes when nothing is done any more with what is not kept. Nothing of it is begun meanwhile: `owns` says so. */
  readonly release: (keeps: (key: string) => boolean) => Effect.Effect<void>
  /** Ends at once what is still done with what is not kept. */
  readonly interrupt: (keeps: (key: string) => boolean) => void
  /** Others are this process's from now on. */
  readonly take: (isNew: (key: string) => boolean) => void
}

/** Leads from the start and for ever. */
export const always: Leadership = {
  lead: (work) => work,
  permit: () => undefined,
  owns: () => true,
  share: () => Effect.void,
  confine: (controller) => ({ controller })
}

/** Leads whenever the election says so, and then with everything. */
export const whole = ({ lead, permit }: Pick<Leadership, "lead" | "permit">): Leadership => ({
  ...always,
  lead,
  permit
})
