/**
 * `Environment`: everything that an operator takes from the environment of its pod, in one place.
 *
 * That is figures of manager and controllers (`Settings`), addresses of metrics, probes (`Endpoints`) and hooks
 * (`WebhookAddress`), how long hooks are served after SIGTERM (`Linger`), log level and format (`Logging`), and traces
 * (`Telemetry`). `runMain` puts it around a program. The program's own settings take precedence.
 */
import * as Settings from "@effect-operator/core/Settings"
import type * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Nearest from "./api/Nearest.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Linger from "./Linger.ts"
import * as Logging from "./Logging.ts"
import * as Telemetry from "./Telemetry.ts"
import * as WebhookAddress from "./webhook/WebhookAddress.ts"

/** Every variable that is read, except OpenTelemetry's (`OTEL_…`) and those of the client (`KubeConfig`). */
export const variables: ReadonlyArray<Settings.Variable> = [
  ...Settings.variables,
  ...Endpoints.variables,
  ...WebhookAddress.variables,
  ...Linger.variables,
  ...Logging.variables
]

/** All settings of the `ConfigProvider` in context, which is the environment unless another is provided. */
export const layer: Layer.Layer<never, Config.ConfigError> = Layer.mergeAll(
  Settings.layer,
  Endpoints.layerConfig,
  WebhookAddress.layerConfig,
  Linger.layerConfig,
  Telemetry.layerConfig
).pipe(Layer.provideMerge(Logging.layerConfig))

/** The variables that a cluster sets in a Pod for a Service named `effect-operator` or `effect-operator-NAME`. */
const ofService = /_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/

/** The names in a provider that start with the prefix of settings, if the provider can list its names. */
const namesIn = (
  provider: ConfigProvider.ConfigProvider,
  path: ReadonlyArray<string> = Settings.prefix.split("_").filter((part) => part !== "")
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function*() {
    const node = yield* provider.load(path)
    if (node === undefined) return []
    const below = node._tag === "Record" ? [...node.keys] : []
    const names = yield* Effect.forEach(below, (key) => namesIn(provider, [...path, key]))
    return [...(node.value === undefined ? [] : [path.join("_")]), ...names.flat()]
  }).pipe(Effect.orElseSucceed(() => []))

/** Warns of each name with the prefix that is not a known setting. */
const warnOfUnknown = Effect.fnUntraced(function*(provider: ConfigProvider.ConfigProvider) {
  const known = variables.map(({ name }) => name)
  for (const name of yield* namesIn(provider)) {
    if (known.includes(name) || ofService.test(name)) continue
    yield* Effect.logWarning(`${name} is not a setting and is ignored; did you mean ${Nearest.nearest(name, known)}?`)
  }
})

const surround = <A, E, R>(program: Effect.Effect<A, E, R>, environment: ConfigProvider.ConfigProvider) =>
  Effect.scoped(
    Effect.flatMap(
      Layer.build(layer),
      (context) => Effect.provide(Effect.andThen(warnOfUnknown(environment), program), context)
    )
  )

/** Runs a program with the settings of its environment, and warns of unknown ones. */
export const around = <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E | Config.ConfigError, R> =>
  Effect.flatMap(ConfigProvider.ConfigProvider, (environment) => surround(program, environment))

/**
 * Command line flags that override the environment: `--metrics-address 0`, `--drain=10s`, `--leader-election`. For
 * programs that take no other arguments: `program.pipe(Environment.withFlags(process.argv.slice(2)), runMain)`.
 */
export const withFlags =
  (args: ReadonlyArray<string>) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E | Settings.UnknownFlag | Config.ConfigError, R> =>
    Effect.gen(function*() {
      const flags = yield* Effect.fromResult(Settings.fromFlags(args, variables))
      const environment = yield* ConfigProvider.ConfigProvider
      return yield* surround(program, environment).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.orElse(flags, environment))
      )
    })
