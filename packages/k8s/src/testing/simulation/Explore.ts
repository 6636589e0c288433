/**
 * Which runs are made: every single fault there is room for, then pairs and triples and other interleavings by chance.
 *
 * The reference is run first, twice with the same chance (two recordings that differ show a program that does not do
 * the same twice) and twice with other (what differs then is masked). Faults are drawn from its recording, those of a
 * pair from the recording of the run with the first fault, so that both are met.
 */
import * as Canonical from "./Canonical.ts"
import { allEventFaults, applicable, none, type Plan, type Point } from "./Fault.ts"
import * as Oracle from "./Oracle.ts"
import type { Recording } from "./Recording.ts"
import * as Run from "./Run.ts"
import type { Scenario } from "./Scenario.ts"

/** A run that an oracle complains about. */
export interface Divergence {
  readonly plan: Plan
  readonly seed: number
  readonly steps: ReadonlyArray<number>
  readonly oracle: string
  readonly complaint: string
  readonly recording: Recording
  readonly reference: Oracle.Reference
}

/** How much was explored, by kind of fault. */
export interface Coverage {
  readonly points: number
  readonly run: number
  /** Every single fault was run. */
  readonly exhaustive: boolean
  readonly byFault: Readonly<Record<string, { readonly found: number; readonly run: number }>>
  readonly deeper: number
  /** Faults of deeper plans that were not met, because an earlier one changed the way. */
  readonly unmet: number
}

export interface Options {
  readonly seed: number
  /** Runs at most, references aside. */
  readonly runs: number
  /** Faults in one run at most. */
  readonly depth: 1 | 2 | 3
  readonly oracles: ReadonlyArray<Oracle.Oracle>
  /** Whether to go on: asked before each run. */
  readonly more: () => boolean
}

/** Two runs of the same seed that are not the same. */
export class Nondeterministic extends Error {
  override readonly name = "Nondeterministic"
}

const trace = (run: Recording): ReadonlyArray<string> => run.entries.map((entry) => JSON.stringify(entry))

/** The run without faults, and what chance decides in it. Throws `Nondeterministic`. */
export const reference = (scenario: Scenario, seed: number): Oracle.Reference => {
  const recording = Run.run(scenario, none, { seed })
  const again = Run.run(scenario, none, { seed })
  const [first, second] = [trace(recording), trace(again)]
  const differs = first.findIndex((entry, index) => entry !== second[index])
  if (differs >= 0 || first.length !== second.length) {
    const at = differs >= 0 ? differs : Math.min(first.length, second.length)
    throw new Nondeterministic(
      "two runs with the same seed differ: the operator uses real time, real chance or real I/O. First in " +
        `${(first[at] ?? "nothing").slice(0, 300)}\ninstead of ${(second[at] ?? "nothing").slice(0, 300)}`
    )
  }
  const other = Run.run(scenario, none, { seed: seed + 1 })
  const mask = Canonical.mask(recording.objects, other.objects)
  return { recording, mask, state: Canonical.state(recording.objects, mask) }
}

/** Every single fault that a recording has room for, after the faults it was made with. */
export const points = (
  run: Recording,
  after: { readonly call: number; readonly event: number }
): ReadonlyArray<Point> =>
  run.entries.flatMap((entry): ReadonlyArray<Point> => {
    if (entry._tag === "Call" && entry.n > after.call) {
      return applicable(entry.request).map((fault) => ({ _tag: "Call", at: entry.n, fault }))
    }
    if (entry._tag === "Event" && entry.n > after.event) {
      return allEventFaults.map((fault) => ({ _tag: "Event", at: entry.n, fault }))
    }
    return []
  })

/** A number in [0, n) that depends on the seed and the turn alone. */
export const draw = (seed: number, turn: number, n: number): number => {
  let z = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(turn + 1, 0x85ebca6b)) | 0
  z = Math.imul(z ^ (z >>> 16), 0x7feb352d)
  z = Math.imul(z ^ (z >>> 15), 0x846ca68b)
  return ((z ^ (z >>> 16)) >>> 0) % Math.max(1, n)
}

