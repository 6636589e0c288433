/**
 * `Fault`: what can go wrong between an operator and its cluster, and where.
 *
 * A point is found in a run by counting: the operator's n-th request, the n-th watch event it is handed, its n-th call
 * of something outside the cluster; a clock by the number of its replica; a step by its own. Runs are deterministic, so
 * that up to the first fault the counts of any run are those of the run without faults, and up to the second those of
 * the run with the first.
 *
 * Source of the kinds: Sieve (OSDI'22) for intermediate, stale and unobserved states; Anvil (OSDI'24) for lost requests
 * and for Pods that die; Mutiny (DSN'24) for metadata that ties objects together; the NSDI'26 study for outside calls.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"

/** What happens at a request of the operator. */
export const callFaults = {
  /** The process dies before it is sent, and starts again. */
  crashBefore: "the process dies before it",
  /** It is carried out; the process dies before the answer. */
  crashAfter: "the process dies after it, before the answer",
  /** Nobody sees what goes on by itself meanwhile. */
  crashAway: "the process dies after it, and starts again 20 s later",
  /** The answer is an error, and nothing was done. */
  serverError: "answered 500, nothing done",
  unavailable: "answered 503, nothing done",
  throttled: "answered 429, retry after 1 s",
  /** Somebody else was faster. */
  conflict: "answered 409 Conflict: somebody was faster",
  /** Somebody else annotates the object before the request arrives: whoever says which version it is of is refused. */
  overtaken: "somebody annotates the object just before it",
  /** Nothing was done, and no answer comes. */
  lostRequest: "lost before it arrived",
  /** It was carried out, and no answer comes. */
  lostAnswer: "carried out, the answer lost",
  /** It arrives four seconds later than it was sent. */
  slowRequest: "4 s on its way",
  /** For a minute the process reaches nobody. */
  cutOff: "the process is cut off for a minute",
  /** The process dies after it, and what it reads when it starts again is older than what it did. */
  staleRestart: "the process dies after it, and starts again with a stale list",
  /** The same, older still: by four writes. */
  oldRestart: "the process dies after it, and starts again with a list from four writes ago",
  /** The same, but only custom resources are old: as they were before the last step. Everything else is up to date. */
  travelRestart: "the process dies after it, and starts again with custom resources from before the last step",
  /** For 20 s the server answers everything with 503, at once. */
  outage: "answered 503, like everything for 20 s",
  /** Whoever does the next step does not wait: it comes before the answer. */
  hurried: "the next step is taken before the answer",
  /** Nor while the request is on its way: what the operator has made up its mind by is not so any more. */
  forestalled: "4 s on its way, and the next step is taken meanwhile",
  /** Somebody else annotates the object written. */
  annotated: "somebody annotates what it wrote",
  /** A Pod fails right after it. */
  podFailed: "a Pod fails after it",
  /** A Pod is removed by hand right after it. */
  podRemoved: "a Pod is removed after it",
  /** For good, if it is not tried a third time. */
  workFails: "the first two Pods of the Job it made fail",
  /** The object written loses its labels and owner references. */
  orphaned: "what it wrote loses labels and owner references",
  /** The object made is removed by hand when nothing else happens that could wake the operator. */
  removed: "somebody removes what it made, when all is at rest"
} as const

/** What happens at a watch event, before the operator is handed it. */
export const eventFaults = {
  /** The connection breaks. */
  watchBroken: "the connection breaks before it",
  /** The server ends the watch. */
  watchClosed: "the watch ends before it",
  /** The server has forgotten: 410. */
  watchExpired: "410 Expired in its place",
  /** 410, and the list that follows is older than what was seen, for 30 s. */
  watchStale: "410 Expired in its place, then a list from before it",
  /** The event and all after it are held up for 30 s. */
  watchDelayed: "held up for 30 s",
  /** The event and all of the next 30 s are never shown, only what they came to. */
  watchSkipped: "it and what follows within 30 s never shown, then 410 Expired",
  /** The event is handed over twice. */
  watchDuplicated: "handed over twice"
} as const

/** What happens at a call of something outside the cluster. */
export const externalFaults = {
  externalFails: "fails, nothing done",
  /** Whoever tries again at once, or some times, is told the same. */
  externalOutage: "fails, like every outside call for 20 s",
  externalLost: "done, but reported as failed",
  externalSlow: "takes 30 s",
  /** Whoever hangs up meanwhile has it done all the same. */
  externalLate: "done at once, the answer takes 30 s",
  externalCrash: "done, then the process dies",
  /** Whoever does the next step does not wait. */
  externalHurried: "done, and the next step is taken"
} as const

