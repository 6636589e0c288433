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
  /** Runs the work while this process leads, and interrupts it as soon as it does not; never completes. */
  readonly lead: <E, R>(work: Effect.Effect<never, E, R>) => Effect.Effect<never, E, R>
  /**
   * Why nothing may be done; undefined while this process leads. Called before every reconcile and write of led work.
   */
  readonly permit: () => KubeError | undefined
  /** Whether this process may start to work on the object with this key. */
  readonly owns: (key: string) => boolean
  /** Registers a part for handing objects over, until the scope closes. */
  readonly share: (part: Part) => Effect.Effect<void, never, Scope.Scope>
  /** Restricts the controller to the objects of this process, if they are assigned from outside. */
  readonly confine: <R>(controller: Controller<R>) => Confined<R>
}

/** A controller that is restricted to what is assigned to its process. */
export interface Confined<R> {
  readonly controller: Controller<R>
  /**
   * Checks whether to work on an object, before anything is done for it, and then does the work. Otherwise returns
   * false, or after how many milliseconds to ask again. Undefined if all objects are accepted.
   */
  readonly admit?: Admit | undefined
  /** Marks what the controller writes, so that others recognize it. */
  readonly mark?: Mark | undefined
  /** Takes care of objects that nobody reconciles. */
  readonly aside?: Aside | undefined
}

export interface Aside {
  /** Observes changes of the controller's own kind; returns at once. */
  readonly see: (deltas: ReadonlyArray<Delta>) => void
  /** Does its work while this process leads. */
  readonly run: Effect.Effect<never, never, KubeClient>
}

export type Admit = <A extends object, E, R>(
  object: KubeObject,
  work: Effect.Effect<A, E, R>
) => Effect.Effect<A | false | number, E | KubeError, R | KubeClient>

/** Works on objects that may move to another process, or come from one. */
export interface Part {
  /** Completes when no work is under way on keys that are not kept. `owns` prevents new work on them. */
  readonly release: (keeps: (key: string) => boolean) => Effect.Effect<void>
  /** Interrupts the work still under way on keys that are not kept. */
  readonly interrupt: (keeps: (key: string) => boolean) => void
  /** Starts work on keys that are new to this process. */
  readonly take: (isNew: (key: string) => boolean) => void
}

/** Leads from the start and forever. */
export const always: Leadership = {
  lead: (work) => work,
  permit: () => undefined,
  owns: () => true,
  share: () => Effect.void,
  confine: (controller) => ({ controller })
}

/** Leads everything, whenever the election says so. */
export const whole = ({ lead, permit }: Pick<Leadership, "lead" | "permit">): Leadership => ({
  ...always,
  lead,
  permit
})
