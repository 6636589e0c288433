/**
 * `Linger`: what the API server calls is still served for a while after SIGTERM.
 *
 * A pod that is asked to end ceases to be an endpoint of its Services at the same time, and it takes seconds until every
 * node, and every API server, knows of it. Who comes until then would be refused a connection, and with that, where the
 * failure policy says so, a write, or a read that needs a conversion. So webhooks and an API of the operator's own are
 * served for so long, counted from the signal, and then as long as the manager drains; readiness fails from the signal on,
 * and answers under way go out after it all.
 *
 * Only SIGTERM has that effect (see `Termination`): a scope that closes for another reason does not linger. A second
 * signal ends the process at once, as ever.
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
  /** Longer than endpoints take to propagate in a cluster that is well. */
  linger: "5 seconds"
} as const

export const variable = "EFFECT_OPERATOR_LINGER"

export const variables = [
  { name: variable, sets: "how long after SIGTERM webhooks and an API of its own are still served" }
] as const satisfies ReadonlyArray<Settings.Variable>

/** How long, where the code does not say. */
export const Linger: Context.Reference<Duration.Input> = Context.Reference<Duration.Input>(
  "@effect-operator/k8s/Linger",
  { defaultValue: () => defaults.linger }
)

/** What a `ConfigProvider` says: the environment, as a rule. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.effect(
  Linger,
  Effect.flatMap(
    ConfigProvider.ConfigProvider,
    (provider) =>
      Config.withDefault(Settings.duration(variable), Duration.fromInputUnsafe(defaults.linger)).parse(provider)
  )
)

/**
 * What the scope has until now is not closed before the time is over, if the process is asked to end. `leave` runs at the
 * signal.
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
        Effect.logInfo(`stopping: ${what}: served until ${Duration.format(time)} after the signal`),
        Fiber.await(over)
      )
    })
  )
})
