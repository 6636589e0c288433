/**
 * The smallest story that still goes wrong: fewer faults, then the plain order of tasks, then fewer steps, then simpler
 * drawn changes.
 *
 * A smaller run counts only if the same oracle complains, judged against the reference of the smaller story. In a
 * smaller story requests have other numbers: a fault is then looked for again, at requests and events like the one it was at.
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

/** So many places are tried for a fault in a story of fewer steps. */
const places = 12

/** What is at a point, without names that chance has made. */
const sight = (point: Point, run: Recording): string | undefined => {
  for (const entry of run.entries) {
    if (entry._tag === "Step" || entry._tag !== point._tag || entry.n !== point.at) continue
    if (entry._tag === "Call") return line(entry.request).replace(/[0-9a-z]{5}(?=\/|$)/g, "*")
    return entry._tag === "Event" ? `${entry.type} ${entry.object.kind}` : entry.name
  }
  return undefined
}

/** The smallest of the smaller stories that there is time for. Stops before each run. */
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
      const smaller = Reference.of(scenario, story, divergence.seed)
      // A story that goes wrong without faults is another story.
      const healthy = judge(oracles, smaller.recording, smaller) === undefined
      references.set(name, healthy || divergence.plan.points.length === 0 ? smaller : undefined)
    }
    return references.get(name)
  }

  /** Which of the scenario's own steps a complaint is about, which has the same name in a smaller story. */
  const stepIn = (complaint: string): number =>
    divergence.oracle === Oracles.desired.name || divergence.oracle === Oracles.sound.name
      ? scenario.steps.findLastIndex(({ name }) => complaint.includes(JSON.stringify(name)))
      : -1
  const about = stepIn(divergence.complaint)

  /** Takes the smaller one if it goes wrong in the same way. */
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
    // Without what people did before, another step may miss what it asks for: that is no smaller story.
    if (stepIn(found.complaint) !== about) return false
    smallest = { ...divergence, ...found, plan, story, recording, reference }
    return true
  }

  /** The plan of a single fault where the same happens in a story of fewer steps. */
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

  /** A smaller story, with the fault where the same happens in it. */
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
      // Where no fault is to blame, nobody can tell what a step may ask for without those before it.
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

  // Once in full, as a replay will run it; what shows only in a short run stays as it was found.
  const lasts = divergence.plan === none || (yield* attempt(divergence.plan, divergence.story))
  for (let smaller = lasts; smaller; smaller = yield* once());
  return smallest
}
