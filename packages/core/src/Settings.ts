/**
 * `Settings`: the figures of an operator that its environment may choose.
 *
 * The code takes precedence: `Manager.layer(…, { drain })` and `Controller.make(…, { concurrency })` are not overruled.
 * Otherwise the settings in context apply, and otherwise the default of the module. One switch overrules the code:
 * `EFFECT_OPERATOR_LEADER_ELECTION=false` runs an operator without its lease, for development.
 *
 * Nothing reads the environment by itself, so a test depends only on its code. `layer` reads it, from the
 * `ConfigProvider` in context, and the main process of a pod (`runMain` of `@effect-operator/k8s`) starts with it.
 * Command line flags are such a provider: see `fromFlags`. Durations may be written as Effect's (`30 seconds`) or as
 * Go's (`1m30s`).
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import type * as Controller from "./Controller.ts"
import * as LeaderElection from "./LeaderElection.ts"

export interface Settings {
  readonly drain?: Duration.Duration | undefined
  readonly identity?: string | undefined
  /** `enabled: false` overrides the code. */
  readonly leaderElection?:
    | { readonly enabled?: boolean | undefined; readonly per?: LeaderElection.Per | undefined }
      & Partial<LeaderElection.Options>
    | undefined
  readonly controllers?: Controller.Figures | undefined
}

/** The settings in context; none by default. */
export const Settings: Context.Reference<Settings> = Context.Reference<Settings>("@effect-operator/core/Settings", {
  defaultValue: () => ({})
})

/** An environment variable, and what it sets. */
export interface Variable {
  readonly name: string
  readonly sets: string
}

/** The prefix of every variable. */
export const prefix = "EFFECT_OPERATOR_"

/** The variables that `config` reads, for documentation and `fromFlags`. */
export const variables = [
  { name: "EFFECT_OPERATOR_DRAIN", sets: "how long running reconciles may take to finish on stop" },
  { name: "EFFECT_OPERATOR_IDENTITY", sets: "the name of this replica in events and in the lease" },
  { name: "EFFECT_OPERATOR_CONCURRENCY", sets: "how many reconciles a controller runs at once" },
  { name: "EFFECT_OPERATOR_TIMEOUT", sets: "how long one reconcile may take" },
  { name: "EFFECT_OPERATOR_CACHE_SYNC_TIMEOUT", sets: "how long caches may take to sync before that is reported" },
  { name: "EFFECT_OPERATOR_RESYNC", sets: "how often every object is reconciled again" },
  { name: "EFFECT_OPERATOR_LEADER_ELECTION", sets: "whether only one of several replicas is active: true or false" },
  { name: "EFFECT_OPERATOR_LEASE_NAMESPACE", sets: "the namespace of the lease" },
  { name: "EFFECT_OPERATOR_LEASE_NAME", sets: "the name of the lease" },
  { name: "EFFECT_OPERATOR_LEASE_PER", sets: "what a lease stands for: manager, controller, object or ring" },
  { name: "EFFECT_OPERATOR_LEASE_DURATION", sets: "how long a standby waits after the last renewal it saw" },
  { name: "EFFECT_OPERATOR_RENEW_DEADLINE", sets: "how long a leader keeps leading without an accepted renewal" },
  { name: "EFFECT_OPERATOR_RETRY_PERIOD", sets: "the time between renewals" }
] as const satisfies ReadonlyArray<Variable>

type Name = (typeof variables)[number]["name"]

const goUnits: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/** Parses `1m30s`, `500ms`, `10 hours`; none if the text is not a duration, or is infinite or negative. */
export const parseDuration = (text: string): Option.Option<Duration.Duration> => {
  const trimmed = text.trim()
  if (/^(?:\d+(?:\.\d+)?(?:ms|h|m|s))+$/.test(trimmed)) {
    let millis = 0
    for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
      millis += Number(amount) * goUnits[unit!]!
    }
    return Option.some(Duration.millis(millis))
  }
  if (trimmed === "0") return Option.some(Duration.zero)
  return Option.filter(
    Duration.fromInput(trimmed as Duration.Input),
    (duration) => Duration.isFinite(duration) && !Duration.isNegative(duration)
  )
}

const DurationText = Schema.String.check(
  Schema.makeFilter((text: string) =>
    Option.isSome(parseDuration(text)) || "must be a duration, such as 90s, 1m30s or 90 seconds"
  )
).pipe(
  Schema.decodeTo(
    Schema.Duration,
    SchemaTransformation.transform({
      decode: (text) => Option.getOrThrow(parseDuration(text)),
      encode: (duration) => Duration.format(duration)
    })
  )
)

/** Reads a duration by name. */
export const duration = (name: string): Config.Config<Duration.Duration> => Config.schema(DurationText, name)

const aboveZero = (name: Name): Config.Config<Duration.Duration> =>
  Config.schema(
    DurationText.check(
      Schema.makeFilter((it) => Duration.toMillis(it) > 0 || "must be above 0; leave it out for no limit")
    ),
    name
  )

const aSecondAtLeast = (name: Name): Config.Config<Duration.Duration> =>
  Config.schema(
    DurationText.check(Schema.makeFilter((it) => Duration.toMillis(it) >= 1000 || "must be at least 1 second")),
    name
  )

