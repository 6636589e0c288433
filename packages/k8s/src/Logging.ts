/**
 * `Logging`: log lines of an operator, for machines or for people, without secrets in them.
 *
 * One JSON object per line: `timestamp`, `level`, `message`, then what the line is about under controller-runtime's
 * names (`controller`, `controllerGroup`, `controllerKind`, `namespace`, `name`, `reconcileID`), the `error` with its
 * causes, and the `trace_id` and `span_id` of the current span, if there is one.
 *
 * Everything that is logged passes `redact` first, which replaces `Redacted` values, the contents of Secrets, values
 * under names that stand for credentials, tokens, private keys, and passwords in URLs. Do not rely on it to log
 * credentials: it cannot recognise all of them.
 */
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import type { Variable } from "@effect-operator/core/Settings"

export const defaults = {
  level: "Info",
  /** Values nested deeper are left out. */
  depth: 12,
  /** Longer texts are truncated, in characters. */
  length: 16_384
} as const

export interface Options {
  /** `Info` by default. */
  readonly level?: LogLevel.LogLevel | undefined
  /**
   * `json`, `logfmt`, or `pretty` for people. By default `pretty` if standard output is a terminal, `json` otherwise.
   */
  readonly format?: "json" | "pretty" | "logfmt" | undefined
}

/** The variables that `config` reads. */
export const variables = [
  {
    name: "EFFECT_OPERATOR_LOG_LEVEL",
    sets: "the lowest level that is logged: Trace, Debug, Info, Warn, Error, Fatal"
  },
  { name: "EFFECT_OPERATOR_LOG_FORMAT", sets: "json, pretty or logfmt" }
] as const satisfies ReadonlyArray<Variable>

const maybe = <A>(config: Config.Config<A>): Config.Config<A | undefined> =>
  Config.map(Config.option(config), Option.getOrUndefined)

const levels = ["Trace", "Debug", "Info", "Warn", "Error", "Fatal"] as const

/** The options from a `ConfigProvider`. Levels may be written `debug`, `DEBUG` or `Debug`. */
export const config: Config.Config<Options> = Config.all({
  level: maybe(Config.Literals([...levels, ...levels.map(lower), ...levels.map(upper)], variables[0].name)).pipe(
    Config.map((level) => levels.find((known) => known.toLowerCase() === level?.toLowerCase()))
  ),
  format: maybe(Config.Literals(["json", "pretty", "logfmt"], variables[1].name))
})

function lower<A extends string>(text: A): Lowercase<A> {
  return text.toLowerCase() as Lowercase<A>
}

function upper<A extends string>(text: A): Uppercase<A> {
  return text.toUpperCase() as Uppercase<A>
}

// --- redaction ------------------------------------------------------------------------------------------------------

const hidden = "<redacted>"

/** Names of fields whose values are credentials. */
const credential =
  /^(?:.*[-_.])?(?:authorization|password|passwd|passphrase|token|access[-_]?token|refresh[-_]?token|id[-_]?token|bearer[-_]?token|secret|client[-_]?secret|secret[-_]?access[-_]?key|api[-_]?key|private[-_]?key|client[-_]?key(?:[-_]?data)?|credentials?|cookie|set-cookie)$/i

const isCredential = (name: string): boolean =>
  credential.test(name) || credential.test(name.replace(/([a-z0-9])([A-Z])/g, "$1-$2"))

