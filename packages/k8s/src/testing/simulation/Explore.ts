/**
 * Which runs are made: every single fault there is room for, then pairs and triples and other interleavings by chance.
 *
 * The reference is run first, twice with the same chance (two recordings that differ show a program that does not do
 * the same twice) and once with other (what differs then is masked). Faults are drawn from its recording, those of a
 * pair from the recording of the run with the first fault, so that both are met. Nothing is left out in silence: what
 * was found and what was run is counted by kind.
 */
import { isTerminating } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Canonical from "./Canonical.ts"
import * as Drawn from "./Drawn.ts"
import { precious } from "./Course.ts"
import {
  allClockFaults,
  allEventFaults,
  allExternalFaults,
  allStepFaults,
  applicable,
  isEvent,
  type Kind,
  none,
  type Plan,
  type Point
} from "./Fault.ts"
import * as Oracle from "./Oracle.ts"
import type { Call, Entry, Recording } from "./Recording.ts"
import * as Run from "./Run.ts"
import type { Scenario, Step } from "./Scenario.ts"
import { draw, hash } from "./Seed.ts"
import { isReplaced } from "./Stage.ts"
import { beginning, key, type Story, tell, whole } from "./Story.ts"

/** A run that an oracle complains about. */
export interface Divergence {
  readonly plan: Plan
  readonly seed: number
  readonly story: Story
  readonly oracle: string
  readonly complaint: string
  readonly recording: Recording
  readonly reference: Oracle.Reference
}

/** How much was explored, by kind of fault. */
export interface Coverage {
  /** Single faults there are, and how many of them were run. */
  readonly points: number
  readonly run: number
  /** Every single fault was run. */
  readonly exhaustive: boolean
  /** Nothing that was asked for (this part of it, where there are parts) is left for want of runs or of time. */
  readonly complete: boolean
  readonly byFault: Readonly<Record<string, { readonly found: number; readonly run: number }>>
  /** Runs without a fault, in another order of tasks. */
  readonly interleavings: number
  /** Runs with several faults. */
  readonly deeper: number
  /** Of those, runs in which an earlier fault changed the way, so that a later one was not met. */
  readonly unmet: number
  /** Different histories of requests and answers that were seen. */
  readonly histories: number
}

/** One of several parts, which together make all runs: for processes side by side. */
export interface Part {
  /** From 0. */
  readonly index: number
  readonly of: number
}

export interface Options {
  readonly seed: number
  /** Runs at most, references aside. */
  readonly runs: number
  /** Faults in one run at most. */
  readonly depth: 1 | 2 | 3
  /** Runs in another order of tasks, without a fault. */
  readonly interleavings: number
  /** Runs with several faults at most; as many as there are runs for by default. */
  readonly deeper?: number | undefined
  /** Kinds of faults to run; all by default. */
  readonly faults?: ReadonlyArray<Kind> | undefined
  /** Every how-manieth run is made, from which on; all by default. */
  readonly part?: Part | undefined
  readonly oracles: ReadonlyArray<Oracle.Oracle>
  /** Whether to go on: asked before each run. */
  readonly more: () => boolean
}

const trace = (run: Recording): ReadonlyArray<string> => run.entries.map((entry) => JSON.stringify(entry))

/** Where two runs of the same seed differ. */
const unlike = (a: Recording, b: Recording): string | undefined => {
  const [first, second] = [trace(a), trace(b)]
  const differs = first.findIndex((entry, index) => entry !== second[index])
  if (differs < 0 && first.length === second.length) return undefined
  const at = differs < 0 ? first.length : differs
  const shown = (entries: ReadonlyArray<string>) => (entries[at] ?? "nothing").slice(0, 300)
  return "two runs with the same seed differ: the program keeps something from one run to the next, or asks the real " +
    `world. First in ${shown(first)}\ninstead of ${shown(second)}`
}

/** The run without faults, and what chance decides in it. */
export const reference = (scenario: Scenario, seed: number): Oracle.Reference => {
  const recording = Run.run(scenario, none, { seed })
  const hasty = hastyOf(scenario, seed)
  if (recording.failure !== undefined) {
    return { recording, mask: new Set(), state: new Map(), censuses: [], tied: [], unlike: undefined, hasty }
  }
  const again = Run.run(scenario, none, { seed })
  const other = Run.run(scenario, none, { seed: seed + 1, quiet: Run.defaults.shortQuiet })
  const mask = Canonical.mask(recording, other)
  const tied = Drawn.tied(recording, other, mask)
  const state = Canonical.state(recording, mask)
  const censuses = Canonical.censuses(recording)
  return { recording, mask, state, censuses, tied, unlike: unlike(recording, again), hasty }
}

