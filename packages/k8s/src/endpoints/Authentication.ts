/**
 * `Authentication`: restricts `/metrics` and `/debug` to users that the API server allows to `get` the path.
 *
 * As in controller-runtime's filter, the bearer token is checked with a TokenReview and the user's permission with a
 * SubjectAccessReview on `nonResourceURLs`. Both results are cached: a token for a minute, a permission for five
 * minutes, a denial for thirty seconds. Requests are refused without a token, and while the API server does not
 * respond. The operator's own role needs `create` on `tokenreviews` and `subjectaccessreviews`.
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
  /** How long the result of a TokenReview is cached, in milliseconds. */
  tokenFor: 60_000,
  /** For one review, with all attempts. */
  timeout: "10 seconds"
} as const

const unauthorized = text(401, "Unauthorized\n")
const forbidden = text(403, "Forbidden\n")
const unavailable = text(500, "Authentication failed\n")

/** Returns nothing if the request is allowed, otherwise the response that refuses it. */
export type Guard = (asked: Asked) => Effect.Effect<Answer | undefined>

/** A guard that asks an API server. */
export const make = (client: Client): Guard => {
  const users = new AccessReviews.Memory<UserInfo | "unknown">()
  const review = AccessReviews.make(client)

  const userOf = Effect.fnUntraced(function*(token: string) {
    const now = yield* Moment.now
    // Only a hash of the token is kept in memory.
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
        Effect.as(Effect.logWarning(`metrics: access could not be reviewed: ${message}`), unavailable)
      )
    )
  }
}

const bearer = (header: string | ReadonlyArray<string> | undefined): string | undefined => {
  const [, token] = /^bearer +([^\s]+)$/i.exec(typeof header === "string" ? header : "") ?? []
  return token
}
