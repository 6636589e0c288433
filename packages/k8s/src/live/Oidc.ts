/**
 * `Oidc`: credentials from an OpenID Connect provider, configured in a kubeconfig under `user.auth-provider` (`oidc`).
 *
 * The id token is the bearer token. It is used until it expires; then the provider issues a new one for the refresh
 * token. The new tokens are written back to the kubeconfig with `save`, because many providers accept a refresh token
 * only once: otherwise the next start would have to log in again. A failure to save them is only a warning.
 *
 * For the same reason, tokens that somebody else has written there since (kubectl, another client of this user, a new
 * login) are used instead of those that are known, whose refresh token may be used up.
 *
 * No failure quotes the provider's response, which may contain a token.
 *
 * Source: client-go, plugin/pkg/client/auth/oidc/oidc.go; RFC 6749, section 6.
 */
import { Transport } from "@effect-operator/core/KubeError"
import Undici from "@effect/platform-node/Undici"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Credentials from "../Credentials.ts"

/** Defaults of this module. */
export const defaults = {
  /** An id token that expires within this time, in milliseconds, counts as expired. Source: client-go, as above. */
  expiryDelta: 10_000,
  /** How long the provider may take to respond, in milliseconds. */
  requestTimeout: 25_000
} as const

/** The validated configuration. */
export interface Spec {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: Redacted.Redacted | undefined
  readonly idToken?: Redacted.Redacted | undefined
  readonly refreshToken?: Redacted.Redacted | undefined
  /** PEM; the public CAs if absent. */
  readonly ca?: string | undefined
}

export interface Tokens {
  readonly idToken: Redacted.Redacted
  readonly refreshToken: Redacted.Redacted
}

/** Where the tokens are kept. */
export interface Store {
  /** Those that are there now; undefined if they cannot be read. */
  readonly read: Effect.Effect<Partial<Tokens> | undefined>
  readonly save: (tokens: Tokens) => Effect.Effect<void, Transport>
}

const isSame = (a: Partial<Tokens>, b: Partial<Tokens>): boolean =>
  (["idToken", "refreshToken"] as const).every((name) => text(a[name]) === text(b[name]))

const text = (token: Redacted.Redacted | undefined): string | undefined =>
  token === undefined ? undefined : Redacted.value(token)

/** The source: each run returns an id token that has not expired. */
export const make = (spec: Spec, { read, save }: Store): Effect.Effect<Credentials.Issued, Transport> => {
  let known: Partial<Tokens> = tokensOf(spec)
  /** What was in the store when it was last read or written: only another is news. */
  let stored = known
  let used = false

  /** Takes over what others have stored since, if they have. */
  const look = Effect.map(read, (now) => {
    if (now === undefined || isSame(now, stored)) return false
    stored = now
    known = now
    used = false
    return true
  })

  /** The known token, the first time: a second call means that it was refused or is about to expire. */
  const unused = Effect.map(Clock.currentTimeMillis, (now): Credentials.Issued | undefined => {
    const { idToken } = known
    const expiresAt = idToken === undefined ? undefined : expiryOf(Redacted.value(idToken))
    if (used || expiresAt === undefined || expiresAt - defaults.expiryDelta <= now) return undefined
    used = true
    return { token: idToken, expiresAt }
  })

  const renewed = Effect.suspend(() => {
    const { refreshToken } = known
    if (refreshToken === undefined) {
      return refused(spec, "the id-token has expired, and there is no refresh-token: log in again")
    }
    return refresh(spec, refreshToken, (tokens) => {
      used = true
      known = tokens
      return Effect.as(
        Effect.matchEffect(save(tokens), {
          onSuccess: () =>
            Effect.sync(() => {
              stored = tokens
            }),
          onFailure: (error) => Effect.logWarning(`${error.message}; after a restart you have to log in again`)
        }),
        { token: tokens.idToken, expiresAt: expiryOf(Redacted.value(tokens.idToken)) }
      )
    })
  })

  return Effect.gen(function*() {
    const first = yield* unused
    if (first !== undefined) return first
    if (yield* look) {
      const others = yield* unused
      if (others !== undefined) return others
    }
    return yield* Effect.catch(renewed, (error) =>
      // Somebody else may have used the refresh token at the same moment.
      Effect.flatMap(look, (isNews) =>
        isNews
          ? Effect.flatMap(unused, (token) => token === undefined ? renewed : Effect.succeed(token))
          : Effect.fail(error)))
  })
}