const patterns: ReadonlyArray<readonly [RegExp, string]> = [
  [/-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden],
  [/\beyJ[\w-]{4,}\.[\w-]+(?:\.[\w-]*)?/g, hidden],
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${hidden}`],
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"']{1,256}:[^\s/@"']{0,1024}@/gi, `$1${hidden}@`],
  [
    /((?:password|passwd|token|secret|api[-_]?key|authorization|client[-_]?key[-_]?data)"?\s*(?:=|":)\s*"?)(?!<redacted>)[^\s"'&,;}]+/gi,
    `$1${hidden}`
  ]
]

/** A text without what looks like a credential. */
export const redactText = (text: string): string => {
  // Matches on more than is shown: truncating first could cut off the end by which a credential is recognised.
  let result = text.slice(0, defaults.length + 4096)
  for (const [pattern, instead] of patterns) result = result.replace(pattern, instead)
  return text.length <= defaults.length ? result : `${result.slice(0, defaults.length)}… (${text.length} characters)`
}

type Fields = Readonly<Record<string, unknown>>

/** A value as plain JSON without credentials. Never throws, even for cycles, throwing getters and exotic types. */
export const redact = (value: unknown): unknown => clean(value, 0, new Set())

const clean = (value: unknown, depth: number, above: Set<object>): unknown => {
  switch (typeof value) {
    case "string":
      return redactText(value)
    case "bigint":
    case "symbol":
    case "function":
      return String(value)
    case "object":
      break
    default:
      return value
  }
  if (value === null) return null
  if (Redacted.isRedacted(value)) return hidden
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (Cause.isCause(value)) return redactText(Cause.pretty(value))
  if (depth >= defaults.depth || above.has(value)) return "…"
  above.add(value)
  try {
    if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1, above))
    if (value instanceof Map) return clean([...value.entries()], depth, new Set(above))
    if (value instanceof Set) return clean([...value.values()], depth, new Set(above))
    if (value instanceof Error) return redactText(Cause.pretty(Cause.fail(value)))
    return object(value as Fields, depth, above)
  } catch (error) {
    return `(cannot be shown: ${redactText(String(error))})`
  } finally {
    above.delete(value)
  }
}

const object = (fields: Fields, depth: number, above: Set<object>): unknown => {
  const isSecret = fields["kind"] === "Secret"
  // `env: [{ name: "DB_PASSWORD", value: "…" }]`
  const named = typeof fields["name"] === "string" && isCredential(fields["name"])
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    const secret = (isCredential(name) && typeof value !== "object" && typeof value !== "boolean") ||
      (named && name === "value") || name === "kubectl.kubernetes.io/last-applied-configuration"
    Object.defineProperty(result, name, {
      enumerable: true,
      configurable: true,
      writable: true,
      value: secret
        ? hidden
        : isSecret && (name === "data" || name === "stringData")
        ? emptied(value)
        : clean(value, depth + 1, above)
    })
  }
  return result
}

/** The keys of a Secret's data without the values: the keys help to see what is missing, the values are secret. */
const emptied = (data: unknown): unknown =>
  typeof data === "object" && data !== null
    ? Object.fromEntries(Object.keys(data).map((name) => [name, hidden]))
    : hidden

// --- the loggers ----------------------------------------------------------------------------------------------------

/** The fields of a log line, as JSON. */
export const fieldsOf = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): Fields => {
  const messages = (Array.isArray(message) ? message : [message]).map(redact)
  const annotations = redact(fiber.getRef(References.CurrentLogAnnotations)) as Fields
  const span = Context.get(fiber.context, Tracer.Tracer) === Tracer.nativeTracer
    ? undefined
    : Option.getOrUndefined(Context.getOption(fiber.context, Tracer.ParentSpan))
  return {
    timestamp: date.toISOString(),
    level: logLevel.toUpperCase(),
    message: messages.length === 1 ? messages[0] : messages,
    ...annotations,
    ...(cause.reasons.length > 0 ? { error: redactText(Cause.pretty(cause)) } : {}),
    ...(span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId })
  }
}

/** One JSON object per line. */
export const json: Logger.Logger<unknown, void> = Logger.withConsoleLog(
  Logger.make((options) => JSON.stringify(fieldsOf(options)))
)

/** `key=value` per line. */
export const logfmt: Logger.Logger<unknown, void> = Logger.withConsoleLog(
  Logger.make((options) =>
    Object.entries(fieldsOf(options)).map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value)
      return `${name}=${/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text)}`
    }).join(" ")
  )
)

/** A line for people: time, level, message, annotations. */
export const prettyText: Logger.Logger<unknown, string> = Logger.make((options) => {
  const { error, level, message, timestamp, ...about } = fieldsOf(options)
  const { controllerGroup: _, controllerKind: __, reconcileID: ___, span_id: ____, trace_id: _____, ...rest } = about
  const text = typeof message === "string" ? message : JSON.stringify(message)
  const details = Object.entries(rest).map(([name, value]) =>
    `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
  )
  return [
    `${String(timestamp).slice(11, 23)} ${String(level).padEnd(5)} ${text}`,
    ...details,
    ...(error === undefined ? [] : [`\n  ${String(error).replaceAll("\n", "\n  ")}`])
  ].join(" ")
})

/** As `prettyText`, written to the console. */
export const pretty: Logger.Logger<unknown, void> = Logger.withConsoleLog(prettyText)

const loggers = { json, logfmt, pretty } as const

/** The loggers of a program. */
export const layer = (options: Options = {}): Layer.Layer<never> =>
  Layer.merge(
    Logger.layer([loggers[options.format ?? (process.stdout.isTTY ? "pretty" : "json")]]),
    options.level === undefined ? Layer.empty : Layer.succeed(References.MinimumLogLevel, options.level)
  )

/** As `layer`, with the options from configuration. */
export const layerConfig: Layer.Layer<never, Config.ConfigError> = Layer.unwrap(
  Effect.gen(function*() {
    return layer(yield* config)
  })
)
