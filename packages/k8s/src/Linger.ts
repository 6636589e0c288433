/**
 * `Linger`: keeps serving webhooks and the operator's own API for a while after SIGTERM.
 *
 * When a pod is terminated, it is removed from the endpoints of its Services, but it takes seconds until every node and
 * every API server knows. A request in the meantime would be refused a connection, and so, depending on the failure
 * policy, would a write, or a read that needs a conversion. Therefore webhooks and the operator's own API are served
 * for this time, counted from the signal, and then for as long as the manager drains. Readiness fails from the signal
 * on. Responses in flight are finished at the very end.
 *
 * Only SIGTERM has this effect (see `Termination`): a scope that closes for another reason does not linger. A second
 * signal still ends the process at once.
 */
import * as Settings from "@effect-operator/core/Settings"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Termination } from "./Termination.ts"

export const defaults = {
  /** Longer than endpoints take to propagate in a healthy cluster. */
  linger: "5 seconds"
} as const

export const variable = "EFFECT_OPERATOR_LINGER"

export const variables = [
  { name: variable, sets: "how long webhooks and the operator's own API stay served after SIGTERM" }
] as const satisfies ReadonlyArray<Settings.Variable>

/** The duration, if the code does not set one. */
export const Linger: Context.Reference<Duration.Input> = Context.Reference<Duration.Input>(
  "@effect-operator/k8s/Linger",
  { defaultValue: () => defaults.linger }
)

/** The duration from a `ConfigProvider`, usually the environment. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.effect(
  Linger,
  Effect.flatMap(
    ConfigProvider.ConfigProvider,
    (provider) =>
      Config.withDefault(Settings.duration(variable), Duration.fromInputUnsafe(defaults.linger)).parse(provider)
  )
)

/**
 * After SIGTERM, delays the finalizers that the scope has so far until the time is over. `leave` runs at the signal.
 */
export const hold = Effect.fnUntraced(function*(
  what: string,
  { leave = Effect.void, linger }: {
    readonly linger?: Duration.Input | undefined
    readonly leave?: Effect.Effect<void> | undefined
  }
) {
  const { isRequested, requested } = yield* Termination
  const time = Duration.fromInputUnsafe(linger ?? (yield* Linger))
  if (Duration.isZero(time)) return
  const over = yield* Effect.forkScoped(Effect.andThen(requested, Effect.andThen(leave, Effect.sleep(time))))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      if (!isRequested() || over.pollUnsafe() !== undefined) return Effect.void
      return Effect.andThen(
        Effect.logInfo(`stopping: ${what}: still serving until ${Duration.format(time)} after the signal`),
        Fiber.await(over)
      )
    })
  )
})
