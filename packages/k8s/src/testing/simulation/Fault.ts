/**
 * `Fault`: what can go wrong between an operator and its cluster, and where.
 *
 * A point is found in a run by counting: the operator's n-th request, or the n-th watch event it is handed. Runs are
 * deterministic, so that up to the first fault the counts of any run are those of the run without faults, and up to the
 * second those of the run with the first.
 */
import type { Request } from "@effect-operator/core/Transport"

/** What happens at a request of the operator. */
export const callFaults = {
  /** The process dies before it is sent, and starts again. */
  crashBefore: "dies before",
  /** It is carried out; the process dies before the answer. */
  crashAfter: "dies after",
  /** The answer is an error, and nothing was done. */
  serverError: "500",
  unavailable: "503",
  throttled: "429, retry after 1 s",
  /** Somebody else was faster. */
  conflict: "409 Conflict",
  /** Nothing was done, and no answer comes. */
  lostRequest: "lost before it arrived",
  /** It was carried out, and no answer comes. */
  lostAnswer: "carried out, the answer lost",
  /** The process dies after it, and what it reads when it starts again is older than what it did. */
  staleRestart: "dies after, and starts again with a stale list",
  /** A Pod fails right after it. */
  podFailed: "a Pod fails after it",
  /** A Pod is removed by hand right after it. */
  podRemoved: "a Pod is removed after it",
  /** The object written loses its labels and owner references. */
  orphaned: "what it wrote loses labels and owner references"
} as const

/** What happens at a watch event, before the operator is handed it. */
export const eventFaults = {
  /** The connection breaks. */
  watchBroken: "the connection breaks",
  /** The server ends the watch. */
  watchClosed: "the watch ends",
  /** The server has forgotten: 410. */
  watchExpired: "410 Expired",
  /** The event and all after it are held up for 30 s. */
  watchDelayed: "held up for 30 s"
} as const

export type CallFault = keyof typeof callFaults
export type EventFault = keyof typeof eventFaults

export type Point =
  | { readonly _tag: "Call"; readonly at: number; readonly fault: CallFault }
  | { readonly _tag: "Event"; readonly at: number; readonly fault: EventFault }

/** Faults by where they happen. At one place there is at most one. */
export interface Plan {
  readonly points: ReadonlyArray<Point>
  /** 0: tasks run in the order they came; any other number draws another order. */
  readonly interleaving: number
}

export const none: Plan = { points: [], interleaving: 0 }

/** How a point reads in a report. */
export const describe = (point: Point): string =>
  point._tag === "Call"
    ? `request ${point.at}: ${callFaults[point.fault]}`
    : `event ${point.at}: ${eventFaults[point.fault]}`

/** Faults that make sense at a request. */
export const applicable = (request: Request): ReadonlyArray<CallFault> => {
  const { method, path } = request
  if (method === "GET") return ["crashBefore", "serverError", "lostAnswer"]
  if (path.includes("/events")) return ["crashAfter", "serverError", "lostAnswer"]
  const write: ReadonlyArray<CallFault> = [
    "crashBefore",
    "crashAfter",
    "serverError",
    "unavailable",
    "throttled",
    "lostRequest",
    "lostAnswer",
    "staleRestart",
    "podFailed",
    "podRemoved"
  ]
  return method === "POST" ? [...write, "orphaned"] : [...write, "conflict"]
}

export const allEventFaults = Object.keys(eventFaults) as ReadonlyArray<EventFault>