/** The story with some steps taken together with the ones before them, so that the operator sees what both came to. */
const hastened = ({ steps, ...scenario }: Scenario, taken: ReadonlyArray<number>): Scenario => {
  const out: Array<Step> = []
  for (const [index, step] of steps.entries()) {
    const earlier = taken.includes(index) ? out.pop() : undefined
    out.push(earlier === undefined ? step : { ...step, act: Effect.andThen(earlier.act, Effect.ignore(step.act)) })
  }
  return { ...scenario, steps: out }
}

/** References of hasty stories, each made when it is first asked for. */
const hastyOf = (scenario: Scenario, seed: number): Oracle.Reference["hasty"] => {
  const known = new Map<string, Oracle.Reference>()
  return (steps) => {
    const key = steps.join()
    const found = known.get(key) ?? reference(hastened(scenario, steps), seed)
    known.set(key, found)
    return found
  }
}

/** How far a run has come: the numbers of its last request, event, outside call and step. */
interface Reach {
  readonly call: number
  readonly event: number
  readonly external: number
  readonly step: number
}

const start: Reach = { call: 0, event: 0, external: 0, step: 0 }

/**
 * For each step whether it can come at any time: it changes a custom resource, and not what the operator has made of
 * it, which may not be there yet.
 */
const urgentSteps = ({ entries, kinds, steps }: Recording): ReadonlyArray<boolean> =>
  steps.map((begin) => {
    const first = entries.find((entry) => entry._tag === "Change" && entry.at >= begin)
    return first?._tag === "Change" && kinds.includes(first.change.object.kind)
  })

/** For each step whether it deletes a custom resource. */
const deletingSteps = ({ entries, kinds, steps }: Recording): ReadonlyArray<boolean> =>
  steps.map((begin) => {
    const first = entries.find((entry) => entry._tag === "Change" && entry.at >= begin)
    if (first?._tag !== "Change" || !kinds.includes(first.change.object.kind)) return false
    return first.change.type === "DELETED" || isTerminating(first.change.object)
  })

/** After how many steps the story's end has begun, in which what there was is deleted; undefined if it has no such end. */
const endOf = (run: Recording): number | undefined => {
  const deleting = deletingSteps(run)
  const lives = deleting.lastIndexOf(false) + 1
  return lives > 1 && lives < deleting.length ? lives : undefined
}

/**
 * Stories in which an object is deleted sooner than people think: those between the step it is changed in and the one it
 * is deleted in are left out. Each with the number of that first step, whose requests do not wait for.
 */
const sooner = (run: Recording, story: Story): ReadonlyArray<{ readonly step: number; readonly story: Story }> => {
  if (story.changes.length > 0) return []
  const deleting = deletingSteps(run)
  return deleting.flatMap((deletes, step) => {
    const next = deleting.indexOf(true, step + 1)
    if (deletes || next <= step + 1) return []
    return [{ step, story: { ...story, steps: [...story.steps.slice(0, step + 1), ...story.steps.slice(next)] } }]
  })
}

/** Faults after which the next step does not wait. */
const impatient: ReadonlyArray<Kind> = ["hurried", "externalHurried"]

const allDone = ({ entries }: Recording): boolean =>
  !entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)

/** Data, which is not the same again, and Pods, which have faults of their own. */
const spared: ReadonlySet<string> = new Set([...precious, "Pod"])

/**
 * Whether a request has made something for a custom resource that is still there when the cluster comes to rest, and that
 * the operator watches: who sees it come has to see it go. Who looks at nothing it makes is another matter.
 */
const isLeft = ({ entries, kinds, steps }: Recording, { at, object, status }: Call): boolean => {
  if (status !== 201 || object === undefined || spared.has(object.kind)) return false
  // What nobody owns is nobody's to watch.
  if (object.metadata.ownerReferences?.some(({ kind }) => kinds.includes(kind)) !== true) return false
  const { uid } = object.metadata
  if (!entries.some((entry) => entry._tag === "Event" && entry.object.metadata.uid === uid)) return false
  const next = steps.find((begin) => begin > at) ?? Infinity
  return !entries.some((entry) =>
    entry._tag === "Change" && entry.at >= at && entry.at < next &&
    entry.change.object.metadata.uid === uid && isTerminating(entry.change.object)
  )
}

