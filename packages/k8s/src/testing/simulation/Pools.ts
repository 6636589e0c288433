/**
 * `Pools`: single faults of different steps that share a run of the whole story.
 *
 * Tests in groups (Dorfman, 1943): about a run with a fault in one step and another in a later one, of which nobody
 * complains, there is nothing to be said of either. One that anything is said about, or that was anywhere else at rest
 * than without faults, says nothing: its faults are run alone, each as if it had never been in a pool. So is a fault that
 * was not met where it is without the others: after the same requests, answers and events of its step.
 *
 * No fault of a pool excuses or hides another: oracles are asked about each of those that they are lenient after as if
 * there were no others, and what makes a process forget what it has seen, or see all of it anew, comes before what it may
 * not have noticed.
 */
import { undrawn } from "./Canonical.ts"
import { blinds, type Kind, type Plan, type Point } from "./Fault.ts"
import * as Oracle from "./Oracle.ts"
import { type Entry, line, type Recording, seen } from "./Recording.ts"
import type { Reference } from "./Reference.ts"
import * as Rests from "./Rests.ts"
import type { Single } from "./Singles.ts"
import { key, type Story } from "./Story.ts"

/** Faults that share a run, by the step they are in, from 0. Before the first nothing comes to rest. */
export interface Pool {
  readonly lived: Story
  readonly members: ReadonlyMap<number, Single>
}

/** Faults that no other goes with: the time of the next step is another, or what they leave behind stays. */
const apart: ReadonlySet<Kind> = new Set<Kind>(["hurried", "externalHurried", "orphaned"])

/** Faults after which a process starts anew, or lists anew. */
const renewing: ReadonlySet<Kind> = new Set<Kind>([
  "crashBefore",
  "crashAfter",
  "crashAway",
  "staleRestart",
  "oldRestart",
  "travelRestart",
  "externalCrash",
  "watchExpired",
  "watchStale",
  "watchSkipped"
])

/** The sort of faults that no oracle is lenient after. */
const strict = "strict"

/** Oracles are lenient in the same way after all faults of a sort. */
const sortOf = (point: Point): string =>
  blinds(point)
    ? "blinding"
    : point.fault === "podFailed" || point.fault === "podRemoved" || point.fault === "removed"
    ? point.fault
    : strict

/** Something an operator did or was told, and what it was about in the words of every run. */
interface Trace {
  readonly place: string
  readonly text: string
}

const placeOf = ({ _tag, at }: Pick<Point, "_tag" | "at">): string => `${_tag} ${at}`

type Rename = (text: string) => string

const traceOf = (entry: Entry, rename: Rename): Trace | undefined => {
  switch (entry._tag) {
    case "Call": {
      const { n, request } = entry
      const path = request.path.split("/").map(rename).join("/")
      return { place: placeOf({ _tag: "Call", at: n }), text: line({ ...request, path }) }
    }
    case "Event": {
      const { n, object: { kind, metadata: { name, namespace } }, type } = entry
      return { place: placeOf({ _tag: "Event", at: n }), text: `${type} ${kind} ${namespace} ${rename(name)}` }
    }
    case "External":
      return { place: placeOf({ _tag: "External", at: entry.n }), text: entry.name }
    default:
      return undefined
  }
}

/** What happened from the moment a step was taken until the next one was. */
const within = ({ entries, steps }: Recording, step: number): ReadonlyArray<Entry> => {
  const [from = Infinity, to = Infinity] = steps.slice(step, step + 2)
  return entries.filter(({ at }) => at >= from && at < to)
}

/** What an operator did and was told without faults, step by step. */
type Traces = ReadonlyMap<number, ReadonlyArray<Trace>>

const tracesOf = (run: Recording): Traces => {
  const rename = undrawn(seen(run))
  return new Map(
    run.steps.map((_, step) => [step, within(run, step).flatMap((entry) => traceOf(entry, rename) ?? [])] as const)
  )
}

/** The how-manieth of its sort a point is in a step. */
const countIn = (traces: ReadonlyArray<Trace>, { _tag, at }: Point): number =>
  1 + traces.slice(0, traces.findIndex(({ place }) => place === placeOf({ _tag, at })))
    .filter(({ place }) => place.startsWith(`${_tag} `)).length

/** Whether a run met a fault where it is without others. */
const isMet = (run: Recording, rename: Rename, step: number, { point }: Single, expected: ReadonlyArray<Trace>) => {
  const entries = within(run, step)
  const fault = entries.find((entry) =>
    entry._tag === "Fault" && entry.point._tag === point._tag && entry.point.fault === point.fault
  )
  if (fault?._tag !== "Fault") return false
  const place = placeOf(fault.point)
  const before: Array<string> = []
  for (const entry of entries) {
    const trace = traceOf(entry, rename)
    if (entry === fault || trace?.place === place) break
    if (trace !== undefined) before.push(trace.text)
  }
  const here = expected[before.length]
  if (here?.place !== placeOf(point) || before.some((text, index) => text !== expected[index]!.text)) return false
  const itself = entries.map((entry) => traceOf(entry, rename)).find((trace) => trace?.place === place)
  return itself === undefined || itself.text === here.text
}

