/**
 * `Pools`: single faults that share a run of the whole story, most of them of different steps.
 *
 * Tests in groups (Dorfman, 1943): about a run with a fault in one step and another in a later one, of which nobody
 * complains, there is nothing to be said of either. One that anything is said about, or that was anywhere else at rest
 * than without faults, says nothing: its faults are run alone, each as if it had never been in a pool. So is a fault that
 * was not met where it is without the others: after the same requests, answers and events of its step.
 *
 * Of faults that nobody is to notice a step has many: as long as nobody does, each is met where it is without the others.
 *
 * No fault of a pool excuses another: oracles are asked about each of those that they are lenient after as if there were no
 * others. Nor is one healed by another, as far as can be told: what makes a process forget what it has seen, or see all of
 * it anew, comes before what it may not have noticed. Two that undo each other are not found together.
 */
import { judge } from "../oracles/Judge.ts"
import type { Oracle } from "../oracles/Oracle.ts"
import { blinds, isEvent, type Kind, none, type Plan, type Point } from "../recording/Fault.ts"
import { type Entry, line, type Recording, type Told } from "../recording/Recording.ts"
import { timeless } from "../recording/Times.ts"
import type { Reference } from "../running/Reference.ts"
import { type Rename, renamerOf } from "../state/Renaming.ts"
import * as Rests from "../state/Rests.ts"
import { key, type Story } from "../story/Story.ts"
import type { Single } from "./Singles.ts"

/** Where a story begins: before the first step nothing comes to rest. */
const start = -1

/** Faults that share a run, by the step they are in, from 0, or -1 before the first. */
export interface Pool {
  readonly lived: Story
  readonly members: ReadonlyMap<number, Share>
}

/** What one step has of a run's faults, in their order: one of them, or many that nobody is to notice. */
type Share = ReadonlyArray<Single>

/** Faults that nobody is to notice. */
const unnoticed: ReadonlySet<Kind> = new Set<Kind>(["watchClosed", "watchDuplicated"])

/** Faults that no other goes with: the time of the next step is another, what they leave stays, or a rest shows them. */
const apart: ReadonlySet<Kind> = new Set<Kind>(["hurried", "forestalled", "externalHurried", "orphaned", "removed"])

/**
 * Whether no other goes with a fault. At the time around a step there is one of a kind for each, and each has the operator
 * live from there to the end as nothing else does: with a memory that begins at that rest, or one that has met the like
 * once.
 */
const isApart = ({ _tag, fault }: Point): boolean => _tag === "Step" || _tag === "Clock" || apart.has(fault)

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

/** Faults that oracles look for, each of them in its own way. */
const lenient: ReadonlySet<Kind> = new Set<Kind>(["podFailed", "podRemoved"])

/** Oracles are lenient in the same way after all faults of a sort. */
const sortOf = (point: Point): string =>
  blinds(point)
    ? "blinding"
    : lenient.has(point.fault)
    ? point.fault
    : strict

/** Something an operator did or was told. */
interface Trace {
  readonly at: number
  readonly place: string
  /** What it was about in the words of every run: the numbers of replicas aside, which do the same. */
  readonly text: string
  /** As much of that as counts for what comes after it: not what people are told, and whether for the first time. */
  readonly gist: string
}

const placeOf = ({ _tag, at }: Pick<Point, "_tag" | "at">): string => `${_tag} ${at}`

const toldIn = ({ object: { kind, metadata: { name, namespace } }, type, watch }: Told, rename: Rename): string =>
  `${watch}: ${type} ${kind} ${namespace} ${rename(name)}`

const traceOf = (entry: Entry, rename: Rename): Trace | undefined => {
  const { at } = entry
  switch (entry._tag) {
    case "Call": {
      const { n, request, status } = entry
      const path = request.path.split("/").map(rename).join("/")
      const place = placeOf({ _tag: "Call", at: n })
      // The name of an Event is the time of the first.
      if (isEvent(path)) {
        return { at, place, text: line({ ...request, path: path.replace(/(\/events)\/.*/, "$1") }), gist: "Event" }
      }
      const said = request.body === undefined ? "" : timeless(rename(JSON.stringify(request.body)))
      const text = line({ ...request, path })
      return { at, place, text: `${text} ${said}`, gist: `${text} ${said} ${status}` }
    }
    case "Event": {
      const text = toldIn(entry, rename)
      return { at, place: placeOf({ _tag: "Event", at: entry.n }), text, gist: text }
    }
    case "External": {
      const { failed, n, name } = entry
      return { at, place: placeOf({ _tag: "External", at: n }), text: name, gist: `${name} ${failed}` }
    }
    default:
      return undefined
  }
}