/** Every single fault that a recording has room for, after the faults it was made with. */
export const points = (run: Recording, replicas: number, after: Reach = start): ReadonlyArray<Point> => {
  const urgent = urgentSteps(run)
  // Who holds an object by a finalizer makes the next step wait for it.
  const pods = run.entries.some((entry) =>
    entry._tag === "Change" && entry.change.type === "ADDED" && entry.change.object.kind === "Pod" &&
    isReplaced(run.entries, entry.change.object)
  )
  const steps = allStepFaults.filter((fault) => pods || (fault !== "podFailed" && fault !== "podRemoved"))
  const held = run.entries.some((entry) => entry._tag === "Fault" && entry.point.fault === "guarded")
  return [
    ...run.entries.flatMap((entry): ReadonlyArray<Point> => {
      const hurries = !held && urgent[run.steps.findIndex((begin) => begin > entry.at)] === true
      if (entry._tag === "Call" && entry.n > after.call) {
        return applicable(entry.request, replicas).filter((fault) =>
          fault === "hurried" ? hurries : fault !== "removed" || isLeft(run, entry)
        ).map((fault) => ({ _tag: "Call", at: entry.n, fault }))
      }
      if (entry._tag === "Event" && entry.n > after.event) {
        return allEventFaults.map((fault) => ({ _tag: "Event", at: entry.n, fault }))
      }
      if (entry._tag === "External" && entry.n > after.external) {
        return allExternalFaults.filter((fault) => fault !== "externalHurried" || hurries)
          .map((fault) => ({ _tag: "External", at: entry.n, fault }))
      }
      return []
    }),
    ...run.steps.flatMap((_, step) =>
      step + 1 > after.step ? steps.map((fault): Point => ({ _tag: "Step", at: step + 1, fault })) : []
    ),
    ...(replicas > 1 && after === start
      ? Array.from(
        { length: replicas },
        (_, at) => allClockFaults.map((fault): Point => ({ _tag: "Clock", at, fault }))
      )
      : []).flat()
  ]
}

/** How much a fault at a point tells: most at a write, least where nothing is at stake. */
const weight = (point: Point, entry: Entry | undefined): number => {
  if (point._tag === "Clock" || point._tag === "External" || point._tag === "Step") return 0
  if (entry?._tag === "Call") return entry.request.method === "GET" ? 2 : isEvent(entry.request.path) ? 3 : 0
  return 1
}

/** Kinds that find more than others do: what is half done, refused, or found again by another process. */
const telling: ReadonlySet<Kind> = new Set<Kind>([
  "crashAfter",
  "crashAway",
  "serverError",
  "conflict",
  "cutOff",
  "restarted"
])

/** How many of a telling kind are run for one of another. */
const ahead = 3

/** A single fault, and the story it comes in. */
interface Single {
  readonly point: Point
  readonly lived: Story
}

/** The faults in an order that has every kind early, in each story some in turn, those that tell most first. */
const stratified = (all: ReadonlyArray<Single>, run: Recording): ReadonlyArray<Single> => {
  const places = new Map(run.entries.flatMap((entry) => "n" in entry ? [[`${entry._tag} ${entry.n}`, entry]] : []))
  const ordered = all.map((single) => {
    const { point } = single
    return { single, weight: weight(point, places.get(`${point._tag} ${point.at}`)) }
  }).sort((a, b) => a.weight - b.weight)
  const byFault = new Map<string, Array<Single>>()
  for (const { single } of ordered) {
    const name = `${single.point.fault} ${key(single.lived)}`
    const group = byFault.get(name)
    if (group === undefined) byFault.set(name, [single])
    else group.push(single)
  }
  const out: Array<Single> = []
  for (let round = 0; out.length < all.length; round++) {
    for (const group of byFault.values()) {
      const many = telling.has(group[0]!.point.fault) ? ahead : 1
      out.push(...group.slice(round * many, (round + 1) * many))
    }
  }
  return out
}

