/**
 * `AccessReviews`: asks the API server whether a user may do something (SubjectAccessReview), and caches the verdict:
 * five minutes if allowed, thirty seconds if denied.
 *
 * A failed review is retried; the last failure is the caller's to handle. Needs `create` on `subjectaccessreviews`.
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
  /** How long verdicts are cached, in milliseconds. */
  allowedFor: 300_000,
  refusedFor: 30_000,
  /** The number of cached verdicts; the oldest is evicted first. */
  kept: 1000
} as const

/** Retries of a failed review: four, after 500 ms and then 1.5 times as long each. */
export const retry = Schedule.max([Schedule.exponential("500 millis", 1.5), Schedule.recurs(4)])

/** A cache whose entries expire. */
export class Memory<A> {
  readonly #entries = new Map<string, { readonly value: A; readonly since: Moment.Moment; readonly holds: number }>()

  get(key: string, now: Moment.Moment): A | undefined {
    const entry = this.#entries.get(key)
    return entry === undefined || Moment.between(entry.since, now) >= entry.holds ? undefined : entry.value
  }

  /** `holds`: how long the entry is valid, in milliseconds. */
  set(key: string, value: A, since: Moment.Moment, holds: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { value, since, holds })
    if (this.#entries.size <= defaults.kept) return
    for (const oldest of this.#entries.keys()) return void this.#entries.delete(oldest)
  }
}

/** What the user wants to do. */
export type Attributes = Pick<SubjectAccessReviewSpec, "resourceAttributes" | "nonResourceAttributes">

export interface Verdict {
  readonly allowed: boolean
  /** The authorizer's reason; often empty. */
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
