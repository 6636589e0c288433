/**
 * `AccessReviews`: asks the API server what somebody may do (SubjectAccessReview), and remembers the answer for a while: a
 * permission five minutes, a refusal thirty seconds.
 *
 * A review that does not come about is tried again; what it failed with in the end is the caller's to judge. Needs
 * `create` on `subjectaccessreviews`.
 *
 * Source: k8s.io/apiserver/plugin/pkg/authorizer/webhook.
 */
import type { Client } from "@effect-operator/core/Client"
import * as Moment from "@effect-operator/core/internal/Moment"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { UserInfo } from "./kinds/authentication.v1.ts"
import { SubjectAccessReview, type SubjectAccessReviewSpec } from "./kinds/authorization.v1.ts"

export const defaults = {
  /** How long answers hold, in milliseconds. */
  allowedFor: 300_000,
  refusedFor: 30_000,
  /** Answers kept; the oldest go first. */
  kept: 1000
} as const

/** Retries of a review that did not come about: 500 ms, half as long again each time, four of them. */
export const retry = Schedule.max([Schedule.exponential("500 millis", 1.5), Schedule.recurs(4)])

/** Answers that hold for a while. */
export class Memory<A> {
  readonly #entries = new Map<string, { readonly value: A; readonly since: Moment.Moment; readonly holds: number }>()

  get(key: string, now: Moment.Moment): A | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined || Moment.between(entry.since, now) >= entry.holds ? undefined : entry.value
  }

  /** `holds`: for how many milliseconds. */
  set(key: string, value: A, since: Moment.Moment, holds: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, since, holds })
    if (this.#entries.size <= defaults.kept) return
    for (const oldest of this.#entries.keys()) return void this.#entries.delete(oldest)
  }
}

/** What somebody would do. */
export type Attributes = Pick<SubjectAccessReviewSpec, "resourceAttributes" | "nonResourceAttributes">

export interface Verdict {
  readonly allowed: boolean
  /** The authorizer's words; often none. */
  readonly reason: string
}

/** Reviews by an API server. */
export const make = (client: Client) => {
  const rights = new Memory<Verdict>()
  return Effect.fnUntraced(function*(user: UserInfo, attributes: Attributes) {
    const now = yield* Moment.now
    const id = JSON.stringify([user.username, user.uid, user.groups, user.extra, attributes])
    const known = rights.get(id, now)
    if (known !== undefined) return known
    const review = yield* client.create(SubjectAccessReview, {
      metadata: {},
      spec: {
        ...attributes,
        ...(user.username === undefined ? {} : { user: user.username }),
        ...(user.uid === undefined ? {} : { uid: user.uid }),
        ...(user.groups === undefined ? {} : { groups: user.groups }),
        ...(user.extra === undefined ? {} : { extra: user.extra })
      }
    }).pipe(Effect.retry(retry))
    const verdict: Verdict = { allowed: review.status?.allowed === true, reason: review.status?.reason ?? "" }
    rights.set(id, verdict, now, verdict.allowed ? defaults.allowedFor : defaults.refusedFor)
    return verdict
  })
}
