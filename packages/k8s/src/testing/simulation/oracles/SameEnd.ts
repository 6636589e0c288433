/**
 * `SameEnd`: a run reaches the same end as without faults, in the cluster and outside it.
 *
 * Differences are reported, except those between two ends that are equally good: which object got which of several
 * values, what is reported about failures that happened, which of several replicas it was.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { met, taken } from "../recording/Excuses.ts"
import { calls, type Recording, seen } from "../recording/Recording.ts"
import type { Reference } from "../running/Reference.ts"
import * as Canonical from "../state/Canonical.ts"
import { dealt } from "../state/Dealt.ts"
import { because } from "../state/Failing.ts"
import { counters, isHistory } from "../state/History.ts"
import { relabelled } from "../state/Identities.ts"
import { areNumbered, isNumbered } from "../state/Numbered.ts"
import { isHalfway, isSucceeded, outside, whoever } from "../state/Outside.ts"
import { passed } from "../state/Passed.ts"
import { whichever } from "../state/Renaming.ts"
import * as Rests from "../state/Rests.ts"
import * as Stations from "../state/Stations.ts"
import { swapped } from "../state/Swapped.ts"
import { turned } from "../state/Turned.ts"
import { unsaid } from "../state/Unsaid.ts"
import { handsOn } from "./Noted.ts"
import type { Oracle } from "./Oracle.ts"

/** Whether the only difference is which object got which of the assigned values, in the cluster or also outside it. */
const isSwapped = (run: Recording, { mask, recording }: Reference, stateOf: typeof Canonical.state): boolean =>
  swapped(
    stateOf(recording, mask),
    stateOf(run, mask),
    Rests.pairs(recording, run, mask, stateOf),
    run.hurried.length > 0 ? Rests.states(recording, mask, stateOf) : []
  )

/**
 * Objects that went with their owner, which was deleted by a step that did not wait: their release was about to come
 * but too late, and no request can be faster.
 */
const goneAlong = (run: Recording): ReadonlyArray<KubeObject> => {
  if (run.hurried.length === 0) return []
  const asked = new Set(
    calls(run).flatMap(({ object, request }) =>
      request.method === "DELETE" && object !== undefined ? [object.metadata.uid] : []
    )
  )
  const owners = new Set<string>()
  const gone: Array<KubeObject> = []
  for (const entry of run.entries) {
    if (entry._tag !== "Change" || entry.change.type !== "DELETED") continue
    const { kind, metadata: { ownerReferences = [], uid } } = entry.change.object
    if (run.kinds.includes(kind) && entry.at >= (run.steps[run.hurried[0]!] ?? 0)) owners.add(uid)
    if (!asked.has(uid) && ownerReferences.some((owner) => owners.has(owner.uid))) gone.push(entry.change.object)
  }
  return gone
}

/** How the end of a run differs from that without faults, in the cluster and outside it. */
const differences = (lived: Recording, reference: Reference): ReadonlyArray<string> => {
  const { hasty, mask, recording, state } = reference
  const run = Stations.unrested(lived, recording)
  // What a step did not wait for may have got halfway.
  const isHasty = run.hurried.length > 0 && run.steps.length === recording.steps.length
  const compared = (wanted: Canonical.State, now: Canonical.State): ReadonlyArray<string> => {
    const lines = Canonical.compare(wanted, now)
    if (lines.length === 0 || !isHasty) return lines
    const unseen = Canonical.state(hasty(run.hurried).recording, mask)
    return Canonical.compare(wanted, unsaid(Canonical.settled(now, wanted, unseen), wanted, unseen, run.kinds))
  }
  const along = new Set(Canonical.families({ entries: run.entries, objects: goneAlong(run) }, mask).values())
  const found = Canonical.excused(Canonical.state(run, mask), state, along)
  let lines = compared(state, found)
  const stations = lines.length === 0 ? undefined : Stations.ofBoth(run, recording)
  if (stations !== undefined) {
    const [now, wanted] = stations
    lines = compared(Canonical.state(wanted, mask), Canonical.state(now, mask))
  }
  const outsides = [...new Set([...recording.outside.keys(), ...run.outside.keys()])].map((key) => {
    const [one, two] = [recording, run].map((its) => outside(its, key, mask))
    const [wanted, found] = [one, two].map((value) => JSON.stringify(value) ?? "nothing")
    return { key, one, two, wanted, found }
  }).filter(({ found, wanted }) => found !== wanted)
  if ((lines.length > 0 || outsides.length > 0) && isSwapped(run, reference, Rests.everything)) return []
  // If the outside is the same, it does not reflect an exchange.
  if (lines.length > 0 && outsides.length > 0 && isSwapped(run, reference, Canonical.state)) lines = []
  if (lines.length > 0 && dealt(run, state, found)) lines = []
  if (lines.length > 0 && isHistory(run, state, found, counters(recording))) lines = []
  if (lines.length > 0 && passed(recording, run, state, found)) lines = []
  if (lines.length > 0 && isNumbered(recording, run, state, found)) lines = []
  if (lines.length > 0 && met(run, "removed") && turned(state, found)) lines = []
  const apart = []
  // After a Pod was lost, another of the remaining ones may have its role.
  const isOther = met(run, "podFailed") || met(run, "podRemoved")
  const names = new Set(
    seen(recording).flatMap(({ kind, metadata }) => run.kinds.includes(kind) ? [metadata.name] : [])
  )
  for (const { found, key, one, two, wanted } of outsides) {
    if (isHasty && isHalfway(two, one, outside(hasty(run.hurried).recording, key, mask))) continue
    if (one !== undefined && two !== undefined) {
      const [first, second] = [one, two].map((value) => JSON.stringify(whoever(value, names)))
      if (names.size > 1 && first === second) continue
      if (isOther && isSucceeded(one, two, whichever([...recording.objects, ...run.objects]))) continue
    }
    const [before, after] = [recording, run].map((its) =>
      JSON.stringify(outside(its, key, mask, whichever(its.objects)))
    )
    const areAlike = before === after && (isOther || areNumbered(recording, run))
    if (!areAlike) apart.push(`outside: ${key}: ${found} instead of ${wanted}`)
  }
  return [...lines, ...apart]
}

/** The same end as without faults, in the cluster and outside it, whichever replica brought it about. */
export const sameEnd: Oracle = {
  name: "same end state",
  judge: (run, reference) => {
    if (taken(run) || handsOn(run)) return undefined
    const all = differences(run, reference)
    if (all.length === 0) return undefined
    for (const other of relabelled(run)) if (differences(other, reference).length === 0) return undefined
    return `${all.slice(0, 5).join("; ")}${because(run)}`
  }
}
