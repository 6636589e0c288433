/**
 * `Handler`: hooks as a function from request to response, with or without a socket.
 *
 * | request | response |
 * |---|---|
 * | a review for a hook | 200 with the review of its response, also for a denial |
 * | a path without a hook, a method other than POST | 404, 405 |
 * | a body that is not JSON by its type; too long; not received in time; not a review | 415, 413, 408, 400 |
 * | a hook that failed or died; one that took too long | 500, 504 |
 *
 * Only 200 is a verdict: otherwise the API server applies the hook's `failurePolicy`. A hook is interrupted after the
 * timeout in its registration, or after the server's `?timeout=` if that is shorter.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Settings from "@effect-operator/core/Settings"
import * as Option from "effect/Option"
import { type Any, BadReview, type Hook } from "./Hook.ts"
import * as Metrics from "./WebhookMetrics.ts"

export const defaults = {
  /** How long a server waits for a conversion, in seconds; not configurable. */
  conversionTimeout: 30
} as const

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A JSON value, or text. */
  readonly body: unknown
}

/** Why there is no body. */
export interface Rejected {
  readonly _tag: "Rejected"
  readonly status: 400 | 408 | 413
  readonly message: string
}

export const rejected = (status: Rejected["status"], message: string): Rejected => ({
  _tag: "Rejected",
  status,
  message
})

/** A request whose body is read only if needed. */
export interface Arrived extends Pick<Request, "path" | "query" | "headers"> {
  readonly method: string
  readonly body: Effect.Effect<unknown, Rejected>
}

export type Handler = (arrived: Arrived) => Effect.Effect<Answer>

const text = (status: number, message: string): Answer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: `${message}\n`
})

/** Throws if two hooks have the same name or path, which is a mistake in the program. */
export const checkDistinct = (hooks: ReadonlyArray<Any>): void => {
  for (const [i, hook] of hooks.entries()) {
    for (const other of hooks.slice(0, i)) {
      const same = (["path", "name"] as const).filter((field) => hook[field] === other[field])
      if (same.length === 0) continue
      const values = same.map((field) => `${field} ${JSON.stringify(hook[field])}`).join(" and ")
      const own = same.map((field) => `\`${field}\``).join(" and ")
      throw new Error(
        `Webhook: ${hook.resource.kind}: two hooks have the same ${values}: give one of them its own ${own}`
      )
    }
  }
}

/** Provides the hooks with what they need from the context. */
export const make = <R>(hooks: ReadonlyArray<Hook<R>>): Effect.Effect<Handler, never, R> =>
  Effect.gen(function*() {
    checkDistinct(hooks)
    const context = yield* Effect.context<R>()
    const byPath = new Map(hooks.map((hook) => [hook.path, hook]))
    yield* Metrics.announce([...byPath.keys()])
    return (arrived) => {
      const hook = byPath.get(arrived.path)
      if (hook === undefined) return Effect.succeed(text(404, "404 page not found"))
      return Metrics.measured(hook.path, answer(hook, arrived)).pipe(
        Effect.withSpan("Webhook.answer", { attributes: { webhook: hook.path } }),
        Effect.annotateLogs({ webhook: hook.path }),
        Effect.provideContext(context)
      )
    }
  })

const answer = <R>(hook: Hook<R>, { body, headers, method, query }: Arrived): Effect.Effect<Answer, never, R> => {
  if (method !== "POST") return Effect.succeed(text(405, "Method Not Allowed"))
  const type = headers["content-type"] ?? ""
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    return Effect.succeed(text(415, `content-type: ${JSON.stringify(type)}: must be application/json`))
  }
  const limit = timeoutOf(hook, query)
  return body.pipe(
    Effect.flatMap((review) => hook.answer(review)),
    Effect.map((review): Answer => ({ status: 200, headers: { "content-type": "application/json" }, body: review })),
    Effect.timeoutOrElse({
      duration: limit,
      orElse: () =>
        Effect.as(
          Effect.logError(`gave no answer within ${Duration.format(limit)} and was interrupted`),
          text(504, `${hook.name}: no answer within ${Duration.format(limit)}`)
        )
    }),
    Effect.catchCause((cause) => failed(hook, cause))
  )
}

const isRejected = (error: unknown): error is Rejected =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "Rejected"

/** A hook that has interrupted itself has failed, too: if the handler is interrupted, nobody asks what became of it. */
const failed = <R>(hook: Hook<R>, cause: Cause.Cause<unknown>): Effect.Effect<Answer> => {
  const error = Cause.squash(cause)
  if (isRejected(error)) return Effect.succeed(text(error.status, error.message))
  if (error instanceof BadReview) return Effect.succeed(text(400, error.message))
  const message = error instanceof Error ? error.message : String(error)
  return Effect.gen(function*() {
    if (Cause.hasDies(cause)) yield* Metrics.panicked(hook._tag === "Conversion" ? "conversion" : "admission")
    yield* Effect.logError("failed without giving a verdict", cause)
    return text(500, `${hook.name}: ${message}`)
  })
}

const timeoutOf = <R>({ registration }: Hook<R>, query: Request["query"]): Duration.Duration => {
  const own = Duration.seconds(registration?.timeoutSeconds ?? defaults.conversionTimeout)
  const said = query.find(([name]) => name === "timeout")?.[1]
  const asked = said === undefined ? Option.none<Duration.Duration>() : Settings.parseDuration(said)
  return Option.match(asked, {
    onNone: () => own,
    onSome: (duration) => Duration.toMillis(duration) > 0 ? Duration.min(own, duration) : own
  })
}