/** What happens at a step. */
export const stepFaults = {
  /** Nothing is to do: nobody should notice. */
  restarted: "the process dies at rest after it, and starts again",
  /** Nobody sees it happen: only what came of it is there when the process starts again. */
  away: "taken while the process is away",
  /** Nor the next one: nobody has ever seen what there was between them. */
  absent: "it and the next one are taken while the process is away",
  /** A Pod is lost when nothing else happens that could wake the operator. */
  podFailed: "a Pod fails at rest after it",
  podRemoved: "a Pod is removed at rest after it",
  /** Somebody notes something on it that is for nobody's eyes but his. */
  annotated: "somebody annotates, at rest after it, all that people and the operator have made",
  /** Whoever takes all of a kind for its own has to do with what is nobody's business. */
  stranger: "somebody else creates, at rest after it, one of each kind the operator has made; the process starts again",
  /** Somebody else holds the custom resources, too: they outlive their deletion, and what the operator waits for. */
  guarded: "somebody else gives the custom resources a finalizer, and takes it off 50 s after they are deleted",
  /** Whoever does the next step does not wait at all. */
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
  /** `at`: the how-manieth step, from 1. */
  | { readonly _tag: "Step"; readonly at: number; readonly fault: StepFault }

/** Faults by where they happen. At one place there is at most one. */
export interface Plan {
  readonly points: ReadonlyArray<Point>
  /** 0: tasks run in the order they came; any other number draws another order. */
  readonly interleaving: number
  /**
   * For each of some steps, by its number from 0, further faults. Their places are counted from the beginning of that
   * step on, as faults before it have changed how much has happened.
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

/** Whether the next step does not wait for what follows from the one before. */
export const hastens = ({ fault }: Point): boolean => hastening.has(fault)

/** Faults after which an operator knows no better: what it sees is old. */
const blinding: ReadonlySet<Kind> = new Set<Kind>([
  "staleRestart",
  "oldRestart",
  "travelRestart",
  "watchStale",
  "watchDelayed",
  "watchSkipped"
])

export const blinds = ({ fault }: Point): boolean => blinding.has(fault)

/** Faults after which an operator knows that something has failed, and tries it again when it thinks best. */
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

/** Somebody else's annotation, which is nobody else's business. */
export const touched = "simulation.effect-operator/touched"

/** Somebody else's finalizer: who put it there takes it off. */
export const guard = "simulation.effect-operator/guard"

/**
 * Whether a request is of an election: about a Lease that is renewed. Any other Lease is a lock, and an object like others.
 */
export const isElection = ({ body, method, path }: Request): boolean =>
  path.includes("/coordination.k8s.io/") &&
  (method === "GET" || JSON.stringify(body ?? null).includes("renewTime"))

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

/** The version that a deletion is of. */
const versionOf = (body: unknown): unknown =>
  (body as { readonly preconditions?: { readonly resourceVersion?: unknown } } | undefined)?.preconditions
    ?.resourceVersion

/** Faults that make sense at a request. */
export const applicable = (request: Request, replicas = 1): ReadonlyArray<CallFault> => {
  const { method, path } = request
  if (method === "GET") return ["crashBefore", "serverError", "lostAnswer", "hurried"]
  if (isEvent(path)) return ["crashAfter", "serverError", "lostAnswer"]
  if (isElection(request)) {
    return ["crashBefore", "crashAfter", "serverError", "conflict", "lostAnswer", "slowRequest", "cutOff"]
  }
  const kinds: ReadonlyArray<CallFault> = method === "POST"
    ? [...write, "annotated", "orphaned", "removed", "workFails"]
    // Who deletes whatever version there is is never told that it is another.
    : method === "DELETE" && versionOf(request.body) === undefined
    ? [...write, "annotated", "overtaken", "removed"]
    : [...write, "annotated", "conflict", "overtaken", "removed"]
  return replicas > 1 ? [...kinds, "cutOff"] : kinds
}

/** The names of all. */
export const allFaults: ReadonlySet<string> = new Set(
  [callFaults, eventFaults, externalFaults, stepFaults, clockFaults].flatMap(Object.keys)
)

export const allEventFaults = Object.keys(eventFaults) as ReadonlyArray<EventFault>
export const allExternalFaults = Object.keys(externalFaults) as ReadonlyArray<ExternalFault>
export const allStepFaults = Object.keys(stepFaults) as ReadonlyArray<StepFault>
export const allClockFaults = Object.keys(clockFaults) as ReadonlyArray<ClockFault>
