/**
 * `Explore`: which runs are made: every single fault within the budget, then random pairs and triples and other
 * interleavings.
 *
 * The reference is run first, twice with the same chance (if the two recordings differ, the program is not
 * deterministic) and once with another (what differs then is masked). Faults are drawn from its recording, and the
 * second fault of a pair from the recording of the run with the first, so that both are met. Nothing is left out
 * silently: what was found and what was run is counted by kind.
 */
import type { Scenario } from "../Scenario.ts"
import { calmStart } from "../oracles/Course.ts"
import { judge, strays } from "../oracles/Judge.ts"
import type { Oracle } from "../oracles/Oracle.ts"
import { sameEnd } from "../oracles/SameEnd.ts"
import { hastens, type Kind, none, type Plan, type Point } from "../recording/Fault.ts"
import type { Recording } from "../recording/Recording.ts"
import * as Reference from "../running/Reference.ts"
import * as Run from "../running/Run.ts"
import * as Rests from "../state/Rests.ts"
import { beginning, key, lengthOf, type Story, tell, whole } from "../story/Story.ts"
import * as Unchanged from "../story/Unchanged.ts"
import * as Variants from "../story/Variants.ts"
import { draw, hash } from "../world/Seed.ts"
import { type Coverage, timesRun } from "./Coverage.ts"
import { stratified } from "./Order.ts"
import * as Points from "./Points.ts"
import * as Pools from "./Pools.ts"
import * as Singles from "./Singles.ts"
import * as Halfway from "./Halfway.ts"
import type { Turns } from "./Turns.ts"

/** A run that an oracle complains about. */
export interface Divergence {
  readonly plan: Plan
  readonly seed: number
  readonly story: Story
  readonly oracle: string
  readonly complaint: string
  readonly recording: Recording
  readonly reference: Reference.Reference
}

/** One of several parts that together make all runs, for processes side by side. */
export interface Part {
  /** From 0. */
  readonly index: number
  readonly of: number
}

export interface Options {
  readonly seed: number
  /** Maximum number of runs, without references. */
  readonly runs: number
  /** Maximum number of faults in one run. */
  readonly depth: 1 | 2 | 3
  /** Runs in another order of tasks, without a fault. */
  readonly interleavings: number
  /** Maximum number of runs with several faults; by default as many as the remaining runs allow. */
  readonly deeper?: number | undefined
  /** Number of steps that a run with a fault lives through, beginning with the step of the fault; all by default. */
  readonly window?: number | undefined
  /** Whether single faults share runs: see `Pools`. */
  readonly pooled?: boolean | undefined
  /** Kinds of faults to run; all by default. */
  readonly faults?: ReadonlyArray<Kind> | undefined
  /** Which part of the runs to make; all by default. */
  readonly part?: Part | undefined
  readonly oracles: ReadonlyArray<Oracle>
  /** The coverage of stories that were explored before. */
  readonly earlier?: ReadonlyArray<Coverage> | undefined
  /** Whether to go on; called before each run. */
  readonly more: () => boolean
}

/** Requests and answers, as one string. */
const history = (run: Recording): string => {
  let text = ""
  for (const entry of run.entries) {
    if (entry._tag === "Call") text += `${entry.request.method}${entry.status},`
    else if (entry._tag === "Event") text += `${entry.type[0]},`
  }
  return text
}

/**
 * After this many faults, one run has another order of tasks, so that what that finds is found early too. Several
 * replicas overlap in no other run, and a run of them takes long: a short budget is over after ten.
 */
const between = (replicas: number): number => replicas > 1 ? 3 : 10

/**
 * The first of them comes after this many faults. In the plain order requests take no time, so a program that writes
 * down the time writes the same again, and does not wake itself.
 */
const before = 3

/** How many rests of a story are judged before the first fault; each takes runs of its own, so the others come in turns. */
const restsBefore = 2

/** How many first faults get further ones, each as many as the budget allows. */
const kept = 256

export interface Outcome {
  readonly reference: Reference.Reference
  readonly coverage: Coverage
  readonly runs: number
  readonly divergence: Divergence | undefined
}

/** Merges two lists evenly; each keeps its order. */
const spread = <A>(...lists: readonly [ReadonlyArray<A>, ReadonlyArray<A>]): ReadonlyArray<A> =>
  lists.flatMap((list) => list.map((item, index) => ({ item, place: index / list.length })))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)

/**
 * Explores until the first divergence, the end of the budget, or the end of the possible runs. Yields before each run.
 */
