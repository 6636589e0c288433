/**
 * `Deadline`: the time by which a write must be finished. Only calls to webhooks take time in a write.
 *
 * A request may set a time limit (`timeout`), and no write takes longer than 34 seconds. If a webhook has not answered
 * by then, the write fails, whatever the webhook's failure policy, and nothing is stored.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go, pkg/server/filters/timeout.go,
 * pkg/endpoints/handlers/rest.go (`requestTimeoutUpperBound`).
 */
import type { Request } from "@effect-operator/core/Transport"
import { parameter } from "../../api/Routing.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as GoDuration from "../../schema/GoDuration.ts"

export const defaults = {
  /** The time limit of a write without one of its own, in milliseconds. */
  writeMillis: 34_000
} as const

export interface Deadline {
  /** In milliseconds since 1970. */
  readonly at: number
  /** The error if the deadline has passed. */
  readonly passed: StatusError.StatusError
}

/** The deadline of a write. A `timeout` that is invalid or not positive is ignored. */
export const of = ({ now, request }: { readonly now: number; readonly request: Request }): Deadline => {
  const said = GoDuration.millis(parameter(request, "timeout") ?? "")
  return said > 0 && said <= defaults.writeMillis
    ? { at: now + said, passed: StatusError.allottedTimeout }
    : {
      at: now + defaults.writeMillis,
      passed: StatusError.timeout("request did not complete within requested timeout - context deadline exceeded")
    }
}
