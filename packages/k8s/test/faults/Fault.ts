/**
 * What can go wrong between a client and an API server, as data, and what a reflector must show of it.
 *
 * A fault strikes one exchange (a request and its answer), one connection as it is set up, or everything at once. Faults
 * of an answer's body strike after a number of its bytes, or at its end if it has fewer: a fault that was chosen happens.
 * Corruption puts in a byte that no JSON text and no frame of HTTP may hold, or breaks a record of TLS: what a client
 * cannot notice (another letter inside a name) is not its fault, and TLS does not let it happen.
 */
import type { Reflector } from "@effect-operator/core"

export const kinds = [
  "cut",
  "hangUp",
  "stall",
  "slow",
  "corrupt",
  "garble",
  "split",
  "end",
  "noBookmarks",
  "error410",
  "error500",
  "answer401",
  "answer403",
  "answer410",
  "answer429",
  "answer500",
  "answer503",
  "notJson",
  "drop",
  "expire",
  "refuse",
  "reorder",
  "rotate",
  "outage"
] as const
export type Kind = typeof kinds[number]

/** What a request is for. */
export type Target = "list" | "watch" | "write"

export interface Fault {
  readonly kind: Kind
  /** Requests it can strike. Connections are struck whatever they are for. */
  readonly on: ReadonlyArray<Target>
  /** How many it strikes. */
  readonly times: number
  /** Bytes of the body that still get through, of those that strike inside it. */
  readonly after: number
  /** Decides sizes and delays. */
  readonly seed: number
}

/** Faults that strike inside the body of an answer, and so can strike one that is under way. */
export const ofBody: ReadonlySet<Kind> = new Set([
  "cut",
  "stall",
  "slow",
  "corrupt",
  "garble",
  "split",
  "end",
  "noBookmarks",
  "error410",
  "error500"
])

/** Faults that need a body that goes on. */
export const ofWatch: ReadonlySet<Kind> = new Set(["end", "noBookmarks", "error410", "error500"])

/** Faults that strike before the client has an answer. A client that asks again by itself need not show them. */
export const beforeAnswer = (kind: Kind): boolean => !ofBody.has(kind)

/** Faults of a connection, before any request. */
export const ofConnection: ReadonlySet<Kind> = new Set(["refuse", "reorder"])

/** The status of an answer that the proxy gives in the server's place. */
export const answers: Partial<Record<Kind, { readonly code: number; readonly reason: string }>> = {
  answer401: { code: 401, reason: "Unauthorized" },
  answer403: { code: 403, reason: "Forbidden" },
  answer410: { code: 410, reason: "Expired" },
  answer429: { code: 429, reason: "TooManyRequests" },
  answer500: { code: 500, reason: "InternalError" },
  answer503: { code: 503, reason: "ServiceUnavailable" }
}

/** What the status has to show after a fault has struck a list or a watch. */
export type Trace =
  /** Nothing: the client does not lose anything. */
  | "nothing"
  /** A failure with one of these reasons. */
  | ReadonlyArray<string>
  /** A watch that began anew. */
  | "again"
  /** A new list, or that it is too early for one. */
  | "relist"

const lost = ["Transport"]

export const trace = (kind: Kind, target: Target): Trace => {
  switch (kind) {
    case "slow":
    case "split":
    case "reorder":
    case "noBookmarks":
    case "rotate":
    case "outage":
    case "refuse":
    // The list is asked for in one piece then, and is a list before and after.
    case "expire":
      return "nothing"
    case "cut":
    case "hangUp":
    case "drop":
    case "garble":
      return lost
    case "stall":
      return target === "watch" ? "again" : lost
    case "corrupt":
      // The body of an answer, one line of a watch, or the frame around it.
      return ["Transport", "Decode"]
    case "end":
      return "again"
    case "error410":
      return "relist"
    case "answer410":
      return target === "watch" ? "relist" : ["Gone"]
    case "error500":
    case "answer500":
    case "answer503":
      return ["ServerError"]
    case "answer401":
      return ["Unauthorized"]
    case "answer403":
      return ["Forbidden"]
    case "answer429":
      return ["TooManyRequests"]
    case "notJson":
      return ["Decode", "Transport", "ServerError", "UnexpectedStatus"]
  }
}

/** Whether a status is what the trace of a fault asks for that struck at a time. */
export const shows = (trace: Trace, status: Reflector.Status, at: number): boolean => {
  switch (trace) {
    case "nothing":
      return true
    case "again":
      // An end right after the beginning, and without an event, counts as a failure.
      return status._tag === "Degraded" || (status._tag === "Live" && status.since >= at)
    case "relist":
      return status._tag === "Listing" || (status._tag === "Degraded" && status.reason._tag === "Gone")
    default:
      return status._tag === "Degraded" && trace.includes(status.reason._tag)
  }
}
