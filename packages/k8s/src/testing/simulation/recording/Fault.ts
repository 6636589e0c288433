/**
 * `Fault`: what can go wrong between an operator and its cluster, and where.
 *
 * A point in a run is found by counting: the operator's n-th request, the n-th watch event that it receives, its n-th
 * call outside the cluster; for a clock, the number of its replica; for a step, its number. Runs are deterministic. So
 * up to the first fault, the counts of any run are those of the run without faults, and up to the second fault those of
 * the run with the first.
 *
 * Source of the kinds: Sieve (OSDI'22) for intermediate, stale and unobserved states; Anvil (OSDI'24) for lost requests
 * and for Pods that die; Mutiny (DSN'24) for metadata that ties objects together; the NSDI'26 study for outside calls.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"

/** What happens at a request of the operator. */
export const callFaults = {
  /** The process dies before the request is sent, and restarts. */
  crashBefore: "the process dies before it",
  /** The request is carried out; the process dies before the answer. */
  crashAfter: "the process dies after it, before the answer",
  /** Nobody sees what happens by itself meanwhile. */
  crashAway: "the process dies after it, and starts again 20 s later",
  /** The answer is an error; nothing was done. */
  serverError: "answered 500, nothing done",
  unavailable: "answered 503, nothing done",
  throttled: "answered 429, retry after 1 s",
  /** Another client was faster. */
  conflict: "answered 409 Conflict: somebody was faster",
  /** Another client annotates the object before the request arrives. A request that names a version is refused. */
  overtaken: "somebody annotates the object just before it",
  /** Nothing was done, and no answer arrives. */
  lostRequest: "lost before it arrived",
  /** The request was carried out, but no answer arrives. */
  lostAnswer: "carried out, the answer lost",
  /** The request arrives four seconds after it was sent. */
  slowRequest: "4 s on its way",
  /** For one minute, the process reaches nobody. */
  cutOff: "the process is cut off for a minute",
  /** The process dies after the request, and what it reads after its restart is older than the request. */
  staleRestart: "the process dies after it, and starts again with a stale list",
  /** The same, but older by four writes. */
  oldRestart: "the process dies after it, and starts again with a list from four writes ago",
  /** The same, but only custom resources are old: as they were before the last step. Everything else is up to date. */
  travelRestart: "the process dies after it, and starts again with custom resources from before the last step",
  /** For 20 s, the server answers everything with 503 at once. */
  outage: "answered 503, like everything for 20 s",
  /** The next step does not wait: it is taken before the answer. */
  hurried: "the next step is taken before the answer",
  /** Nor does it wait for the request to arrive: the state on which the operator based its decision has changed. */
  forestalled: "4 s on its way, and the next step is taken meanwhile",
  /** Another client annotates the written object. */
  annotated: "somebody annotates what it wrote",
  /** A Pod fails right after it. */
  podFailed: "a Pod fails after it",
  /** A Pod is removed by hand right after it. */
  podRemoved: "a Pod is removed after it",
  /** For good, unless it is tried a third time. */
  workFails: "the first two Pods of the Job it made fail",
  /** The written object loses its labels and owner references. */
  orphaned: "what it wrote loses labels and owner references",
  /** The created object is removed by hand when nothing else happens that could wake the operator. */
  removed: "somebody removes what it made, when all is at rest"
} as const

/** What happens at a watch event, before the operator receives it. */
export const eventFaults = {
  /** The connection breaks. */
  watchBroken: "the connection breaks before it",
  /** The server ends the watch. */
  watchClosed: "the watch ends before it",
  /** The server has forgotten: 410. */
  watchExpired: "410 Expired in its place",
  /** 410, and the list that follows is older than what was seen, for 30 s. */
  watchStale: "410 Expired in its place, then a list from before it",
  /** The event and all after it are delayed by 30 s. */
  watchDelayed: "held up for 30 s",
  /** The event and all of the next 30 s are never shown, only their result. */
  watchSkipped: "it and what follows within 30 s never shown, then 410 Expired",
  /** The event is delivered twice. */
  watchDuplicated: "handed over twice"
} as const