/** What came to pass. Which watch tells first of what happened in one moment is chance. */
const gistOf = (traces: ReadonlyArray<Trace>): string => {
  const out: Array<string> = []
  let told: Array<string> = []
  for (const [index, { at, gist, place }] of traces.entries()) {
    if (place.startsWith("Event ")) told.push(gist)
    else out.push(gist)
    const next = traces[index + 1]
    if (next?.at === at && next.place.startsWith("Event ")) continue
    out.push(...told.sort())
    told = []
  }
  return out.join("\n")
}

/** What happened from the moment a step was taken until the next one was. */
const within = ({ entries, steps }: Recording, step: number): ReadonlyArray<Entry> => {
  const [from = 0, to = Infinity] = [steps[step], steps[step + 1]]
  return entries.filter(({ at }) => at >= from && at < to)
}

/** What an operator did and was told without faults while a step was the last one taken. */
type Course = ReadonlyArray<Trace>

/** By step. */
type Courses = ReadonlyMap<number, Course>

const coursesOf = (run: Recording): Courses => {
  const rename = renamerOf(run)
  return new Map(
    [start, ...run.steps.keys()].map((step) =>
      [step, within(run, step).flatMap((entry) => traceOf(entry, rename) ?? [])] as const
    )
  )
}

/** How much of a step comes before a point; -1 if that is not in it. */
const before = (course: Course, point: Point): number => course.findIndex(({ place }) => place === placeOf(point))

/** The step a point is in. */
const stepOf = (courses: Courses, point: Point): number | undefined =>
  [...courses].find(([, course]) => before(course, point) >= 0)?.[0]

/** The points of a step's share with their numbers counted from its beginning. */
const counted = (course: Course, share: Share): ReadonlyArray<Point> => {
  let ended = 0
  return share.map(({ point }) => {
    const sort = `${point._tag} `
    const at = 1 + ended + course.slice(0, before(course, point)).filter(({ place }) => place.startsWith(sort)).length
    // What a watch was to tell when it ended the next one tells.
    if (point.fault === "watchClosed") ended += 1
    return { ...point, at }
  })
}

/** How many of the faults of a step, from the first on, a run met where they are without others. */
const metOf = (run: Recording, rename: Rename, step: number, share: Share, course: Course): number => {
  const entries = within(run, step).map((entry) => ({ entry, trace: traceOf(entry, rename) }))
  const passed: Array<Trace> = []
  let met = 0
  for (const { entry, trace } of entries) {
    if (trace !== undefined) passed.push(trace)
    const point = share[met]?.point
    if (entry._tag !== "Fault" || point === undefined) continue
    if (entry.point._tag !== point._tag || entry.point.fault !== point.fault) return met
    const length = before(course, point)
    if (passed.length !== length || gistOf(passed) !== gistOf(course.slice(0, length))) return met
    const itself = entry.told === undefined
      ? entries.find(({ trace }) => trace?.place === placeOf(entry.point))?.trace?.text
      : toldIn(entry.told, rename)
    if (itself !== undefined && itself !== course[length]!.text) return met
    met += 1
  }
  return met
}

/** The faults of a step that a run has met; after one that was noticed it may be anything. */
const cleared = (share: Share, met: number): Share =>
  met === share.length ? share : share.slice(0, Math.max(0, met - 1))

interface Queue {
  readonly renewing: Array<Share>
  readonly others: Array<Share>
}

