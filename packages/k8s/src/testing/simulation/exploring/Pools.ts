/**
 * `Pools`: single faults that share a run of the whole story, most of them in different steps.
 *
 * This is group testing (Dorfman, 1943): if no oracle complains about a run with a fault in one step and another in a
 * later one, there is nothing to complain about either. A run that causes a complaint, or whose state at any rest
 * differs from that without faults, proves nothing: its faults are run alone, each as if it had never been in a pool.
 * So is a fault that was not met where it is met alone: after the same requests, answers and events of its step.
 *
 * A step can have many faults that should go unnoticed: as long as they do, each is met where it is met alone.
 *
 * No fault of a pool excuses another: for each fault after which oracles are lenient, they judge as if there were no
 * others. Nor does one heal another, as far as can be determined: what makes a process forget or reread what it has
 * seen comes before what it may have missed. Two faults that undo each other are not found together.
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

/** The beginning of a story: before the first step, nothing comes to rest. */
const start = -1

/** Faults that share a run, by their step: from 0, or -1 before the first. */
export interface Pool {
  readonly lived: Story
  readonly members: ReadonlyMap<number, Share>
}

/** The faults of one step in a shared run, in order: a single one, or many that should go unnoticed. */
type Share = ReadonlyArray<Single>

/** Faults that should go unnoticed. */
const unnoticed: ReadonlySet<Kind> = new Set<Kind>(["watchClosed", "watchDuplicated"])

/**
 * Faults that cannot be combined with others: they change the time of the next step, their effects stay, or they show
 * at a rest.
 */
const apart: ReadonlySet<Kind> = new Set<Kind>(["hurried", "forestalled", "externalHurried", "orphaned", "removed"])

/**
 * Whether a fault cannot be combined with others. Faults at the time around a step exist once per step and kind, and
 * each changes how the operator lives from there to the end: with a memory that begins at that rest, or with one that
 * has experienced such a fault.
 */
const isApart = ({ _tag, fault }: Point): boolean => _tag === "Step" || _tag === "Clock" || apart.has(fault)

/** Faults after which a process restarts or lists again. */
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

/** The sort of faults after which no oracle is lenient. */
const strict = "strict"

/** Faults that oracles look for, each in a different way. */
const lenient: ReadonlySet<Kind> = new Set<Kind>(["podFailed", "podRemoved"])

/** The sort of a fault: oracles are lenient in the same way after all faults of a sort. */
const sortOf = (point: Point): string =>
  blinds(point)
    ? "blinding"
    : lenient.has(point.fault)
    ? point.fault
    : strict

/** Something that an operator did or received. */
interface Trace {
  readonly at: number
  readonly place: string
  /** What it was about, with names as in every run and without the numbers of replicas, which all do the same. */
  readonly text: string
  /** The part of the text that matters for what follows: not what people are told, and whether it is the first time. */
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
      // The name of an Event is the time of the first occurrence.
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

/** What happened, as one string. Which watch is the first to report what happened at one time is chance. */
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

/** What happened from the time a step was taken until the next one was. */
const within = ({ entries, steps }: Recording, step: number): ReadonlyArray<Entry> => {
  const [from = 0, to = Infinity] = [steps[step], steps[step + 1]]
  return entries.filter(({ at }) => at >= from && at < to)
}

/** What an operator did and received without faults between one step and the next. */
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

/** How many traces of a step come before a point; -1 if the point is not in the step. */
const before = (course: Course, point: Point): number => course.findIndex(({ place }) => place === placeOf(point))

/** The step of a point. */
const stepOf = (courses: Courses, point: Point): number | undefined =>
  [...courses].find(([, course]) => before(course, point) >= 0)?.[0]

/** The points of a step's share, with numbers counted from the beginning of the step. */
const counted = (course: Course, share: Share): ReadonlyArray<Point> => {
  let ended = 0
  return share.map(({ point }) => {
    const sort = `${point._tag} `
    const at = 1 + ended + course.slice(0, before(course, point)).filter(({ place }) => place.startsWith(sort)).length
    // What a watch had left when it ended, the next watch delivers.
    if (point.fault === "watchClosed") ended += 1
    return { ...point, at }
  })
}

/** How many of the faults of a step, from the first on, a run met where they are met alone. */
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

/** The faults of a step that are cleared by a run; after one that was noticed, anything may have happened. */
const cleared = (share: Share, met: number): Share =>
  met === share.length ? share : share.slice(0, Math.max(0, met - 1))

interface Queue {
  readonly renewing: Array<Share>
  readonly others: Array<Share>
}

/**
 * The first faults of each step that can be combined, as many as possible: renewing ones up to some step, and others
 * from there on.
 */
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

/** A run as if it had only one of its faults, for each fault after which oracles are lenient. */
const views = (run: Recording): ReadonlyArray<Recording> => {
  const faults = run.entries.filter((entry) => entry._tag === "Fault")
  if (faults.every(({ point }) => sortOf(point) === strict)) return [{ ...run, met: Math.min(run.met, 1) }]
  return faults.map((own) => ({
    ...run,
    met: 1,
    entries: run.entries.filter((entry) => entry._tag !== "Fault" || entry === own)
  }))
}

/** Whether an oracle complains about a run, or would if it had only one of its faults. */
const isSuspect = (run: Recording, reference: Reference, oracles: ReadonlyArray<Oracle>): boolean =>
  run.rests.some((rest) => rest === undefined) || Rests.astray(run, reference.rests) !== undefined ||
  views(run).some((view) => judge(oracles, view, reference) !== undefined)

/** The faults of a pool. */
export const singlesOf = ({ members }: Pool): Share => [...members.values()].flat()

/**
 * Smaller pools of what was not cleared: faults that should go unnoticed share another run, except the one that was
 * noticed. The other uncleared faults of the pool must be run alone.
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
  /** Faults that cannot be combined with others. */
  readonly alone: ReadonlyArray<Single>
  readonly planOf: (pool: Pool) => Plan
  /** The faults of a pool that its run has met without ill effects; none if an oracle complains. */
  readonly cleared: (
    pool: Pool,
    run: Recording,
    reference: Reference,
    oracles: ReadonlyArray<Oracle>
  ) => ReadonlySet<Single>
}

/** Distributes faults over pools, in order. */
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
    // Every other place: a repetition of the same fault must not hide what only the following events show.
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
