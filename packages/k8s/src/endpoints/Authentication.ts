/**
 * Who may read `/metrics` and `/debug`: whoever the API server says may `get` that path.
 *
 * As controller-runtime's filter does: the bearer token is reviewed (TokenReview), its user's right to the path asked
 * for (SubjectAccessReview on `nonResourceURLs`), and both answers are kept for a while: a token a minute, a permission
 * five minutes, a refusal thirty seconds. Nobody is let in anonymously, nor while the API server does not answer. The
 * operator's own role needs `create` on `tokenreviews` and `subjectaccessreviews`.
 */
import type { Client } from "@effect-operator/core/Client"
import * as Moment from "@effect-operator/core/internal/Moment"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as NodeCrypto from "node:crypto"
import * as AccessReviews from "../AccessReviews.ts"
import { TokenReview, type UserInfo } from "../kinds/authentication.v1.ts"
import { type Answer, type Asked, text } from "./Answer.ts"

export const defaults = {
  /** How long a token is known, in milliseconds. */
  tokenFor: 60_000,
  /** For one review with all its tries. */
  timeout: "10 seconds"
} as const

const unauthorized = text(401, "Unauthorized\n")
const forbidden = text(403, "Forbidden\n")
const unavailable = text(500, "Authentication failed\n")

/** Nothing for a request that may go on, or the answer that ends it. */
export type Guard = (asked: Asked) => Effect.Effect<Answer | undefined>

/** A guard that asks an API server. */
export const make = (client: Client): Guard => {
  const users = new AccessReviews.Memory<UserInfo | "unknown">()
  const review = AccessReviews.make(client)

  const userOf = Effect.fnUntraced(function*(token: string) {
    const now = yield* Moment.now
    // What is kept in memory for a minute is no token that would open a door.
    const id = NodeCrypto.createHash("sha256").update(token).digest("base64")
    const known = users.get(id, now)
    if (known !== undefined) return known
    const reviewed = yield* client.create(TokenReview, { metadata: {}, spec: { token } }).pipe(
      Effect.retry(AccessReviews.retry)
    )
    const user = reviewed.status?.authenticated === true ? reviewed.status.user ?? {} : "unknown"
    users.set(id, user, now, defaults.tokenFor)
    return user
  })

  return ({ headers, path }) => {
    const token = bearer(headers["authorization"])
    if (token === undefined) return Effect.succeed(unauthorized)
    return Effect.gen(function*() {
      const user = yield* userOf(token)
      if (user === "unknown") return unauthorized
      const { allowed } = yield* review(user, { nonResourceAttributes: { path, verb: "get" } })
      return allowed ? undefined : forbidden
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