/** The first of each step that go together, as many as can: up to some step what renews, from there on what does not. */
const draw = (queues: ReadonlyMap<number, Queue>): ReadonlyMap<number, Single> => {
  const steps = [...queues.keys()].sort((a, b) => a - b)
  const chosen = (from: number) =>
    steps.flatMap((step) => {
      const { others, renewing } = queues.get(step)!
      const queue = step < from ? renewing : others
      return queue.length === 0 ? [] : [[step, queue] as const]
    })
  const left = (from: number) => chosen(from).reduce((sum, [, { length }]) => sum + length, 0)
  const [best] = [...steps, Infinity].sort((a, b) => chosen(b).length - chosen(a).length || left(b) - left(a))
  return new Map(chosen(best!).map(([step, queue]) => [step, queue.shift()!] as const))
}

interface Queue {
  readonly renewing: Array<Single>
  readonly others: Array<Single>
}

/** A run as if it had but one of its faults, once for each of which oracles are lenient after. */
const views = (run: Recording): ReadonlyArray<Recording> => {
  const faults = run.entries.filter((entry) => entry._tag === "Fault")
  if (faults.every(({ point }) => sortOf(point) === strict)) return [{ ...run, met: Math.min(run.met, 1) }]
  return faults.map((own) => ({
    ...run,
    met: 1,
    entries: run.entries.filter((entry) => entry._tag !== "Fault" || entry === own)
  }))
}

/** Whether anything is said about a run, or would be of one of its faults without the others. */
const isSuspect = (run: Recording, reference: Reference, oracles: ReadonlyArray<Oracle.Oracle>): boolean =>
  run.rests.some((rest) => rest === undefined) || Rests.astray(run, reference.rests) !== undefined ||
  views(run).some((view) => Oracle.judge(oracles, view, reference) !== undefined)

export interface Pooling {
  readonly pools: ReadonlyArray<Pool>
  /** Those that no other goes with. */
  readonly alone: ReadonlyArray<Single>
  readonly planOf: (pool: Pool) => Plan
  /** The faults of a pool that its run has met, and after which all is well; none where anybody complains. */
  readonly cleared: (
    pool: Pool,
    run: Recording,
    reference: Reference,
    oracles: ReadonlyArray<Oracle.Oracle>
  ) => ReadonlySet<Single>
}

/** Shares faults out among pools, in their order. */
export const make = (all: ReadonlyArray<Single>, recordingOf: (story: Story) => Recording): Pooling => {
  const known = new Map<string, Traces>()
  const expected = (lived: Story): Traces => {
    const traces = known.get(key(lived)) ?? tracesOf(recordingOf(lived))
    known.set(key(lived), traces)
    return traces
  }
  const alone: Array<Single> = []
  const sorts = new Map<string, { readonly lived: Story; readonly queues: Map<number, Queue> }>()
  for (const single of all) {
    const { lived, point } = single
    const place = placeOf(point)
    const [step] = [...expected(lived)].find(([, traces]) => traces.some((trace) => trace.place === place)) ?? []
    if (step === undefined || apart.has(point.fault)) {
      alone.push(single)
      continue
    }
    const sort = `${key(lived)} ${sortOf(point)}`
    const { queues } = sorts.get(sort) ?? { queues: new Map<number, Queue>() }
    const queue = queues.get(step) ?? { renewing: [], others: [] }
    sorts.set(sort, { lived, queues: queues.set(step, queue) })
    queue[renewing.has(point.fault) ? "renewing" : "others"].push(single)
  }
  const pools: Array<Pool> = []
  for (const { lived, queues } of sorts.values()) {
    for (let members = draw(queues); members.size > 0; members = draw(queues)) pools.push({ lived, members })
  }
  return {
    pools: pools.filter(({ members }) => members.size > 1),
    alone: [
      ...alone,
      ...pools.filter(({ members }) => members.size === 1).flatMap(({ members }) => [...members.values()])
    ],
    planOf: ({ lived, members }) => ({
      points: [],
      interleaving: 0,
      pooled: new Map(
        [...members].map(([step, { point }]) =>
          [step, { ...point, at: countIn(expected(lived).get(step)!, point) }] as const
        )
      )
    }),
    cleared: ({ lived, members }, run, reference, oracles) => {
      if (isSuspect(run, reference, oracles)) return new Set()
      const rename = undrawn(seen(run))
      return new Set(
        [...members].flatMap(([step, single]) =>
          isMet(run, rename, step, single, expected(lived).get(step)!) ? [single] : []
        )
      )
    }
  }
}
