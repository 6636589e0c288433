/**
 * `Loop`: a simulated controller as a function of one key.
 *
 * `sync` brings the object of a key nearer to what it should be; it runs once its informers are synced, never twice at
 * once for one key, and again with a growing delay as long as it fails. That an object is gone is no failure: whatever
 * took it away comes as news, too. Writes carry the name of the component they stand for.
 */
import { FieldManager, KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Agenda from "./Agenda.ts"

export interface Options {
  /** Looks at the object of a key. */
  readonly sync: (key: string) => Effect.Effect<void, KubeError, KubeClient>
  /** What must have been listed before the first look. */
  readonly reads: ReadonlyArray<{ readonly synced: Effect.Effect<void> }>
  /** Who writes; `kube-controller-manager` by default. */
  readonly manager?: string | undefined
}

/** Starts working through the agenda that it gives; ends with the scope. */
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
