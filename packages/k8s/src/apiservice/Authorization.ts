/**
 * `Authorization`: authorizes requests by the cluster's roles, with a SubjectAccessReview that is cached for a while
 * (see `AccessReviews`). Members of `system:masters` may do everything. While the cluster does not respond, every
 * request fails with 500.
 *
 * Source: k8s.io/apiserver/pkg/server/options/authorization.go.
 */
import type { Client } from "@effect-operator/core/Client"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AccessReviews from "../AccessReviews.ts"
import * as Attributes from "../api/Attributes.ts"
import * as StatusError from "../api/StatusError.ts"
import { isMaster } from "../api/UserInfo.ts"
import type { Authorize } from "./Engine.ts"

export const defaults = {
  /** For one review, with all attempts. */
  timeout: "10 seconds"
} as const

/** Without empty fields. */
const given = (fields: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""))

const reviewed = (attributes: Attributes.Attributes): AccessReviews.Attributes => {
  if (attributes._tag === "Path") {
    const { path, verb } = attributes
    return { nonResourceAttributes: { path, verb } }
  }
  const { _tag, ...fields } = attributes
  return { resourceAttributes: given(fields) }
}

/** Authorizes by asking the API server of a client. */
export const make = (client: Client): Authorize => {
  const review = AccessReviews.make(client)
  const unanswered = (message: string) =>
    Effect.as(
      Effect.logWarning(`access could not be reviewed, the request is refused: ${message}`),
      StatusError.internal(`access could not be reviewed: ${message}`)
    )
  return (user, attributes) =>
    isMaster(user) ? Effect.undefined : review(user, reviewed(attributes)).pipe(
      Effect.map(({ allowed, reason }) => allowed ? undefined : Attributes.forbidden(user, attributes, reason)),
      Effect.timeoutOption(defaults.timeout),
      Effect.flatMap(Option.match({
        onNone: () => unanswered(`no answer within ${defaults.timeout}`),
        onSome: (refused) => Effect.succeed(refused)
      })),
      Effect.catch(({ message }) => unanswered(message))
    )
}
