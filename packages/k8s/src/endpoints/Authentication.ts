/**
 * Who may read `/metrics` and `/debug`: whoever the API server says may `get` that path.
 *
 * As controller-runtime's filter does: the bearer token is reviewed (TokenReview), its user's right to the path asked
 * for (SubjectAccessReview on `nonResourceURLs`), and both answers are kept for a while: a token a minute, a permission
 * five minutes, a refusal thirty seconds. Nobody is let in anonymously, nor while the API server does not answer. The
 * operator's own role needs `create` on `tokenreviews` and `subjectaccessreviews`.
 */
import type { Client } from "@effect-operator/core/Client"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as NodeCrypto from "node:crypto"
import { TokenReview, type UserInfo } from "../kinds/authentication.v1.ts"
import { SubjectAccessReview } from "../kinds/authorization.v1.ts"
import { type Answer, type Asked, text } from "./Answer.ts"

export const defaults = {
  /** How long answers hold, in milliseconds. */
  tokenFor: 60_000,
  allowedFor: 300_000,
  refusedFor: 30_000,
  /** For one review with all its tries. */
  timeout: "10 seconds",
  /** Answers kept; the oldest go first. */
  kept: 1000
} as const

/** Retries of a review that did not come about: 500 ms, half as long again each time, four of them. */
const retry = Schedule.max([Schedule.exponential("500 millis", 1.5), Schedule.recurs(4)])

const unauthorized = text(401, "Unauthorized\n")
const forbidden = text(403, "Forbidden\n")
const unavailable = text(500, "Authentication failed\n")

/** Answers that hold for a while. */
class Memory<A> {
  readonly #entries = new Map<string, { readonly value: A; readonly until: number }>()

  get(key: string, now: number): A | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined || entry.until <= now ? undefined : entry.value
  }

  set(key: string, value: A, until: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, until })
    if (this.#entries.size <= defaults.kept) return
    for (const oldest of this.#entries.keys()) return void this.#entries.delete(oldest)
  }
}

/** Nothing for a request that may go on, or the answer that ends it. */
export type Guard = (asked: Asked) => Effect.Effect<Answer | undefined>

/** A guard that asks an API server. */
export const make = (client: Client): Guard => {
  const users = new Memory<UserInfo | "unknown">()
  const rights = new Memory<boolean>()

  const userOf = Effect.fnUntraced(function*(token: string) {
    const now = yield* Clock.currentTimeMillis
    // What is kept in memory for a minute is no token that would open a door.
    const id = NodeCrypto.createHash("sha256").update(token).digest("base64")
    const known = users.get(id, now)
    if (known !== undefined) return known
    const review = yield* client.create(TokenReview, { metadata: {}, spec: { token } }).pipe(Effect.retry(retry))
    const user = review.status?.authenticated === true ? review.status.user ?? {} : "unknown"
    users.set(id, user, now + defaults.tokenFor)
    return user
  })

  const mayGet = Effect.fnUntraced(function*(user: UserInfo, path: string) {
    const now = yield* Clock.currentTimeMillis
    const id = JSON.stringify([user.username, user.uid, user.groups, user.extra, path])
    const known = rights.get(id, now)
    if (known !== undefined) return known
    const review = yield* client.create(SubjectAccessReview, {
      metadata: {},
      spec: {
        nonResourceAttributes: { path, verb: "get" },
        ...(user.username === undefined ? {} : { user: user.username }),
        ...(user.uid === undefined ? {} : { uid: user.uid }),
        ...(user.groups === undefined ? {} : { groups: user.groups }),
        ...(user.extra === undefined ? {} : { extra: user.extra })
      }
    }).pipe(Effect.retry(retry))
    const allowed = review.status?.allowed === true
    rights.set(id, allowed, now + (allowed ? defaults.allowedFor : defaults.refusedFor))
    return allowed
  })

  return ({ headers, path }) => {
    const token = bearer(headers["authorization"])
    if (token === undefined) return Effect.succeed(unauthorized)
    return Effect.gen(function*() {
      const user = yield* userOf(token)
      if (user === "unknown") return unauthorized
      return (yield* mayGet(user, path)) ? undefined : forbidden
    }).pipe(
      Effect.timeoutOption(defaults.timeout),
      Effect.map(Option.getOrElse((): Answer | undefined => unavailable)),
      Effect.catch(({ message }) =>
        Effect.as(Effect.logWarning(`metrics: access not reviewed: ${message}`), unavailable)
      )
    )
  }
}

const bearer = (header: string | ReadonlyArray<string> | undefined): string | undefined => {
  const [, token] = /^bearer +([^\s]+)$/i.exec(typeof header === "string" ? header : "") ?? []
  return token
}
