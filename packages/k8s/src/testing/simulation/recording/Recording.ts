/** `Recording`: what happened in one run, as a list of entries in order. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import type { Change } from "../../ApiServer.ts"
import { isRead, type Point } from "./Fault.ts"

/** Which process did it: the `replica`, and the number of its `life`. */
interface Who {
  readonly replica: number
  readonly life: number
}

/** What a watch reports. */
export interface Told {
  /** The watch, by its request: path and selectors. */
  readonly watch: string
  readonly type: string
  readonly object: KubeObject
}

export type Entry =
  /** A request of the operator and its answer; `status` is 0 if no answer arrived. */
  | Who & {
    readonly _tag: "Call"
    readonly at: number
    /** When it was sent. */
    readonly sent: number
    readonly n: number
    readonly request: Request
    readonly status: number
    /** The object in the answer. */
    readonly object: KubeObject | undefined
    /** The server's message, if it refused. */
    readonly said: string | undefined
    /** The revision of the store before and after. */
    readonly before: number
    readonly after: number
    /** The revision that a list shows, if it is an old one. */
    readonly shown?: number | undefined
  }
  /** The operator received a watch event. */
  | Who & Told & { readonly _tag: "Event"; readonly at: number; readonly n: number }
  /** The operator called something outside the cluster. */
  | Who & {
    readonly _tag: "External"
    readonly at: number
    readonly n: number
    readonly name: string
    readonly failed: boolean
    /** What exists outside at that time (see `keysOf`). */
    readonly kept: ReadonlyArray<string>
  }
  /** The store changed, by any client. */
  | { readonly _tag: "Change"; readonly at: number; readonly change: Change }
  /** `made`: the uids of the objects that people created in it. */
  | {
    readonly _tag: "Step"
    readonly at: number
    readonly name: string
    readonly failed: string | undefined
    readonly made: ReadonlyArray<string>
  }
  /** `told`: the watch event that the fault concerns. */
  | { readonly _tag: "Fault"; readonly at: number; readonly point: Point; readonly told?: Told | undefined }
  | Who & { readonly _tag: "Crash" | "Start"; readonly at: number }
  /** The process ended by itself: a part of it failed. */
  | Who & { readonly _tag: "Exit"; readonly at: number; readonly why: string }
  /** The program used something that is not deterministic. */
  | { readonly _tag: "Chance"; readonly at: number; readonly what: string; readonly where: string }
  /** A line that the operator logged at level warning or above. */
  | Who & { readonly _tag: "Log"; readonly at: number; readonly level: string; readonly text: string }

/** How far a run has come: the numbers of its last request, event, outside call and step. */
export interface Reach {
  readonly call: number
  readonly event: number
  readonly external: number
  readonly step: number
}

/** A run that has not begun. */
export const nowhere: Reach = { call: 0, event: 0, external: 0, step: 0 }

/** What existed when everything had come to rest. */
export interface Rest {
  readonly objects: ReadonlyArray<KubeObject>
  readonly outside: ReadonlyMap<string, unknown>
}

/** Why a run cannot go on: it does not come to rest, or the scenario itself is wrong. */
export interface Failure {
  readonly _tag: "Restless" | "Unsound"
  readonly message: string
}

export interface Recording {
  readonly entries: ReadonlyArray<Entry>
  /** Where the run was resumed: what came before is among its entries, but the plan has no effect on it. */
  readonly begun: Reach
  /** Number of requests of the operator, without watches. */
  readonly calls: number
  readonly events: number
  /** Number of calls outside the cluster. */
  readonly externals: number
  /** Every object at the end. */
  readonly objects: ReadonlyArray<KubeObject>
  /** The state outside the cluster, by name. */
  readonly outside: ReadonlyMap<string, unknown>
  /** The same as it was when it was first asked for. */
  readonly untouched: ReadonlyMap<string, unknown>
  /**
   * What existed at rest after each step but the last; undefined if the next step did not wait, or for a given step.
   */
  readonly rests: ReadonlyArray<Rest | undefined>
  /** The kinds of the scenario's custom resources, and those that its operator may leave behind. */
  readonly kinds: ReadonlyArray<string>
  readonly keeps: ReadonlyArray<string>
  /** When each step was taken. */
  readonly steps: ReadonlyArray<number>
  /** Steps, from 0, that were taken before the previous ones had come to rest. */
  readonly hurried: ReadonlyArray<number>
  /** When the last quiet period began, if it did. */
  readonly quietAt: number | undefined
  /** Steps after which the cluster was not as it should be, in the scenario's words. */
  readonly missed: ReadonlyArray<string>
  /** What somebody removed, and the operator did not create again before its process restarted. */
  readonly unnoticed: ReadonlyArray<string>
  /** What somebody removed, and the operator never created again: the end without it is not known. */
  readonly abandoned: string | undefined
  /** What the operator did in the last quiet period: requests that changed something or tried to. */
  readonly restless: ReadonlyArray<Entry>
  /** Why the run ended early, if it did. */
  readonly failure: Failure | undefined
  /** Faults of the plan that were met. */
  readonly met: number
}

/** The phase of a Pod. */
export const phaseOf = (object: KubeObject): unknown =>
  (object as { readonly status?: { readonly phase?: unknown } }).status?.phase

const over: ReadonlySet<unknown> = new Set(["Failed", "Succeeded"])

/** Whether a Pod has ended, successfully or not. */
export const isOver = (object: KubeObject): boolean => over.has(phaseOf(object))

/** Every object that existed, in each of its states. */
export const seen = ({ entries, objects }: Pick<Recording, "entries" | "objects">): ReadonlyArray<KubeObject> => [
  ...entries.flatMap((entry) => entry._tag === "Change" ? [entry.change.object] : []),
  ...objects
]

/** The uids of the objects that people created in their steps. */
export const madeByPeople = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  entries.flatMap((entry) => (entry._tag === "Step" ? entry.made : []))

/** What existed at rest after a step, from 0; empty if the next step did not wait. */
export const objectsAfter = (
  { objects, rests, steps }: Pick<Recording, "objects" | "rests" | "steps">,
  step: number
): ReadonlyArray<KubeObject> | undefined => step + 1 === steps.length ? objects : rests[step]?.objects

/** For each step, the change that it begins with: the one that people made. */
export const firstChanges = ({ entries, steps }: Pick<Recording, "entries" | "steps">): ReadonlyArray<
  Change | undefined
> =>
  steps.map((begin) => {
    const first = entries.find((entry) => entry._tag === "Change" && entry.at >= begin)
    return first?._tag === "Change" ? first.change : undefined
  })

/** The kinds that people work with: custom resources or, if there are none, the kinds that their steps change. */
export const subjects = (run: Pick<Recording, "entries" | "steps" | "kinds">): ReadonlySet<string> =>
  new Set(run.kinds.length > 0 ? run.kinds : firstChanges(run).flatMap((first) => first?.object.kind ?? []))

export type Call = Extract<Entry, { readonly _tag: "Call" }>

export const calls = (run: Recording): ReadonlyArray<Call> =>
  run.entries.filter((entry): entry is Call => entry._tag === "Call")

/** Whether a write was carried out. */
export const accepted = ({ request, status }: Call): boolean => !isRead(request) && status >= 200 && status < 300

/** A request in one line: `PATCH /api/v1/…`. */
export const line = ({ method, path }: Request): string => `${method} ${path}`

/** A request as the story of the run shows it, which numbers them: `#7 GET /api/v1/pods`. */
export const cited = ({ n, request }: Pick<Call, "n" | "request">): string => `#${n} ${line(request)}`