const tokensOf = ({ idToken, refreshToken }: Spec): Partial<Tokens> => ({
  ...(idToken === undefined ? {} : { idToken }),
  ...(refreshToken === undefined ? {} : { refreshToken })
})

const refused = (spec: Spec, problem: string) =>
  Effect.fail(new Transport({ message: `the identity provider ${spec.issuer}: ${problem}` }))

/** When a JSON Web Token expires, in milliseconds since the epoch. */
export const expiryOf = (token: string): number | undefined => {
  const claims = json(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"))
  const seconds = claims?.["exp"]
  return typeof seconds === "number" ? seconds * 1000 : undefined
}

/**
 * Requests new tokens and passes them to `keep`. Uninterruptible once the refresh token is sent, since the provider may
 * not accept it a second time.
 */
const refresh = <A>(
  spec: Spec,
  refreshToken: Redacted.Redacted,
  keep: (tokens: Tokens) => Effect.Effect<A>
): Effect.Effect<A, Transport> =>
  Effect.scoped(Effect.gen(function*() {
    const dispatcher = yield* Effect.acquireRelease(
      Effect.sync(() => new Undici.Agent({ allowH2: false, connect: spec.ca === undefined ? {} : { ca: spec.ca } })),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const ask = (what: string, url: string, options: Partial<Undici.Dispatcher.RequestOptions>) =>
      Effect.tryPromise({
        try: async (interrupted) => {
          const signal = AbortSignal.any([interrupted, AbortSignal.timeout(defaults.requestTimeout)])
          const answer = await Undici.request(url, { ...options, dispatcher, signal })
          return { status: answer.statusCode, body: json(await answer.body.text()) }
        },
        catch: (cause) => {
          const { code } = cause as { readonly code?: unknown }
          const why = typeof code === "string" ? code : "no answer"
          return new Transport({ message: `the identity provider ${spec.issuer}: ${what}: ${why}` })
        }
      })
    const discovery = yield* ask("discovery", `${spec.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, {})
    const endpoint = discovery.body?.["token_endpoint"]
    if (discovery.status !== 200 || typeof endpoint !== "string") {
      return yield* refused(
        spec,
        `discovery answered HTTP ${discovery.status} without a token_endpoint: check idp-issuer-url`
      )
    }
    const secret = spec.clientSecret === undefined ? undefined : Redacted.value(spec.clientSecret)
    const form = {
      grant_type: "refresh_token",
      refresh_token: Redacted.value(refreshToken),
      client_id: spec.clientId,
      ...(secret === undefined ? {} : { client_secret: secret })
    }
    return yield* Effect.uninterruptible(Effect.gen(function*() {
      const answer = yield* ask("refresh", endpoint, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", "accept": "application/json" },
        body: new URLSearchParams(form).toString()
      })
      const idToken = answer.body?.["id_token"]
      if (answer.status !== 200) {
        return yield* refused(spec, `the refresh token was refused (HTTP ${answer.status}): log in again`)
      }
      if (typeof idToken !== "string") {
        return yield* refused(
          spec,
          "the answer to the refresh token has no id_token: did the login request the scope openid?"
        )
      }
      const next = answer.body?.["refresh_token"]
      return yield* keep({
        idToken: Redacted.make(idToken),
        refreshToken: typeof next === "string" && next !== "" ? Redacted.make(next) : refreshToken
      })
    }))
  }))

const json = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : undefined
  } catch {
    return undefined
  }
}
