/**
 * `Recording`: what happened in one run, as a list of entries in the order they happened.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import type { Change } from "../../ApiServer.ts"
import type { Point } from "./Fault.ts"

/** Which process did it: `replica` of several, in its how-manieth `life`. */
interface Who {
  readonly replica: number
  readonly life: number
}

/** What a watch has to tell. */
export interface Told {
  /** The watch, by what it asks for: its path and selectors. */
  readonly watch: string
  readonly type: string
  readonly object: KubeObject
}

export type Entry =
  /** The operator asked, and was answered; `status` 0 where no answer came. */
  | Who & {
    readonly _tag: "Call"
    readonly at: number
    /** When it was sent. */
    readonly sent: number
    readonly n: number
    readonly request: Request
    readonly status: number
    /** The object of the answer. */
    readonly object: KubeObject | undefined
    /** What the server said, where it refused. */
    readonly said: string | undefined
    /** The store's revision before and after. */
    readonly before: number
    readonly after: number
  }
  /** The operator was handed a watch event. */
  | Who & Told & { readonly _tag: "Event"; readonly at: number; readonly n: number }
  /** The operator called something outside of the cluster. */
  | Who & {
    readonly _tag: "External"
    readonly at: number
    readonly n: number
    readonly name: string
    readonly failed: boolean
    /** What there is outside then (see `keysOf`). */
    readonly kept: ReadonlyArray<string>
  }
  /** The store changed, by whomever. */
  | { readonly _tag: "Change"; readonly at: number; readonly change: Change }
  /** `made`: the uids of what people made with it. */
  | {
    readonly _tag: "Step"
    readonly at: number
    readonly name: string
    readonly failed: string | undefined
    readonly made: ReadonlyArray<string>
  }
  /** `told`: the watch event that it is about. */
  | { readonly _tag: "Fault"; readonly at: number; readonly point: Point; readonly told?: Told | undefined }
  | Who & { readonly _tag: "Crash" | "Start"; readonly at: number }
  /** The process ended by itself: a part of it failed. */
  | Who & { readonly _tag: "Exit"; readonly at: number; readonly why: string }
  /** The program used something that is not the same twice. */
  | { readonly _tag: "Chance"; readonly at: number; readonly what: string; readonly where: string }
  /** A line the operator logged at warning or above. */
  | Who & { readonly _tag: "Log"; readonly at: number; readonly level: string; readonly text: string }

/** How far a run has come: the numbers of its last request, event, outside call and step. */
export interface Reach {
  readonly call: number
  readonly event: number
  readonly external: number
  readonly step: number
}

/** A run that has yet to begin. */
export const nowhere: Reach = { call: 0, event: 0, external: 0, step: 0 }

/** What there was when all had come to rest. */
export interface Rest {
  readonly objects: ReadonlyArray<KubeObject>
  readonly outside: ReadonlyMap<string, unknown>
}

/** Why a run cannot go on: what happens does not come to rest, or the scenario itself is wrong. */
export interface Failure {
  readonly _tag: "Restless" | "Unsound"
  readonly message: string
}

export interface Recording {
  readonly entries: ReadonlyArray<Entry>
  /** Where it was taken up: what was before is among its entries, and no plan has a say in it. */
  readonly begun: Reach
  /** Requests of the operator, watches aside. */
  readonly calls: number
  readonly events: number
  /** Calls of things outside the cluster. */
  readonly externals: number
  /** Every object at the end. */
  readonly objects: ReadonlyArray<KubeObject>
  /** What there is outside of the cluster, by name. */
  readonly outside: ReadonlyMap<string, unknown>
  /** What there was at rest after each step but the last; absent where the next step did not wait, or it was given. */
  readonly rests: ReadonlyArray<Rest | undefined>
  /** The kinds of the scenario's custom resources, and those that its operator leaves behind with reason. */
  readonly kinds: ReadonlyArray<string>
  readonly keeps: ReadonlyArray<string>
  /** When each step was taken. */
  readonly steps: ReadonlyArray<number>
  /** Steps that were taken before the ones before them had come to rest; from 0. */
  readonly hurried: ReadonlyArray<number>
  /** When the last quiet time began, if it did. */
  readonly quietAt: number | undefined
  /** Steps after which the cluster was not as it should be, in the words of the scenario. */
  readonly missed: ReadonlyArray<string>
  /** What somebody removed, and the operator did not make again before its process started anew. */
  readonly unnoticed: ReadonlyArray<string>
  /** What somebody removed, and the operator never made again: nobody knows how things end without it. */
  readonly abandoned: string | undefined
  /** What the operator did in the last quiet time: requests that changed or tried to change something. */
  readonly restless: ReadonlyArray<Entry>
  /** Why the run came to an early end, if it did. */
  readonly failure: Failure | undefined
  /** Faults of the plan that were met. */
  readonly met: number
}

/** The phase of a Pod. */
export const phaseOf = (object: KubeObject): unknown =>
  (object as { readonly status?: { readonly phase?: unknown } }).status?.phase

const over: ReadonlySet<unknown> = new Set(["Failed", "Succeeded"])

/** Whether a Pod has come to its end, well or not. */
export const isOver = (object: KubeObject): boolean => over.has(phaseOf(object))

/** Every object there was, in each of its states. */
export const seen = ({ entries, objects }: Pick<Recording, "entries" | "objects">): ReadonlyArray<KubeObject> => [
  ...entries.flatMap((entry) => entry._tag === "Change" ? [entry.change.object] : []),
  ...objects
]

/** The uids of what people have made in their steps. */
export const madeByPeople = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  entries.flatMap((entry) => (entry._tag === "Step" ? entry.made : []))

/** What there was at rest after a step, from 0; nothing where the next one did not wait. */
export const objectsAfter = (
  { objects, rests, steps }: Pick<Recording, "objects" | "rests" | "steps">,
  step: number
): ReadonlyArray<KubeObject> | undefined => step + 1 === steps.length ? objects : rests[step]?.objects

/** For each step the change it begins with: people's own. */
export const firstChanges = ({ entries, steps }: Pick<Recording, "entries" | "steps">): ReadonlyArray<
  Change | undefined
> =>
  steps.map((begin) => {
    const first = entries.find((entry) => entry._tag === "Change" && entry.at >= begin)
    return first?._tag === "Change" ? first.change : undefined
  })

/** Kinds that people work with: custom resources, or, where there are none, what their steps change. */
export const subjects = (run: Pick<Recording, "entries" | "steps" | "kinds">): ReadonlySet<string> =>
  new Set(run.kinds.length > 0 ? run.kinds : firstChanges(run).flatMap((first) => first?.object.kind ?? []))

export type Call = Extract<Entry, { readonly _tag: "Call" }>

export const calls = (run: Recording): ReadonlyArray<Call> =>
  run.entries.filter((entry): entry is Call => entry._tag === "Call")

/** Whether a write was done. */
export const accepted = ({ request, status }: Call): boolean =>
  request.method !== "GET" && status >= 200 && status < 300

/** A request in one line: `PATCH /api/v1/…`. */
export const line = ({ method, path }: Request): string => `${method} ${path}`
