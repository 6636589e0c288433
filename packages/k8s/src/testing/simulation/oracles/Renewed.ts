/**
 * `Renewed`: what a step recreates without faults, it recreates with any fault too.
 *
 * Pods that must restart (with other settings, another password) differ from the previous ones only in their age, if
 * the object they are created from says no more than when. An operator that records success too early leaves the old
 * Pods, and the end looks the same.
 */
import { controllerOf, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { met, taken } from "../recording/Excuses.ts"
import { isOver, objectsAfter, type Recording } from "../recording/Recording.ts"
import * as Canonical from "../state/Canonical.ts"
import type { Oracle } from "./Oracle.ts"

/** Pods that run for as long as they are wanted, by family. */
const podsOf = (
  run: Recording,
  objects: ReadonlyArray<KubeObject>,
  mask: Canonical.Mask
): ReadonlyMap<string, ReadonlyArray<KubeObject>> => {
  const families = Canonical.families({ entries: run.entries, objects }, mask)
  return Map.groupBy(
    objects.filter((object) =>
      object.kind === "Pod" && !isOver(object) && !isTerminating(object) && controllerOf(object)?.kind !== "Job"
    ),
    ({ metadata }) => families.get(metadata.uid) ?? ""
  )
}

/** The families whose Pods after a step are all others than before it; and those of which an old one is left. */
const renewals = (run: Recording, step: number, mask: Canonical.Mask) => {
  const [before, after] = [objectsAfter(run, step - 1), objectsAfter(run, step)]
  if (before === undefined || after === undefined) return undefined
  const known = new Set(before.map(({ metadata }) => metadata.uid))
  const were = podsOf(run, before, mask)
  const renewed = new Set<string>()
  const kept = new Map<string, KubeObject>()
  for (const [family, pods] of podsOf(run, after, mask)) {
    if (!were.has(family)) continue
    const old = pods.find(({ metadata }) => known.has(metadata.uid))
    if (old === undefined) renewed.add(family)
    else kept.set(family, old)
  }
  return { renewed, kept }
}

/** Whether the Pods of a family look the same in another run after a step. */
const areAlike = (
  run: Recording,
  other: Recording,
  step: number,
  family: string,
  mask: Canonical.Mask
): boolean => {
  const [one, two] = [run, other].map((lived) =>
    Canonical.state({ entries: lived.entries, objects: objectsAfter(lived, step)!, outside: new Map() }, mask).get(
      family
    )
  )
  return JSON.stringify(one) === JSON.stringify(two)
}

export const renewed: Oracle = {
  name: "old Pods are replaced",
  judge: (run, { mask, recording }) => {
    const same = run.steps.length === recording.steps.length && run.hurried.length === 0
    if (run.met === 0 || !same || run.failure !== undefined || taken(run) || met(run, "absent")) return undefined
    const names = recording.entries.flatMap((entry) => (entry._tag === "Step" ? [entry.name] : []))
    for (const step of run.steps.keys()) {
      if (step === 0 || step <= run.begun.step) continue
      const [wanted, found] = [renewals(recording, step, mask), renewals(run, step, mask)]
      for (const family of wanted?.renewed ?? []) {
        const old = found?.kept.get(family)
        // If they look different as well, the end says more.
        if (old === undefined || !areAlike(run, recording, step, family, mask)) continue
        return `Pod ${old.metadata.name} is still the one from before ${JSON.stringify(names[step])}, unchanged; ` +
          "without faults, it is replaced in that step"
      }
    }
    return undefined
  }
}