/** What happens at a call outside the cluster. */
export const externalFaults = {
  externalFails: "fails, nothing done",
  /** A retry, at once or after a few attempts, fails too. */
  externalOutage: "fails, like every outside call for 20 s",
  externalLost: "done, but reported as failed",
  externalSlow: "takes 30 s",
  /** A caller that gives up meanwhile has it done all the same. */
  externalLate: "done at once, the answer takes 30 s",
  externalCrash: "done, then the process dies",
  /** The next step does not wait. */
  externalHurried: "done, and the next step is taken"
} as const

/** What happens at a step. */
export const stepFaults = {
  /** There is nothing to do, so nobody should notice. */
  restarted: "the process dies at rest after it, and starts again",
  /** Nobody sees it happen: when the process restarts, only the result is visible. */
  away: "taken while the process is away",
  /** Nor the next one: nobody has ever seen the state between them. */
  absent: "it and the next one are taken while the process is away",
  /** A Pod is lost when nothing else happens that could wake the operator. */
  podFailed: "a Pod fails at rest after it",
  podRemoved: "a Pod is removed at rest after it",
  /** Somebody annotates objects with a note that concerns nobody else. */
  annotated:
    "somebody annotates, at rest after it, all that people and the operator have made, and labels what people have made",
  /** An operator that takes all objects of a kind for its own touches what does not concern it. */
  stranger: "somebody else creates, at rest after it, one of each kind the operator has made; the process starts again",
  /**
   * Somebody else also holds the custom resources: they outlive their deletion, and whatever the operator waits for.
   */
  guarded: "somebody else gives the custom resources a finalizer, and takes it off 50 s after they are deleted",
  /** The next step does not wait at all. */
  together: "the next one is taken at once"
} as const

/** What the clock of a replica does. */
export const clockFaults = {
  clockAhead: "5 s ahead",
  clockBehind: "5 s behind"
} as const

export type CallFault = keyof typeof callFaults
export type EventFault = keyof typeof eventFaults
export type ExternalFault = keyof typeof externalFaults
export type ClockFault = keyof typeof clockFaults
export type StepFault = keyof typeof stepFaults
export type Kind = CallFault | EventFault | ExternalFault | ClockFault | StepFault

export type Point =
  | { readonly _tag: "Call"; readonly at: number; readonly fault: CallFault }
  | { readonly _tag: "Event"; readonly at: number; readonly fault: EventFault }
  | { readonly _tag: "External"; readonly at: number; readonly fault: ExternalFault }
  | { readonly _tag: "Clock"; readonly at: number; readonly fault: ClockFault }
  /** `at`: the number of the step, from 1. */
  | { readonly _tag: "Step"; readonly at: number; readonly fault: StepFault }

/** Faults by place; at most one at each place. */
export interface Plan {
  readonly points: ReadonlyArray<Point>
  /** 0 runs tasks in the order in which they arrived; any other number draws another order. */
  readonly interleaving: number
  /**
   * For some steps, by their numbers from 0, further faults. Their places are counted from the beginning of that step,
   * because earlier faults have changed how much has happened.
   */
  readonly pooled?: ReadonlyMap<number, ReadonlyArray<Point>> | undefined
}

export const none: Plan = { points: [], interleaving: 0 }

export const isNone = ({ interleaving, points, pooled }: Plan): boolean =>
  points.length === 0 && interleaving === 0 && pooled === undefined

/** How a point reads in a report. */
export const describe = (point: Point): string => {
  switch (point._tag) {
    case "Call":
      return `request ${point.at}: ${callFaults[point.fault]}`
    case "Event":
      return `event ${point.at}: ${eventFaults[point.fault]}`
    case "External":
      return `outside call ${point.at}: ${externalFaults[point.fault]}`
    case "Clock":
      return `clock of replica ${point.at}: ${clockFaults[point.fault]}`
    case "Step":
      return `step ${point.at}: ${stepFaults[point.fault]}`
  }
}

const hastening: ReadonlySet<Kind> = new Set<Kind>(["hurried", "forestalled", "externalHurried", "together"])

/** Whether the next step does not wait for the consequences of the previous one. */
export const hastens = ({ fault }: Point): boolean => hastening.has(fault)

/** Faults after which an operator sees an old state, and cannot know better. */
const blinding: ReadonlySet<Kind> = new Set<Kind>([
  "staleRestart",
  "oldRestart",
  "travelRestart",
  "watchStale",
  "watchDelayed",
  "watchSkipped"
])

