/**
 * `Credentials`: who the client is, as request headers and, for some sources, a client certificate.
 *
 * `headers` is asked before every request and is cheap; `fresh` asks the source again, past every cache, and is what a
 * 401 calls for. Both are `Redacted` as a whole, so that no log, error or span can show a token. A token file is read
 * again once a minute (kubelet rotates it) and trimmed; while it cannot be read the last token stays in use, as in
 * client-go.
 *
 * `issued` is a source that costs something to ask (an exec plugin, an identity provider) and says how long its answer
 * holds. It is asked once at a time, never for longer than its time-out, and what comes of it, be it a failure, is for all
 * who have waited: a source that is down is not asked once for each request. It is asked again when four fifths of the
 * answer's life are over: one request asks, the others use what is still good. If that fails, the answer stays in use until
 * it expires.
 */
import * as Moment from "@effect-operator/core/internal/Moment"
import { Transport } from "@effect-operator/core/KubeError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import * as FileSource from "./live/FileSource.ts"

/** Figures of this module. */
export const defaults = {
  /** How long an exec plugin or an identity provider may take. */
  issueTimeout: "1 minute",
  /** The part of an answer's life after which the next one is asked for. */
  refreshAfter: 0.8,
  /** After which a source that failed is asked again, while its last answer is still good. */
  retry: "10 seconds"
} as const

/** Request headers that say who asks; names in lower case. */
export type Headers = Redacted.Redacted<Readonly<Record<string, string | ReadonlyArray<string>>>>

/** PEM. */
export interface ClientCertificate {
  readonly cert: string
  readonly key: Redacted.Redacted
}

export interface Credentials {
  /** The headers to send now. */
  readonly headers: Effect.Effect<Headers, Transport>
  /** The same, asked from the source rather than from a cache. */
  readonly fresh: Effect.Effect<Headers, Transport>
  /** The client certificate that came with the last headers, where the source gives one. */
  readonly certificate?: Effect.Effect<ClientCertificate | undefined>
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
export const token = (value: Redacted.Redacted, also: Plain = {}): Credentials =>
  fixed({ ...also, ...bearer(Redacted.value(value)) })

/** User name and password (HTTP basic authentication). */
export const basic = (username: string, password: Redacted.Redacted, also: Plain = {}): Credentials =>
  fixed({
    ...also,
    authorization: `Basic ${Buffer.from(`${username}:${Redacted.value(password)}`).toString("base64")}`
  })

/** A token that a file holds; `initial` is used until the file can be read. */
export const tokenFile = (file: string, also: Plain = {}, initial?: Redacted.Redacted): Credentials => {
  const source = FileSource.make(file, { what: "token file", problem: FileSource.tokenProblem })
  let last: { readonly text: string; readonly headers: Headers } | undefined
  const toHeaders = (text: string): Headers => {
    if (last?.text !== text) last = { text, headers: redact({ ...also, ...bearer(text) }) }
    return last.headers
  }
  const known = Effect.map(source.text, toHeaders)
  return {
    fresh: Effect.map(source.fresh, toHeaders),
    headers: initial === undefined
      ? known
      : Effect.catch(known, (error) =>
        Effect.as(
          Effect.logWarning(`${error.message}; the token of the kubeconfig is used`),
          toHeaders(Redacted.value(initial))
        ))
  }
}

/** What a source gave. */
export interface Issued {
  readonly token?: Redacted.Redacted | undefined
  readonly certificate?: ClientCertificate | undefined
  /** In milliseconds since the epoch; absent where it holds until it is refused. */
  readonly expiresAt?: number | undefined
}

/** What `issued` keeps of an answer. */
interface Kept {
  readonly headers: Headers
  readonly certificate: ClientCertificate | undefined
  readonly asked: Moment.Moment
  /** After so many milliseconds the source is asked again. */
  readonly refreshAfter: number
  /** After so many it is of no use. */
  readonly life: number
}

export interface IssuedOptions {
  /** Of the source, for messages. */
  readonly name: string
  readonly also?: Plain | undefined
  readonly timeout?: Duration.Input | undefined
}

/** Credentials from a source that has to be asked. `ask` must not answer from a cache. */
export const issued = (ask: Effect.Effect<Issued, Transport>, options: IssuedOptions): Credentials => {
  const turn = Semaphore.makeUnsafe(1)
  const timeout = options.timeout ?? defaults.issueTimeout
  let kept: Kept | undefined
  /** How often the source has answered, or failed, and how it did that last. */
  let asked = 0
  let last: Exit.Exit<Headers, Transport> | undefined

  const renew = Effect.onExit(
    Effect.suspend(() => renewing),
    (exit) =>
      Effect.sync(() => {
        // Where it was interrupted nothing is known.
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
    // Of many who were refused at once, the first asks; its answer is fresh enough for those who waited.
    return turn.withPermit(Effect.suspend(() => asked === before || last === undefined ? renew : last))
  })

  /** Asks early, while the last answer is still good: if that fails nothing is lost yet. */
  const early = (good: Kept, age: number) =>
    Effect.catch(renew, (error) => {
      kept = { ...good, refreshAfter: age + Duration.toMillis(defaults.retry) }
      return Effect.as(Effect.logWarning(`${error.message}; the last credentials stay in use`), good.headers)
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
