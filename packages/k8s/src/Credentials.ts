/**
 * `Credentials`: who the client is, as request headers.
 *
 * `headers` is asked before every request and is cheap; `fresh` asks the source again, past every cache, and is what a
 * 401 calls for. Both are `Redacted` as a whole, so that no log, error or span can show a token. A token file is read
 * again once a minute (kubelet rotates it) and trimmed; while it cannot be read the last token stays in use, as in
 * client-go. A plugin runs once at a time however many requests wait for it, and not for ever.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import { Transport } from "@effect-operator/core/KubeError"
import * as Fs from "node:fs/promises"

/** Figures of this module. */
export const defaults = {
  /** Age at which a token file is read again. Source: client-go, transport/token_source.go. */
  tokenFileMaxAge: "1 minute",
  /** After which a token file that could not be read is tried again, while the last token stays in use. */
  tokenFileRetry: "10 seconds",
  /** How long an exec plugin or an auth provider may take. */
  pluginTimeout: "1 minute"
} as const

/** Request headers that say who asks; names in lower case. */
export type Headers = Redacted.Redacted<Readonly<Record<string, string | ReadonlyArray<string>>>>

export interface Credentials {
  /** The headers to send now. */
  readonly headers: Effect.Effect<Headers, Transport>
  /** The same, asked from the source rather than from a cache. */
  readonly fresh: Effect.Effect<Headers, Transport>
}

type Plain = Redacted.Redacted.Value<Headers>

const redact = (headers: Plain): Headers => Redacted.make(headers, { label: "credentials" })

/** A bearer token as a header. A line end around it (an editor's, `kubectl create token > file`) is not part of it. */
const bearer = (token: string): Plain => ({ authorization: `Bearer ${token.trim()}` })

/** Headers that never change: a token, a password, an impersonated user, or nothing at all. */
export const fixed = (headers: Plain): Credentials => {
  const always = Effect.succeed(redact(headers))
  return { headers: always, fresh: always }
}

/** A fixed bearer token. */
export const token = (value: Redacted.Redacted<string>, also: Plain = {}): Credentials =>
  fixed({ ...also, ...bearer(Redacted.value(value)) })

/** User name and password (HTTP basic authentication). */
export const basic = (username: string, password: Redacted.Redacted<string>, also: Plain = {}): Credentials =>
  fixed({
    ...also,
    authorization: `Basic ${Buffer.from(`${username}:${Redacted.value(password)}`).toString("base64")}`
  })

/** A token that a file holds. */
export const tokenFile = (file: string, also: Plain = {}): Credentials => {
  const maxAge = Duration.toMillis(defaults.tokenFileMaxAge)
  let last: { readonly headers: Headers; readonly readAt: number } | undefined
  const fresh = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const text = yield* Effect.tryPromise({
      try: () => Fs.readFile(file, "utf8"),
      catch: (cause) => new Transport({ message: `cannot read the token file ${file}: ${code(cause)}` })
    }).pipe(Effect.filterOrFail(
      (text) => text.trim() !== "",
      () => new Transport({ message: `the token file ${file} is empty` })
    ))
    last = { headers: redact({ ...also, ...bearer(text) }), readAt: now }
    return last.headers
  })
  return {
    fresh,
    headers: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (last === undefined) return fresh
      const { headers, readAt } = last
      if (now - readAt < maxAge) return Effect.succeed(headers)
      return Effect.catch(
        fresh,
        (error) => Effect.as(Effect.logWarning(`${error.message}; the last token stays in use`), headers)
      )
    })
  }
}

/** A source that is a promise: an exec plugin or an auth provider. `ask(true)` must not answer from a cache. */
export const plugin = (
  name: string,
  ask: (fresh: boolean) => Promise<Plain>,
  also: Plain = {}
): Credentials => {
  const turn = Semaphore.makeUnsafe(1)
  let asked = 0
  const run = (fresh: boolean) =>
    Effect.suspend(() => {
      const before = asked
      return turn.withPermit(Effect.suspend(() => {
        // Of many who were refused at once, the first asks; its answer is fresh enough for those who waited.
        const needed = fresh && asked === before
        return Effect.tryPromise({
          try: () => ask(needed),
          catch: (cause) => new Transport({ message: `${name} gave no credentials: ${reasonOf(cause)}` })
        }).pipe(
          Effect.timeoutOrElse({
            duration: defaults.pluginTimeout,
            orElse: () =>
              Effect.fail(new Transport({ message: `${name} gave no credentials within ${defaults.pluginTimeout}` }))
          }),
          Effect.map((headers) => {
            if (needed) asked += 1
            return redact({ ...also, ...headers })
          })
        )
      }))
    })
  return { headers: run(false), fresh: run(true) }
}

const code = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? reasonOf(cause)

const reasonOf = (cause: unknown): string => {
  const message = cause instanceof Error ? cause.message.trim() : String(cause)
  return message === "" ? "no reason given" : message
}
