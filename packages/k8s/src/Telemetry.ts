/**
 * `Telemetry`: traces over OTLP, configured by OpenTelemetry's own environment variables.
 *
 * With `OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) set, each time a key is processed is a
 * trace: how long it waited, the reconcile, its requests to the API server, linked to the watch events that asked for
 * it and through them to the reconcile that caused those (see `docs/observability.md`). Without it there is no tracer,
 * no span is made, and the exporter is not even loaded.
 *
 * A program that provides its own tracer keeps it.
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

export const defaults = {
  /** Used if neither `OTEL_SERVICE_NAME` nor `OTEL_RESOURCE_ATTRIBUTES` sets a name. */
  serviceName: "effect-operator"
} as const

const wanted = Config.map(
  Config.all([
    Config.option(Config.NonEmptyString("OTEL_EXPORTER_OTLP_ENDPOINT")),
    Config.option(Config.NonEmptyString("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
  ]),
  (endpoints) => endpoints.some(Option.isSome)
)

const named = Config.map(
  Config.all([
    Config.option(Config.NonEmptyString("OTEL_SERVICE_NAME")),
    Config.option(Config.NonEmptyString("OTEL_RESOURCE_ATTRIBUTES"))
  ]),
  ([name, attributes]) =>
    Option.isSome(name) || (Option.isSome(attributes) && /\bservice\.name=/.test(attributes.value))
)

/** The tracer that the environment configures; none if it configures none. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.unwrap(Effect.gen(function*() {
  if (!(yield* wanted)) return Layer.empty
  const [{ layerFromConfig }, { layerJson }, { layer: http }] = yield* Effect.promise(() =>
    Promise.all([
      import("effect/observability/OtlpTracer"),
      import("effect/observability/OtlpSerialization"),
      import("effect/http/FetchHttpClient")
    ])
  )
  // OpenTelemetry's default; Effect has none.
  const exporter = ConfigProvider.fromEnvRecord({ OTEL_TRACES_EXPORTER: "otlp" })
  const provider = ConfigProvider.orElse(yield* ConfigProvider.ConfigProvider, exporter)
  const resource = (yield* named) ? undefined : { serviceName: defaults.serviceName }
  return Layer.effectDiscard(Effect.void).pipe(
    Layer.provideMerge(layerFromConfig({ resource })),
    Layer.provide([layerJson, http, Layer.succeed(ConfigProvider.ConfigProvider, provider)])
  )
}))
