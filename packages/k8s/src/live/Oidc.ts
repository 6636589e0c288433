/**
 * `Oidc`: credentials from an OpenID Connect provider, configured in a kubeconfig under `user.auth-provider` (`oidc`).
 *
 * The id token is the bearer token. It is used until it expires; then the provider issues a new one for the refresh
 * token. The new tokens are written back to the kubeconfig with `save`, because many providers accept a refresh token
 * only once: otherwise the next start would have to log in again. A failure to save them is only a warning.
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

/** The source: each run returns an id token that has not expired. */
export const make = (
  spec: Spec,
  save: (tokens: Tokens) => Effect.Effect<void, Transport>
): Effect.Effect<Credentials.Issued, Transport> => {
  let { idToken, refreshToken } = spec
  let used = false
  return Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const known = idToken === undefined ? undefined : expiryOf(Redacted.value(idToken))
    // Only the first time: a second call means that this token was refused or is about to expire.
    if (!used && idToken !== undefined && known !== undefined && known - defaults.expiryDelta > now) {
      used = true
      return { token: idToken, expiresAt: known }
    }
    if (refreshToken === undefined) {
      return yield* refused(spec, "the id-token has expired, and there is no refresh-token: log in again")
    }
    return yield* refresh(spec, refreshToken, (tokens) => {
      used = true
      idToken = tokens.idToken
      refreshToken = tokens.refreshToken
      return Effect.as(
        Effect.catch(
          save(tokens),
          (error) => Effect.logWarning(`${error.message}; after a restart you have to log in again`)
        ),
        { token: idToken, expiresAt: expiryOf(Redacted.value(idToken)) }
      )
    })
  })
}

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
