/**
 * `Shrink`: the smallest story that still goes wrong: fewer faults, then the plain order of tasks, then fewer steps,
 * then simpler drawn changes.
 *
 * A smaller run counts only if the same oracle complains, judged against the reference of the smaller story. Requests
 * have other numbers in a smaller story, so a fault is searched for again, at requests and events like the one it was
 * at.
 */
import type { Scenario } from "../Scenario.ts"
import { judge } from "../oracles/Judge.ts"
import type { Oracle } from "../oracles/Oracle.ts"
import * as Oracles from "../oracles/Oracles.ts"
import { isNone, none, type Plan, type Point } from "../recording/Fault.ts"
import { line, type Recording } from "../recording/Recording.ts"
import * as Reference from "../running/Reference.ts"
import * as Run from "../running/Run.ts"
import * as Draw from "../story/Draw.ts"
import { key, type Story, tell, without } from "../story/Story.ts"
import type { Divergence } from "./Explore.ts"
import * as Points from "./Points.ts"
import type { Turns } from "./Turns.ts"

/** How many places are tried for a fault in a story with fewer steps. */
const places = 12

/** What is at a point, without randomly generated names. */
const sight = (point: Point, run: Recording): string | undefined => {
  for (const entry of run.entries) {
    if (entry._tag === "Step" || entry._tag !== point._tag || entry.n !== point.at) continue
    if (entry._tag === "Call") return line(entry.request).replace(/[0-9a-z]{5}(?=\/|$)/g, "*")
    return entry._tag === "Event" ? `${entry.type} ${entry.object.kind}` : entry.name
  }
  return undefined
}

/** The smallest of the smaller stories that there is time for. Yields before each run. */
export function* shrink(
  scenario: Scenario,
  oracles: ReadonlyArray<Oracle>,
  divergence: Divergence,
  more: () => boolean
): Turns<Divergence> {
  let smallest = divergence
  const references = new Map<string, Reference.Reference | undefined>([[key(divergence.story), divergence.reference]])

  const referenceOf = (story: Story): Reference.Reference | undefined => {
    const name = key(story)
    if (!references.has(name)) {
      // Each story that was explored has been run twice, so this one need not, unless that is what went wrong.
      const twice = divergence.oracle === Oracles.deterministic.name
      const smaller = Reference.of(scenario, story, divergence.seed, twice)
      // A story that goes wrong without faults is a different failure.
      const healthy = judge(oracles, smaller.recording, smaller) === undefined
      references.set(name, healthy || divergence.plan.points.length === 0 ? smaller : undefined)
    }
    return references.get(name)
  }

  /** The scenario's step that a complaint is about; it has the same name in a smaller story. */
  const stepIn = (complaint: string): number =>
    divergence.oracle === Oracles.desired.name || divergence.oracle === Oracles.sound.name
      ? scenario.steps.findLastIndex(({ name }) => complaint.includes(JSON.stringify(name)))
      : -1
  const about = stepIn(divergence.complaint)

  /** Accepts the smaller story if it goes wrong in the same way. */
  function* attempt(plan: Plan, story: Story): Turns<boolean> {
    yield
    if (!more()) return false
    const reference = referenceOf(story)
    if (reference === undefined) return false
    const recording = isNone(plan)
      ? reference.recording
      : Run.run(tell(scenario, story), plan, { seed: divergence.seed, from: reference.from })
    const found = judge(oracles, recording, reference)
    if (found?.oracle !== divergence.oracle) return false
    // Without earlier steps, another step may lack what it needs: that is not a smaller story.
    if (stepIn(found.complaint) !== about) return false
    smallest = { ...divergence, ...found, plan, story, recording, reference }
    return true
  }

  /** Plans for a single fault at places where the same happens in a story with fewer steps. */
  const moved = (plan: Plan, story: Story): ReadonlyArray<Plan> => {
    const [point] = plan.points
    if (point === undefined || plan.points.length > 1) return [plan]
    const what = sight(point, smallest.recording)
    const reference = referenceOf(story)
    if (what === undefined || reference === undefined) return [plan]
    const alike = Points.of(reference.recording, scenario.replicas ?? 1).filter((other) =>
      other.fault === point.fault && other.at !== point.at && sight(other, reference.recording) === what
    )
    return [plan, ...alike.slice(0, places).map((other) => ({ ...plan, points: [other] }))]
  }

  /** Tries a smaller story, with the fault where the same happens in it. */
  function* attempts(story: Story): Turns<boolean> {
    for (const plan of moved(smallest.plan, story)) if (yield* attempt(plan, story)) return true
    return false
  }

  function* once(): Turns<boolean> {
    const { plan, story } = smallest
    for (const point of plan.points) {
      if (yield* attempt({ ...plan, points: plan.points.filter((other) => other !== point) }, story)) return true
    }
    if (plan.interleaving !== 0 && (yield* attempt({ ...plan, interleaving: 0 }, story))) return true
    const { changes, given, steps } = story
    for (const step of steps.length + changes.length > 1 ? steps.toReversed() : []) {
      // Without a fault to blame, it is unknown what a step needs from those before it.
      if (isNone(plan) && step <= about) continue
      if (yield* attempts(without(story, step))) return true
    }
    if (scenario.draws === undefined) return false
    for (const simpler of Draw.smaller(scenario, scenario.draws, changes)) {
      if (!more()) return false
      if (
        simpler.length + steps.length > 0 &&
        (yield* attempts({ given: Math.min(given, simpler.length + steps.length), changes: simpler, steps }))
      ) return true
    }
    return false
  }

  // Once in full, as a replay will run it. What shows only in a short run is left as it was found.
  const lasts = divergence.plan === none || (yield* attempt(divergence.plan, divergence.story))
  for (let smaller = lasts; smaller; smaller = yield* once());
  return smallest
}
