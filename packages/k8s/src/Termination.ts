/**
 * `Termination`: whether SIGTERM has asked the process to end, which is how kubelet stops a container.
 *
 * `runMain` provides it. A scope that closes for another reason does not count: a program that is done or has failed, a
 * test, Ctrl-C.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export interface Termination {
  readonly isRequested: () => boolean
  /** Completes when termination is requested. */
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

/** The termination of the process. By default it is never requested. */
export const Termination: Context.Reference<Termination> = Context.Reference<Termination>(
  "@effect-operator/k8s/Termination",
  { defaultValue: () => ({ isRequested: () => false, requested: Effect.never }) }
)
