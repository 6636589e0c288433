/**
 * `Environment`: what an operator takes from the environment of its pod, all of it in one place.
 *
 * Figures of manager and controllers (`Settings`), addresses of metrics, probes (`Endpoints`) and hooks (`WebhookAddress`), log level and format
 * (`Logging`), traces (`Telemetry`). `runMain` puts it around a program; what the program says itself, stands.
 */
import * as Settings from "@effect-operator/core/Settings"
import type * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Endpoints from "./Endpoints.ts"
import * as Logging from "./Logging.ts"
import * as Telemetry from "./Telemetry.ts"
import * as WebhookAddress from "./webhook/WebhookAddress.ts"

/** Every name that is read; OpenTelemetry's (`OTEL_…`) and those of the client (`KubeConfig`) besides. */
export const variables: ReadonlyArray<Settings.Variable> = [
  ...Settings.variables,
  ...Endpoints.variables,
  ...WebhookAddress.variables,
  ...Logging.variables
]

/** Everything that the `ConfigProvider` in context says: the environment, where no other is given. */
export const layer: Layer.Layer<never, Config.ConfigError> = Layer.mergeAll(
  Settings.layer,
  Endpoints.layerConfig,
  WebhookAddress.layerConfig,
  Telemetry.layerConfig
).pipe(Layer.provideMerge(Logging.layerConfig))

/** Runs a program in its environment, which ends after it. */
export const around = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E | Config.ConfigError, R> =>
  Effect.scoped(Effect.flatMap(Layer.build(layer), (context) => Effect.provide(program, context)))

/**
 * Command line flags over the environment: `--metrics-address 0`, `--drain=10s`, `--leader-election`. For programs that
 * take no other arguments: `program.pipe(Environment.withFlags(process.argv.slice(2)), runMain)`.
 */
export const withFlags =
  (args: ReadonlyArray<string>) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E | Settings.UnknownFlag | Config.ConfigError, R> =>
    Effect.gen(function*() {
      const flags = yield* Effect.fromResult(Settings.fromFlags(args, variables))
      const environment = yield* ConfigProvider.ConfigProvider
      return yield* around(program).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.orElse(flags, environment))
      )
    })