export const blinds = ({ fault }: Point): boolean => blinding.has(fault)

/** Faults after which an operator knows that something has failed, and retries when it chooses. */
const failing: ReadonlySet<Kind> = new Set<Kind>([
  "serverError",
  "unavailable",
  "throttled",
  "conflict",
  "overtaken",
  "lostRequest",
  "lostAnswer",
  "outage",
  "externalFails",
  "externalOutage",
  "externalLost"
])

export const fails = ({ fault }: Point): boolean => failing.has(fault)

/** Another client's annotation, or label, which concerns nobody else. */
export const touched = "simulation.effect-operator/touched"

/** Another client's finalizer, which only that client removes. */
export const guard = "simulation.effect-operator/guard"

/**
 * Whether a request belongs to an election: it is about a Lease that is renewed. Any other Lease is a lock, and an
 * ordinary object.
 */
export const isElection = ({ body, method, path }: Request): boolean =>
  path.includes("/coordination.k8s.io/") &&
  (method === "GET" || JSON.stringify(body ?? null).includes("renewTime"))

/** Kinds that are posted to get an answer: reviews, and tokens. */
const asked = /\/(?:authentication|authorization)\.k8s\.io\/|\/serviceaccounts\/[^/]+\/token$/

/** Whether a request stores nothing, whatever the answer: a read, a dry run, a review. */
export const isRead = ({ body, method, path, query }: Request): boolean =>
  method === "GET" || (method === "POST" && asked.test(path)) ||
  query.some(([name, value]) => name === "dryRun" && value === "All") ||
  (method === "DELETE" &&
    (body as { readonly dryRun?: ReadonlyArray<string> } | undefined)?.dryRun?.includes("All") === true)

/** Whether an object is the Lease of an election. */
export const isElected = (object: KubeObject): boolean =>
  object.kind === "Lease" && "renewTime" in ((object as { readonly spec?: object }).spec ?? {})

export const isEvent = (path: string): boolean => path.includes("/events")

const write: ReadonlyArray<CallFault> = [
  "crashBefore",
  "crashAfter",
  "crashAway",
  "serverError",
  "unavailable",
  "throttled",
  "lostRequest",
  "lostAnswer",
  "slowRequest",
  "staleRestart",
  "oldRestart",
  "travelRestart",
  "outage",
  "hurried",
  "forestalled",
  "podFailed",
  "podRemoved"
]

/** The resourceVersion that a deletion requires. */
const versionOf = (body: unknown): unknown =>
  (body as { readonly preconditions?: { readonly resourceVersion?: unknown } } | undefined)?.preconditions
    ?.resourceVersion

/** Faults that make sense at a request. */
export const applicable = (request: Request, replicas = 1): ReadonlyArray<CallFault> => {
  const { method, path } = request
  if (isRead(request)) return ["crashBefore", "serverError", "lostAnswer", "hurried"]
  if (isEvent(path)) return ["crashAfter", "serverError", "lostAnswer"]
  if (isElection(request)) {
    return ["crashBefore", "crashAfter", "serverError", "conflict", "lostAnswer", "slowRequest", "cutOff"]
  }
  const kinds: ReadonlyArray<CallFault> = method === "POST"
    ? [...write, "annotated", "orphaned", "removed", "workFails"]
    // A deletion without a required version never gets a conflict.
    : method === "DELETE" && versionOf(request.body) === undefined
    ? [...write, "annotated", "overtaken", "removed"]
    : [...write, "annotated", "conflict", "overtaken", "removed"]
  return replicas > 1 ? [...kinds, "cutOff"] : kinds
}

/** The names of all faults. */
export const allFaults: ReadonlySet<string> = new Set(
  [callFaults, eventFaults, externalFaults, stepFaults, clockFaults].flatMap(Object.keys)
)

export const allEventFaults = Object.keys(eventFaults) as ReadonlyArray<EventFault>
export const allExternalFaults = Object.keys(externalFaults) as ReadonlyArray<ExternalFault>
export const allStepFaults = Object.keys(stepFaults) as ReadonlyArray<StepFault>
export const allClockFaults = Object.keys(clockFaults) as ReadonlyArray<ClockFault>
