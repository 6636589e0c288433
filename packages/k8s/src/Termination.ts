/**
 * `Termination`: whether the process has been asked to end by SIGTERM, which is how a kubelet asks.
 *
 * `runMain` tells. A scope that closes for any other reason has nothing to do with it: a program that has done its work or
 * failed, a test, Ctrl-C.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export interface Termination {
  readonly isRequested: () => boolean
  /** Completes when it is requested. */
  readonly requested: Effect.Effect<void>
}

export const make = (): Termination & { readonly request: () => void } => {
  const requested = Deferred.makeUnsafe<void>()
  return {
    isRequested: () => Deferred.isDoneUnsafe(requested),
    requested: Deferred.await(requested),
    request: () => Deferred.doneUnsafe(requested, Effect.void)
  }
}

/** That of the process; never by default. */
export const Termination: Context.Reference<Termination> = Context.Reference<Termination>(
  "@effect-operator/k8s/Termination",
  { defaultValue: () => ({ isRequested: () => false, requested: Effect.never }) }
)
