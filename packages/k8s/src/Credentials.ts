/**
 * `Credentials`: who the client is, as request headers and, for some sources, a client certificate.
 *
 * `headers` is evaluated before every request and is cheap. `fresh` bypasses every cache and asks the source again,
 * which is needed after a 401. Both are `Redacted` as a whole, so that no log, error or span can show a token. A token
 * file is read again once a minute (kubelet rotates it) and trimmed. While it cannot be read, the last token stays in
 * use, as in client-go.
 *
 * `issued` is for a source that is expensive to ask (an exec plugin, an identity provider) and that tells how long its
 * credentials are valid. Only one call runs at a time, and never longer than its timeout. Its result, even a failure,
 * is shared by all requests that waited for it, so a source that is down is not asked once per request. When four
 * fifths of the lifetime are over, one request asks again while the others use the old credentials. If that fails, the
 * old credentials stay in use until they expire.
 */
import * as Moment from "@effect-operator/core/internal/Moment"
import { Transport } from "@effect-operator/core/KubeError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import * as FileSource from "./live/FileSource.ts"

/** Defaults of this module. */
export const defaults = {
  /** How long an exec plugin or an identity provider may take. */
  issueTimeout: "1 minute",
  /** The fraction of the lifetime after which credentials are refreshed. */
  refreshAfter: 0.8,
  /** How long to wait after a failed refresh, while the old credentials are still valid. */
  retry: "10 seconds"
} as const

/** Request headers that authenticate the client; names in lower case. */
export type Headers = Redacted.Redacted<Readonly<Record<string, string | ReadonlyArray<string>>>>

/** PEM. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: Redacted.Redacted
}

export interface Credentials {
  /** The current headers. */
  readonly headers: Effect.Effect<Headers, Transport>
  /** As `headers`, but asked from the source rather than from a cache. */
  readonly fresh: Effect.Effect<Headers, Transport>
  /** The client certificate that came with the last headers, if the source issues one. */
  readonly certificate?: Effect.Effect<ClientCertificate | undefined>
}

type Plain = Redacted.Redacted.Value<Headers>

const redact = (headers: Plain): Headers => Redacted.make(headers, { label: "credentials" })

/** A bearer token as a header. Surrounding line ends (from an editor, or `kubectl create token > file`) are trimmed. */
const bearer = (token: string): Plain => ({ authorization: `Bearer ${token.trim()}` })

/** Headers that never change: a token, a password, an impersonated user, or nothing at all. */
export const fixed = (headers: Plain): Credentials => {
  const always = Effect.succeed(redact(headers))
  return { headers: always, fresh: always }
}

/** A fixed bearer token. */
export const token = (value: Redacted.Redacted, also: Plain = {}): Credentials =>
  fixed({ ...also, ...bearer(Redacted.value(value)) })

/** User name and password (HTTP basic authentication). */
export const basic = (username: string, password: Redacted.Redacted, also: Plain = {}): Credentials =>
  fixed({
    ...also,
    authorization: `Basic ${Buffer.from(`${username}:${Redacted.value(password)}`).toString("base64")}`
  })

/** The token in a file; `initial` is used until the file can be read. */
export const tokenFile = (file: string, also: Plain = {}, initial?: Redacted.Redacted): Credentials => {
  const source = FileSource.make(file, { what: "token file", problem: FileSource.tokenProblem })
  let last: { readonly text: string; readonly headers: Headers } | undefined
  /** The problem that was logged: not once for each request. */
  let told: string | undefined
  const toHeaders = (text: string): Headers => {
    if (last?.text !== text) last = { text, headers: redact({ ...also, ...bearer(text) }) }
    return last.headers
  }
  const known = Effect.map(source.text, toHeaders)
  return {
    fresh: Effect.map(source.fresh, toHeaders),
    headers: initial === undefined
      ? known
      : Effect.catch(known, ({ message }) => {
        const isNews = message !== told
        told = message
        return Effect.as(
          isNews ? Effect.logWarning(`${message}; using the token of the kubeconfig instead`) : Effect.void,
          toHeaders(Redacted.value(initial))
        )
      })
  }
}

/** Credentials that a source has issued. */
export interface Issued {
  readonly token?: Redacted.Redacted | undefined
  readonly certificate?: ClientCertificate | undefined
  /** In milliseconds since the epoch; absent if they are valid until refused. */
  readonly expiresAt?: number | undefined
}

/** Issued credentials, as `issued` keeps them. */
interface Kept {
  readonly headers: Headers
  readonly certificate: ClientCertificate | undefined
  readonly asked: Moment.Moment
  /** The age in milliseconds at which the source is asked again. */
  readonly refreshAfter: number
  /** The age in milliseconds at which they expire. */
  readonly life: number
}

export interface IssuedOptions {
  /** The source's name, for messages. */
  readonly name: string
  readonly also?: Plain | undefined
  readonly timeout?: Duration.Input | undefined
}

/** Credentials from a source that has to be asked. `ask` must not answer from a cache. */
export const issued = (ask: Effect.Effect<Issued, Transport>, options: IssuedOptions): Credentials => {
  const turn = Semaphore.makeUnsafe(1)
  const timeout = options.timeout ?? defaults.issueTimeout
  let kept: Kept | undefined
  /** The number of completed calls of the source, and the outcome of the last. */
  let asked = 0
  let last: Exit.Exit<Headers, Transport> | undefined

  const renew = Effect.onExit(
    Effect.suspend(() => renewing),
    (exit) =>
      Effect.sync(() => {
        // After an interruption the outcome is unknown.
        if (Exit.hasInterrupts(exit)) return
        asked += 1
        last = exit
      })
  )

  const renewing = Effect.gen(function*() {
    const before = yield* Moment.now
    const answer = yield* Effect.timeoutOrElse(ask, {
      duration: timeout,
      orElse: () =>
        Effect.fail(
          new Transport({
            message: `${options.name} gave no credentials within ${Duration.format(Duration.fromInputUnsafe(timeout))}`
          })
        )
    })
    const life = (answer.expiresAt ?? Infinity) - before.today
    kept = {
      headers: redact({
        ...options.also,
        ...(answer.token === undefined ? {} : bearer(Redacted.value(answer.token)))
      }),
      certificate: answer.certificate,
      asked: before,
      refreshAfter: defaults.refreshAfter * life,
      life
    }
    return kept.headers
  })

  const fresh = Effect.suspend(() => {
    const before = asked
    // If many requests are refused at once, the first one asks, and the others use its result.
    return turn.withPermit(Effect.suspend(() => asked === before || last === undefined ? renew : last))
  })

  /** Refreshes before the credentials expire, so a failure is harmless. */
  const early = (good: Kept, age: number) =>
    Effect.catch(renew, (error) => {
      kept = { ...good, refreshAfter: age + Duration.toMillis(defaults.retry) }
      return Effect.as(Effect.logWarning(`${error.message}; still using the previous credentials`), good.headers)
    })

  return {
    fresh,
    headers: Effect.flatMap(Moment.now, (now) => {
      if (kept === undefined) return fresh
      const good = kept
      const age = Moment.between(good.asked, now)
      if (age >= good.life) return fresh
      return age < good.refreshAfter
        ? Effect.succeed(good.headers)
        : Effect.map(
          turn.withPermitsIfAvailable(1)(Effect.suspend(() => early(good, age))),
          (renewed) => renewed._tag === "Some" ? renewed.value : good.headers
        )
    }),
    certificate: Effect.sync(() => kept?.certificate)
  }
}
