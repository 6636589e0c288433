/**
 * `Retry`: decides, as a pure function, whether a request is sent again.
 *
 * A request is repeated only if that cannot do anything twice:
 * - the server did not execute it and asked to retry (429 with Retry-After), whatever it was;
 * - it certainly never reached the server (nothing of it was written), whatever it was;
 * - it changes nothing, or repeating it changes nothing more (a read, a dry run, server-side apply), and the connection
 *   broke, or the server asked to retry (5xx with Retry-After).
 *
 * Attempts and the delays between them are limited. If a server asks for a longer delay, the caller gets it as
 * `retryAfter` of the error. Timeouts are not retried: the caller has waited long enough. Neither are failures that
 * will not go away by themselves, such as an untrusted certificate.
 *
 * Source: client-go, rest/with_retry.go (429 and 5xx with Retry-After; reads on a broken connection).
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Duration from "effect/Duration"

/** Defaults, unless `Policy` overrides them. */
export const defaults = {
  /** The maximum number of retries. */
  times: 3,
  /** The delay before the first retry after a broken connection; doubled for each further one. */
  backoff: "100 millis",
  /** The longest delay that the server may ask for; a longer one is left to the caller. */
  patience: "10 seconds"
} as const

export interface Policy {
  readonly times?: number | undefined
  readonly backoff?: Duration.Input | undefined
  readonly patience?: Duration.Input | undefined
}

/** How an attempt ended. Times are in milliseconds. */
export type Outcome =
  | { readonly _tag: "Answered"; readonly status: number; readonly retryAfter: number | undefined }
  | { readonly _tag: "Failed"; readonly sent: boolean; readonly code: string | undefined }

export type Decision =
  | { readonly _tag: "Return" }
  | { readonly _tag: "Again"; readonly after: number }

/** `attempt` counts from 0; `random` is in [0, 1). */
export const decide = (
  repeatable: boolean,
  outcome: Outcome,
  attempt: number,
  random: number,
  policy: Policy = {}
): Decision => {
  if (attempt >= (policy.times ?? defaults.times)) return stop
  if (outcome._tag === "Failed") {
    const again = outcome.sent ? repeatable && broken.has(outcome.code ?? "") : !lasting(outcome.code ?? "")
    return again ? { _tag: "Again", after: backoff(attempt, random, policy) } : stop
  }
  const { status } = outcome
  const wait = status === 429 || (status >= 500 && repeatable) ? outcome.retryAfter : undefined
  return wait === undefined || wait > Duration.toMillis(policy.patience ?? defaults.patience)
    ? stop
    : { _tag: "Again", after: Math.max(wait, backoff(attempt, random, policy)) }
}

const stop: Decision = { _tag: "Return" }

const backoff = (attempt: number, random: number, policy: Policy): number =>
  Duration.toMillis(policy.backoff ?? defaults.backoff) * 2 ** attempt * (1 + random / 2)

/** Error codes of a broken connection. */
const broken: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET"])

/** Error codes of failures that the next attempt would meet again, or that have already cost a timeout. */
const lasting = (code: string): boolean =>
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|ERR_INVALID|UND_ERR_INVALID|CERT_|UNABLE_TO_)/.test(code) || others.has(code)

const others: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_DESTROYED",
  "UND_ERR_CLOSED",
  "UND_ERR_PRX_TLS",
  "ERR_NOT_PERMITTED",
  "ETIMEDOUT",
  "TIMEOUT"
])

/** Whether a failure is about certificates: those of the client, or those that it trusts, may have been rotated. */
export const isCertificateCode = (code: string | undefined): boolean =>
  code !== undefined && code !== "ERR_TLS_CERT_ALTNAME_INVALID" &&
  (/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_)/.test(code) || code.includes("SELF_SIGNED_CERT"))

/** Whether the TLS handshake failed because of certificates. If the server refused, it sent an alert. */
export const isHandshakeFailure = (failure: { readonly sent: boolean; readonly code: string | undefined }): boolean =>
  isCertificateCode(failure.code) && (!failure.sent || failure.code?.includes("_ALERT_") === true)

/** Whether repeating a request has no effect beyond that of the request itself. */
export const isRepeatable = (request: Request): boolean =>
  request.method === "GET" ||
  request.query.some(([name, value]) => name === "dryRun" && value === "All") ||
  (request.headers["content-type"] === "application/apply-patch+yaml" && !isGuarded(request.body))

/** An apply with a resourceVersion or uid would fail the second time because of the first. */
const isGuarded = (body: unknown): boolean => {
  const { metadata } = body as { readonly metadata?: { readonly resourceVersion?: unknown; readonly uid?: unknown } }
  return metadata?.resourceVersion !== undefined || metadata?.uid !== undefined
}

/** The delay in a Retry-After header, in milliseconds: given as seconds or as a date (RFC 9110, section 10.2.3). */
export const retryAfter = (headers: Readonly<Record<string, string>>, now: number): number | undefined => {
  const text = headers["retry-after"]?.trim()
  if (text === undefined || text === "") return undefined
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