/** The points in an order that has every kind of fault early: one of each in turn. */
const stratified = (all: ReadonlyArray<Point>): ReadonlyArray<Point> => {
  const byFault = new Map<string, Array<Point>>()
  for (const point of all) byFault.set(point.fault, [...(byFault.get(point.fault) ?? []), point])
  const out: Array<Point> = []
  for (let i = 0; out.length < all.length; i++) {
    for (const group of byFault.values()) if (group[i] !== undefined) out.push(group[i]!)
  }
  return out
}

export interface Outcome {
  readonly reference: Oracle.Reference
  readonly coverage: Coverage
  readonly runs: number
  readonly divergence: Divergence | undefined
}

/** Explores until the first divergence, the budget's end, or the end of what there is. */
export const explore = (scenario: Scenario, options: Options): Outcome => {
  const { depth, more, oracles, runs: budget, seed } = options
  const base = reference(scenario, seed)
  const steps = scenario.steps.map((_, index) => index)
  let runs = 0
  let deeper = 0
  let unmet = 0
  const byFault = new Map<string, { found: number; run: number }>()
  const kind = (point: Point) => {
    const entry = byFault.get(point.fault) ?? { found: 0, run: 0 }
    byFault.set(point.fault, entry)
    return entry
  }

  /** A complaint about the run of a plan, and its recording. */
  const attempt = (plan: Plan): { readonly recording: Recording; readonly divergence: Divergence | undefined } => {
    runs += 1
    const recording = Run.run(scenario, plan, { seed })
    const found = Oracle.judge(oracles, recording, base)
    return {
      recording,
      divergence: found === undefined ? undefined : { plan, seed, steps, recording, reference: base, ...found }
    }
  }

  const goesOn = (): boolean => runs < budget && more()

  const all = points(base.recording, { call: 0, event: 0 })
  for (const point of all) kind(point).found += 1
  const outcome = (divergence: Divergence | undefined): Outcome => {
    const run = [...byFault.values()].reduce((sum, entry) => sum + entry.run, 0)
    return {
      reference: base,
      runs,
      divergence,
      coverage: {
        points: all.length,
        run,
        exhaustive: run === all.length,
        byFault: Object.fromEntries(byFault),
        deeper,
        unmet
      }
    }
  }

  // Without faults, and as the reference may be wrong itself.
  const healthy = Oracle.judge(oracles, base.recording, base)
  if (healthy !== undefined) {
    return outcome({ plan: none, seed, steps, recording: base.recording, reference: base, ...healthy })
  }
  const recordings: Array<{ readonly point: Point; readonly recording: Recording }> = []
  for (const point of stratified(all)) {
    if (!goesOn()) return outcome(undefined)
    const { divergence, recording } = attempt({ points: [point], interleaving: 0 })
    kind(point).run += 1
    if (divergence !== undefined) return outcome(divergence)
    // A few recordings to draw second faults from; all of them would be too much to keep.
    if (recordings.length < 256) recordings.push({ point, recording })
  }
  if (depth === 1 || recordings.length === 0) return outcome(undefined)
  for (let turn = 0; goesOn(); turn++) {
    const start = recordings[draw(seed, 3 * turn, recordings.length)]!
    let chosen: ReadonlyArray<Point> = [start.point]
    const further = points(start.recording, reached(start))
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
  return outcome(undefined)
}

/** How far a run had come at its fault. */
const reached = ({ point, recording }: { readonly point: Point; readonly recording: Recording }) => {
  let call = 0
  let event = 0
  for (const entry of recording.entries) {
    if (entry._tag === "Call") call = entry.n
    if (entry._tag === "Event") event = entry.n
    if (entry._tag === "Fault" && entry.point.at === point.at && entry.point._tag === point._tag) break
  }
  return { call, event }
}

const distinct = (points: ReadonlyArray<Point>): ReadonlyArray<Point> => [
  ...new Map(points.map((point) => [`${point._tag} ${point.at}`, point])).values()
]
