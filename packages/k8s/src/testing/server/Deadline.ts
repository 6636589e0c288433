/**
 * `Deadline`: when a write must be done, of which only the webhooks it asks take time.
 *
 * A request says how long it may take (`timeout`), and no write takes longer than 34 seconds. Whoever still waits for a
 * webhook then is told so, whatever the webhook's failure policy, and nothing is written.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go, pkg/server/filters/timeout.go,
 * pkg/endpoints/handlers/rest.go (`requestTimeoutUpperBound`).
 */
import type { Request } from "@effect-operator/core/Transport"
import { parameter } from "../../api/Routing.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as GoDuration from "../../schema/GoDuration.ts"

export const defaults = {
  /** How long a write may take that does not say. */
  writeMillis: 34_000
} as const

export interface Deadline {
  /** In milliseconds, of the clock of the request. */
  readonly at: number
  /** What is said of a request that was not done by then. */
  readonly passed: StatusError.StatusError
}

/** The deadline of a write. A time that is none, or not to come, says nothing. */
export const of = ({ now, request }: { readonly now: number; readonly request: Request }): Deadline => {
  const said = GoDuration.millis(parameter(request, "timeout") ?? "")
  return said > 0 && said <= defaults.writeMillis
    ? { at: now + said, passed: StatusError.allottedTimeout }
    : {
      at: now + defaults.writeMillis,
      passed: StatusError.timeout("request did not complete within requested timeout - context deadline exceeded")
    }
}