export function* explore(all: Scenario, options: Options, story: Story = whole(all)): Turns<Outcome> {
  const { depth, earlier = [], faults, interleavings, more, oracles, part = { index: 0, of: 1 }, runs: budget, seed } =
    options
  const { window } = options
  const replicas = all.replicas ?? 1
  const histories = new Set<number>()
  const allowed = (fault: Kind) =>
    (faults === undefined || faults.includes(fault)) && all.without?.includes(fault) !== true
  const wanted = ({ fault }: Point) => allowed(fault)
  let runs = 0
  let reordered = 0
  let deeper = 0
  let unmet = 0
  let pools = 0
  const byFault = new Map<string, { found: number; run: number }>()
  const kind = (point: Point) => {
    const entry = byFault.get(point.fault) ?? { found: 0, run: 0 }
    byFault.set(point.fault, entry)
    return entry
  }

  const references = new Map<string, Reference.Reference>()
  const referenceOf = (lived: Story): Reference.Reference => {
    const known = references.get(key(lived)) ??
      Reference.of(all, lived, seed, references.size === 0 && earlier.length === 0)
    references.set(key(lived), known)
    return known
  }
  const base = referenceOf(story)

  const played = (plan: Plan, lived: Story): Recording =>
    Run.run(tell(all, lived), plan, { seed, quiet: Run.defaults.shortQuiet, from: referenceOf(lived).from })

  const live = (plan: Plan, lived: Story): Recording => {
    const recording = played(plan, lived)
    runs += 1
    histories.add(hash(history(recording)))
    return recording
  }

  /**
   * A complaint about the run of a plan, with its recording; if the run went wrong at an intermediate rest, about the
   * story that ends there.
   */
  const attempt = (
    plan: Plan,
    lived: Story = story
  ): { readonly recording: Recording; readonly divergence: Divergence | undefined } => {
    const compared = referenceOf(lived)
    const recording = live(plan, lived)
    const found = judge(oracles, recording, compared)
    if (found !== undefined) {
      return { recording, divergence: { plan, seed, story: lived, recording, reference: compared, ...found } }
    }
    const astray = strays(recording, compared)
    return {
      recording,
      divergence: astray === undefined ? undefined : attempt(plan, beginning(lived, astray)).divergence
    }
  }

  const goesOn = (): boolean => runs < budget && more()

  /** A complaint about a story without faults: the run that others are compared with may be wrong itself. */
  const unhealthy = (lived: Story): Divergence | undefined => {
    const reference = referenceOf(lived)
    const { recording } = reference
    const found = judge(oracles, recording, reference)
    return found && { plan: none, seed, story: lived, recording, reference, ...found }
  }

  const asked: Singles.Options = {
    story,
    window,
    replicas,
    allowed,
    recordingOf: (lived) => referenceOf(lived).recording,
    isHealthy: (lived) => unhealthy(lived) === undefined
  }
  let single: ReadonlyArray<Singles.Single> = []
  const outcome = (divergence: Divergence | undefined, complete = false): Outcome => {
    const run = [...byFault.values()].reduce((sum, entry) => sum + entry.run, 0)
    return {
      reference: base,
      runs,
      divergence,
      coverage: {
        points: single.length,
        run,
        window,
        exhaustive: run === single.length,
        complete,
        byFault: Object.fromEntries(byFault),
        interleavings: reordered,
        pools,
        deeper,
        unmet,
        histories: histories.size,
        unchanged: Unchanged.fields(all, base.recording)
      }
    }
  }

  const told = Singles.stories(asked)
  // The end of the story may leave nothing to check, so the story without its end is checked too.
  const end = Variants.endOf(base.recording)
  for (const lived of end === undefined ? told : [...told, beginning(story, end)]) {
    yield
    const wrong = unhealthy(lived)
    if (wrong !== undefined) return outcome(wrong)
  }
  const halfways = Halfway.unlike(base)
  let halfway = halfways.next()
  let rested = 0
  /** Whether the story is right up to the next rest at which something may be left that a later step removes. */
  const rest = (): Divergence | undefined => {
    const steps = halfway.value
    const isMine = rested++ % part.of === part.index
    const wrong = steps === undefined || steps === end || !isMine ? undefined : unhealthy(beginning(story, steps))
    halfway = halfways.next()
    return wrong
  }
  for (let turn = 0; turn < restsBefore && halfway.done !== true; turn++) {
    yield
    const wrong = rest()
    if (wrong !== undefined) return outcome(wrong)
  }
  single = Singles.of(asked)
  for (const { point } of single) kind(point).found += 1
  const deepened = new Set(told.map(key))
  const mine = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> => all.filter((_, turn) => turn % part.of === part.index)
  const ordered = stratified(single, asked.recordingOf, timesRun(earlier))
  const firsts = depth === 1 ? [] : mine(ordered).filter(({ lived }) => deepened.has(key(lived))).slice(0, kept)
  const ran = new Set<Singles.Single>()
  const count = (one: Singles.Single): void => {
    if (!ran.has(one)) kind(one.point).run += 1
    ran.add(one)
  }
  /** What may go wrong after each first fault. */
  const further = new Map<Singles.Single, ReadonlyArray<Point>>()
  const seenAnew = new Set<string>()
  /**
   * A complaint about the result of haste that differs from the result without haste, when a fresh process looks at it.
   * What only a fresh process notices is not judged otherwise, because haste excuses it.
   */
  const lookedAtAnew = ({ lived, point }: Singles.Single, recording: Recording): Divergence | undefined => {
    if (!hastens(point) || recording.hurried.length === 0 || !allowed("restarted")) return undefined
    const reference = referenceOf(lived)
    const astray = Rests.astray(recording, reference.rests)
    const differs = astray === undefined ? sameEnd.judge(recording, reference) : ""
    if (differs === undefined) return undefined
    const seen = astray === undefined ? lived : beginning(lived, astray)
    const what = [key(seen), point.fault, recording.hurried, differs].join("\n")
    if (seenAnew.has(what) || !goesOn()) return undefined
    seenAnew.add(what)
    const restarted: Point = { _tag: "Step", at: lengthOf(seen), fault: "restarted" }
    const plan: Plan = { points: [point, restarted], interleaving: 0 }
    // This run is part of judging the run with one fault, so it is not counted.
    const [compared, another] = [referenceOf(seen), played(plan, seen)]
    // A story that was to continue is judged by nothing else: the result of haste there is not its end.
    const found = judge(oracles.filter(({ name }) => name === calmStart.name), another, compared)
    return found && { plan, seed, story: seen, recording: another, reference: compared, ...found }
  }
  const alone = (one: Singles.Single): Divergence | undefined => {
    const { lived, point } = one
    const { divergence, recording } = attempt({ points: [point], interleaving: 0 }, lived)
    count(one)
    if (firsts.includes(one)) {
      const after = Points.of(recording, replicas, Points.reached(point, recording))
      further.set(one, after.filter((next) => wanted(next) && Singles.isFurther(next, lived, story)))
    }
    return divergence ?? lookedAtAnew(one, recording)
  }

  // After any fault it is chance which of several replicas leads, so few faults would be met as they are when alone.
  const pooled = options.pooled === true && replicas === 1
  const pooling = Pools.make(pooled ? ordered : [], asked.recordingOf)
  /** The faults of a pool that must be run alone. */
  const suspects = (pool: Pools.Pool): ReadonlyArray<Singles.Single> => {
    if (!goesOn()) return Pools.singlesOf(pool)
    pools += 1
    const recording = live(pooling.planOf(pool), pool.lived)
    const cleared = pooling.cleared(pool, recording, referenceOf(pool.lived), oracles)
    cleared.forEach(count)
    const smaller = Pools.again(pool, cleared)
    const left = new Set(Pools.singlesOf(pool).filter((one) => !cleared.has(one)))
    for (const one of smaller.flatMap(Pools.singlesOf)) left.delete(one)
    return [...left, ...smaller.flatMap(suspects)]
  }
  // A short budget gets some of both: no kind of fault waits for all pools.
  const turns = spread(
    mine(pooling.pools).map((pool) => () => suspects(pool)),
    mine(pooled ? pooling.alone : ordered).map((one) => () => [one])
  )
  const orders = mine(Array.from({ length: interleavings }, (_, turn) => 1 + draw(seed, turn, 1_000_000)))
  const reorder = (): Divergence | undefined => {
    const { divergence } = attempt({ points: [], interleaving: orders[reordered]! })
    reordered += 1
    return divergence
  }
  for (const [index, turn] of turns.entries()) {
    yield
    if (!goesOn()) return outcome(undefined)
    for (const one of turn()) {
      yield
      if (!goesOn()) return outcome(undefined)
      const divergence = alone(one)
      if (divergence !== undefined) return outcome(divergence)
    }
    if (halfway.done !== true) {
      yield
      const wrong = rest()
      if (wrong !== undefined) return outcome(wrong)
    }
    if ((index + 1 - before) % between(replicas) !== 0 || reordered === orders.length || !goesOn()) continue
    const divergence = reorder()
    if (divergence !== undefined) return outcome(divergence)
  }
  while (halfway.done !== true) {
    yield
    if (!goesOn()) return outcome(undefined)
    const wrong = rest()
    if (wrong !== undefined) return outcome(wrong)
  }
  while (reordered < orders.length) {
    yield
    if (!goesOn()) return outcome(undefined)
    const divergence = reorder()
    if (divergence !== undefined) return outcome(divergence)
  }
  if (firsts.length === 0) return outcome(undefined, true)
  const { deeper: most = Infinity } = options
  for (let turn = part.index; turn < most; turn += part.of) {
    yield
    // Without a number, as many runs are made as the budget allows.
    if (!goesOn()) return outcome(undefined, most === Infinity)
    const first = firsts[draw(seed, 3 * turn, firsts.length)]!
    const wrong = further.has(first) ? undefined : alone(first)
    if (wrong !== undefined) return outcome(wrong)
    const next = further.get(first)!
    let chosen: ReadonlyArray<Point> = [first.point]
    if (next.length > 0) chosen = [...chosen, next[draw(seed, 3 * turn + 1, next.length)]!]
    if (depth > 2 && next.length > 1 && turn % 2 === 1) {
      chosen = [...chosen, next[draw(seed, 3 * turn + 2, next.length)]!]
    }
    const plan = { points: Points.distinct(chosen), interleaving: turn % 3 === 0 ? 0 : 1 + draw(seed, turn, 1_000_000) }
    deeper += 1
    const { divergence, recording } = attempt(plan, first.lived)
    if (recording.met < plan.points.length) unmet += 1
    if (divergence !== undefined) return outcome(divergence)
  }
  return outcome(undefined, true)
}