/** How far a run had come at its fault. */
const reached = (point: Point, recording: Recording): Reach => {
  let { call, event, external, step } = start
  if (point._tag === "Clock") return { ...start }
  for (const entry of recording.entries) {
    if (entry._tag === "Call") call = entry.n
    if (entry._tag === "Event") event = entry.n
    if (entry._tag === "External") external = entry.n
    if (entry._tag === "Step") step += 1
    if (entry._tag === "Fault" && entry.point.at === point.at && entry.point._tag === point._tag) break
  }
  return { call, event, external, step }
}

const distinct = (points: ReadonlyArray<Point>): ReadonlyArray<Point> => [
  ...new Map(points.map((point) => [`${point._tag} ${point.at}`, point])).values()
]

/** Requests and answers in a word. */
const history = (run: Recording): string => {
  let text = ""
  for (const entry of run.entries) {
    if (entry._tag === "Call") text += `${entry.request.method}${entry.status},`
    else if (entry._tag === "Event") text += `${entry.type[0]},`
  }
  return text
}

/** First faults that further ones are drawn after, each with as many of those as a run has room for. */
const kept = 256

export interface Outcome {
  readonly reference: Oracle.Reference
  readonly coverage: Coverage
  readonly runs: number
  readonly divergence: Divergence | undefined
}

/** Explores until the first divergence, the budget's end, or the end of what there is. */
export const explore = (all: Scenario, options: Options, story: Story = whole(all)): Outcome => {
  const scenario = tell(all, story)
  const { depth, faults, interleavings, more, oracles, part = { index: 0, of: 1 }, runs: budget, seed } = options
  const replicas = scenario.replicas ?? 1
  const base = reference(scenario, seed)
  const histories = new Set<number>()
  const allowed = (fault: Kind) =>
    (faults === undefined || faults.includes(fault)) && scenario.without?.includes(fault) !== true
  const wanted = ({ fault }: Point) => allowed(fault)
  let runs = 0
  let reordered = 0
  let deeper = 0
  let unmet = 0
  const byFault = new Map<string, { found: number; run: number }>()
  const kind = (point: Point) => {
    const entry = byFault.get(point.fault) ?? { found: 0, run: 0 }
    byFault.set(point.fault, entry)
    return entry
  }

  const references = new Map([[key(story), base]])
  const referenceOf = (lived: Story): Oracle.Reference => {
    const known = references.get(key(lived)) ?? reference(tell(all, lived), seed)
    references.set(key(lived), known)
    return known
  }

  /** A complaint about the run of a plan, and its recording. */
  const attempt = (
    plan: Plan,
    lived: Story = story
  ): { readonly recording: Recording; readonly divergence: Divergence | undefined } => {
    runs += 1
    const compared = referenceOf(lived)
    const recording = Run.run(tell(all, lived), plan, { seed, quiet: Run.defaults.shortQuiet })
    histories.add(hash(history(recording)))
    const found = Oracle.judge(oracles, recording, compared)
    if (found !== undefined) {
      return { recording, divergence: { plan, seed, story: lived, recording, reference: compared, ...found } }
    }
    const astray = Oracle.strays(recording, compared)
    return {
      recording,
      divergence: astray === undefined ? undefined : attempt(plan, beginning(lived, astray)).divergence
    }
  }

  const goesOn = (): boolean => runs < budget && more()

  const single: Array<Single> = []
  const add = (more: ReadonlyArray<Single>): void => {
    for (const { point } of more) kind(point).found += 1
    single.unshift(...more)
  }
  add(points(base.recording, replicas).filter(wanted).map((point) => ({ point, lived: story })))
  const outcome = (divergence: Divergence | undefined, complete = false): Outcome => {
    const run = [...byFault.values()].reduce((sum, entry) => sum + entry.run, 0)
    return {
      reference: base,
      runs,
      divergence,
      coverage: {
        points: single.length,
        run,
        exhaustive: run === single.length,
        complete,
        byFault: Object.fromEntries(byFault),
        interleavings: reordered,
        deeper,
        unmet,
        histories: histories.size
      }
    }
  }

  /** A complaint about a story without faults: what others are compared with may be wrong itself. */
  const healthy = (lived: Story): Divergence | undefined => {
    const { recording } = referenceOf(lived)
    const found = Oracle.judge(oracles, recording, referenceOf(lived))
    return found && { plan: none, seed, story: lived, recording, reference: referenceOf(lived), ...found }
  }
  // In the end nothing may be left to look at.
  const end = endOf(base.recording)
  const wrong = healthy(story) ?? (end === undefined ? undefined : healthy(beginning(story, end)))
  if (wrong !== undefined) return outcome(wrong)
  for (const { step, story: lived } of impatient.some(allowed) ? sooner(base.recording, story) : []) {
    // Where steps rest upon those that are left out, nobody can tell what is right.
    const { recording } = referenceOf(lived)
    if (!allDone(recording) || healthy(lived) !== undefined) continue
    const [from = 0, to = 0] = recording.steps.slice(step)
    const during = points(recording, replicas).filter((point) =>
      impatient.includes(point.fault) && wanted(point) &&
      recording.entries.some((entry) =>
        entry._tag === point._tag && "n" in entry && entry.n === point.at && entry.at >= from && entry.at < to
      )
    )
    add(during.map((point) => ({ point, lived })))
  }
  const firsts: Array<{ readonly point: Point; readonly further: ReadonlyArray<Point> }> = []
  for (const [turn, { lived, point }] of stratified(single, base.recording).entries()) {
    if (turn % part.of !== part.index) continue
    if (!goesOn()) return outcome(undefined)
    const { divergence, recording } = attempt({ points: [point], interleaving: 0 }, lived)
    kind(point).run += 1
    if (divergence !== undefined) return outcome(divergence)
    if (firsts.length < kept && depth > 1 && lived === story) {
      firsts.push({ point, further: points(recording, replicas, reached(point, recording)).filter(wanted) })
    }
  }
  for (let turn = part.index; turn < interleavings; turn += part.of) {
    if (!goesOn()) return outcome(undefined)
    const { divergence } = attempt({ points: [], interleaving: 1 + draw(seed, turn, 1_000_000) })
    reordered += 1
    if (divergence !== undefined) return outcome(divergence)
  }
  if (firsts.length === 0) return outcome(undefined, true)
  const { deeper: most = Infinity } = options
  for (let turn = part.index; turn < most; turn += part.of) {
    // Without a number as many are asked for as there is room for.
    if (!goesOn()) return outcome(undefined, most === Infinity)
    const { further, point } = firsts[draw(seed, 3 * turn, firsts.length)]!
    let chosen: ReadonlyArray<Point> = [point]
    if (further.length > 0) chosen = [...chosen, further[draw(seed, 3 * turn + 1, further.length)]!]
    if (depth > 2 && further.length > 1 && turn % 2 === 1) {
      chosen = [...chosen, further[draw(seed, 3 * turn + 2, further.length)]!]
    }
    const plan = { points: distinct(chosen), interleaving: turn % 3 === 0 ? 0 : 1 + draw(seed, turn, 1_000_000) }
    deeper += 1
    const { divergence, recording } = attempt(plan)
    if (recording.met < plan.points.length) unmet += 1
    if (divergence !== undefined) return outcome(divergence)
  }
  return outcome(undefined, true)
}

