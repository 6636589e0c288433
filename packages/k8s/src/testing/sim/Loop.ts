/**
 * `Loop`: a simulated controller as a function of one key.
 *
 * `sync` brings the object of a key closer to its desired state. It runs once its informers are synced, never twice at
 * once for the same key, and is retried with a growing delay if it fails. A missing object is not a failure: its
 * deletion arrives as an event, too. Writes are made as the manager of the simulated component.
 */
import { FieldManager, KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Agenda from "./Agenda.ts"

export interface Options {
  /** Reconciles the object of a key. */
  readonly sync: (key: string) => Effect.Effect<void, KubeError, KubeClient>
  /** The informers that must be synced before the first call. */
  readonly reads: ReadonlyArray<{ readonly synced: Effect.Effect<void> }>
  /** The field manager of its writes; `kube-controller-manager` by default. */
  readonly manager?: string | undefined
}

/** Returns an agenda and processes it until the scope closes. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Agenda.Agenda, never, KubeClient | Scope.Scope> {
  const client = yield* KubeClient
  const synced = Effect.forEach(options.reads, (informer) => informer.synced, { discard: true })
  return yield* Agenda.make((key) =>
    Effect.andThen(synced, options.sync(key)).pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.void),
      Effect.provideService(KubeClient, client),
      Effect.provideService(FieldManager, options.manager ?? "kube-controller-manager")
    )
  )
})