/** The first of each step that go together, as many as can: up to some step what renews, from there on what does not. */
const draw = (queues: ReadonlyMap<number, Queue>): Pool["members"] => {
  const steps = [...queues.keys()].sort((a, b) => a - b)
  const chosen = (from: number) => {
    const found = steps.flatMap((step) => {
      const { others, renewing } = queues.get(step)!
      const queue = step < from ? renewing : others
      return queue.length === 0 ? [] : [[step, queue] as const]
    })
    return found[0]?.[0] === start ? found.filter(([step]) => step !== 0) : found
  }
  const left = (from: number) => chosen(from).reduce((sum, [, { length }]) => sum + length, 0)
  const [best] = [...steps, Infinity].sort((a, b) => chosen(b).length - chosen(a).length || left(b) - left(a))
  return new Map(chosen(best!).map(([step, queue]) => [step, queue.shift()!] as const))
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
const isSuspect = (run: Recording, reference: Reference, oracles: ReadonlyArray<Oracle>): boolean =>
  run.rests.some((rest) => rest === undefined) || Rests.astray(run, reference.rests) !== undefined ||
  views(run).some((view) => judge(oracles, view, reference) !== undefined)

/** The faults of a pool. */
export const singlesOf = ({ members }: Pool): Share => [...members.values()].flat()

/**
 * Smaller pools of what was not cleared: what nobody is to notice shares another run, but for the one that was noticed. The
 * other faults of the pool that were not cleared have to be run alone.
 */
export const again = ({ lived, members }: Pool, cleared: ReadonlySet<Single>): ReadonlyArray<Pool> =>
  [...members].flatMap(([step, share]) => {
    const done = share.findIndex((single) => !cleared.has(single))
    const left = cleared.size === 0 ? share : share.slice(done + 1)
    const less = left.length < singlesOf({ lived, members }).length
    return done >= 0 && left.length > 1 && less ? [{ lived, members: new Map([[step, left]]) }] : []
  })

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
    oracles: ReadonlyArray<Oracle>
  ) => ReadonlySet<Single>
}

/** Shares faults out among pools, in their order. */
export const make = (all: ReadonlyArray<Single>, recordingOf: (story: Story) => Recording): Pooling => {
  const known = new Map<string, Courses>()
  const expected = (lived: Story): Courses => {
    const courses = known.get(key(lived)) ?? coursesOf(recordingOf(lived))
    known.set(key(lived), courses)
    return courses
  }
  const alone: Array<Single> = []
  const sorts = new Map<string, { readonly lived: Story; readonly queues: Map<number, Queue> }>()
  const crowds = new Map<string, Array<Single>>()
  for (const single of all) {
    const { lived, point } = single
    const step = isApart(point) ? undefined : stepOf(expected(lived), point)
    if (step === undefined) {
      alone.push(single)
      continue
    }
    // Every other place: what is seen only by what comes next is not hidden by the same again.
    const crowd = `${key(lived)} ${step} ${point.fault} ${point.at % 2}`
    const joined = unnoticed.has(point.fault) ? crowds.get(crowd) : undefined
    if (joined !== undefined) {
      joined.push(single)
      continue
    }
    const share = [single]
    if (unnoticed.has(point.fault)) crowds.set(crowd, share)
    const sort = `${key(lived)} ${sortOf(point)}`
    const { queues } = sorts.get(sort) ?? { queues: new Map<number, Queue>() }
    const queue = queues.get(step) ?? { renewing: [], others: [] }
    sorts.set(sort, { lived, queues: queues.set(step, queue) })
    queue[renewing.has(point.fault) ? "renewing" : "others"].push(share)
  }
  for (const crowd of crowds.values()) crowd.sort((a, b) => a.point.at - b.point.at)
  const pools: Array<Pool> = []
  for (const { lived, queues } of sorts.values()) {
    for (let members = draw(queues); members.size > 0; members = draw(queues)) pools.push({ lived, members })
  }
  return {
    pools: pools.filter((pool) => singlesOf(pool).length > 1),
    alone: [...alone, ...pools.map(singlesOf).filter(({ length }) => length === 1).flat()],
    planOf: ({ lived, members }) => ({
      ...none,
      pooled: new Map(
        [...members].map(([step, share]) => [step, counted(expected(lived).get(step)!, share)] as const)
      )
    }),
    cleared: ({ lived, members }, run, reference, oracles) => {
      if (isSuspect(run, reference, oracles)) return new Set()
      const rename = renamerOf(run)
      return new Set(
        [...members].flatMap(([step, share]) =>
          cleared(share, metOf(run, rename, step, share, expected(lived).get(step)!))
        )
      )
    }
  }
}