/** What several stories came to. */
export const joined = (parts: ReadonlyArray<Coverage>): Coverage => {
  const byFault: Record<string, { readonly found: number; readonly run: number }> = {}
  for (const part of parts) {
    for (const [kind, { found, run }] of Object.entries(part.byFault)) {
      const before = byFault[kind] ?? { found: 0, run: 0 }
      byFault[kind] = { found: before.found + found, run: before.run + run }
    }
  }
  const sum = (of: (part: Coverage) => number) => parts.reduce((total, part) => total + of(part), 0)
  return {
    points: sum(({ points }) => points),
    run: sum(({ run }) => run),
    exhaustive: parts.every(({ exhaustive }) => exhaustive),
    complete: parts.every(({ complete }) => complete),
    byFault,
    interleavings: sum(({ interleavings }) => interleavings),
    deeper: sum(({ deeper }) => deeper),
    unmet: sum(({ unmet }) => unmet),
    histories: sum(({ histories }) => histories)
  }
}

/** What the parts of one exploration came to; of histories what the part saw that saw most, as others may be the same. */
export const together = (parts: ReadonlyArray<Coverage>): Coverage => {
  const sum = joined(parts)
  const points = sum.points / parts.length
  const byFault = Object.fromEntries(
    Object.entries(sum.byFault).map(([kind, { found, run }]) => [kind, { found: found / parts.length, run }])
  )
  const histories = Math.max(0, ...parts.map(({ histories }) => histories))
  return { ...sum, points, byFault, histories, exhaustive: sum.run === points }
}