const maybe = <A>(config: Config.Config<A>): Config.Config<A | undefined> =>
  Config.map(Config.option(config), Option.getOrUndefined)

const durationOf = (name: Name) => maybe(duration(name))
const textOf = (name: Name) => maybe(Config.NonEmptyString(name))

/** The settings from a `ConfigProvider`, usually the environment. */
export const config: Config.Config<Settings> = Config.all({
  drain: durationOf("EFFECT_OPERATOR_DRAIN"),
  identity: textOf("EFFECT_OPERATOR_IDENTITY"),
  controllers: Config.all({
    concurrency: maybe(
      Config.schema(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)), "EFFECT_OPERATOR_CONCURRENCY" satisfies Name)
    ),
    timeout: maybe(aboveZero("EFFECT_OPERATOR_TIMEOUT")),
    cacheSyncTimeout: maybe(aSecondAtLeast("EFFECT_OPERATOR_CACHE_SYNC_TIMEOUT")),
    resync: maybe(aSecondAtLeast("EFFECT_OPERATOR_RESYNC"))
  }),
  leaderElection: Config.all({
    enabled: maybe(Config.Boolean("EFFECT_OPERATOR_LEADER_ELECTION" satisfies Name)),
    per: maybe(Config.Literals(LeaderElection.pers, "EFFECT_OPERATOR_LEASE_PER" satisfies Name)),
    namespace: textOf("EFFECT_OPERATOR_LEASE_NAMESPACE"),
    name: textOf("EFFECT_OPERATOR_LEASE_NAME"),
    leaseDuration: durationOf("EFFECT_OPERATOR_LEASE_DURATION"),
    renewDeadline: durationOf("EFFECT_OPERATOR_RENEW_DEADLINE"),
    retryPeriod: durationOf("EFFECT_OPERATOR_RETRY_PERIOD")
  })
}).pipe(Config.map(({ leaderElection, ...settings }) => ({ ...settings, leaderElection: stated(leaderElection) })))

/** Only the fields that are set, so that spreading them over others leaves the rest alone. */
const stated = <A extends object>(fields: A): Stated<A> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Stated<A>

type Stated<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

/** Settings from code. */
export const layerOf = (settings: Settings): Layer.Layer<never> => Layer.succeed(Settings, settings)

/** Settings from the `ConfigProvider` in context, by default the environment. */
export const layer: Layer.Layer<never, Config.ConfigError> = Layer.effect(
  Settings,
  Effect.flatMap(ConfigProvider.ConfigProvider, (provider) => config.parse(provider))
)

/** A controller, with the settings for what its options leave out. */
export const applied = <R>(
  controller: Controller.Controller<R>,
  { controllers = {} }: Settings
): Controller.Controller<R> => {
  const figures = stated(controllers)
  if (Object.keys(figures).length === 0) return controller
  return { ...controller, ...figures, ...stated(controller.stated) }
}

/** The lease of the options, completed by the settings; undefined if there is to be none. */
export const election = <O extends Partial<NonNullable<Settings["leaderElection"]>>>(
  options: O | undefined,
  { identity, leaderElection = {} }: Settings
): Omit<NonNullable<Settings["leaderElection"]>, "enabled"> | undefined => {
  const { enabled, ...settings } = leaderElection
  return enabled === false || (options === undefined && enabled !== true)
    ? undefined
    : { ...stated({ identity }), ...stated(settings), ...stated(options ?? {}) }
}

/** The command line has an unknown flag. */
export class UnknownFlag extends Schema.TaggedError<UnknownFlag>()("UnknownFlag", { message: Schema.String }) {}

/** `--lease-duration` for `EFFECT_OPERATOR_LEASE_DURATION`. */
export const flagOf = (variable: string): string =>
  `--${variable.slice(prefix.length).toLowerCase().replaceAll("_", "-")}`

/**
 * Flags as a provider: `--drain 10s`, `--drain=10s`, `--leader-election` for true. Names that `known` does not list are
 * an error. Combine it with the environment by `ConfigProvider.orElse`.
 */
export const fromFlags = (
  args: ReadonlyArray<string>,
  known: ReadonlyArray<Variable> = variables
): Result.Result<ConfigProvider.ConfigProvider, UnknownFlag> => {
  const names = new Map(known.map(({ name }) => [flagOf(name), name]))
  const values: Record<string, string> = {}
  for (let i = 0; i < args.length; i++) {
    const [flag, inline] = splitOnce(args[i]!)
    const name = names.get(flag)
    if (name === undefined) {
      const message = `unknown flag ${flag}: known flags: ${[...names.keys()].join(", ")}`
      return Result.fail(new UnknownFlag({ message }))
    }
    const next = args[i + 1]
    if (inline !== undefined) values[name] = inline
    else if (next === undefined || next.startsWith("--")) values[name] = "true"
    else {
      values[name] = next
      i += 1
    }
  }
  return Result.succeed(ConfigProvider.fromEnvRecord(values))
}

const splitOnce = (argument: string): readonly [flag: string, value: string | undefined] => {
  const at = argument.indexOf("=")
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)]
}
