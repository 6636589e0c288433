/**
 * `Surplus`: what an operator makes too many of, and takes away again.
 *
 * The end is as it should be, so that no comparison of ends shows it; meanwhile there were four where three were asked for,
 * of a database, a leader, a licence. Of a kind there is at no moment more than at any moment without faults, unless that
 * stays, or goes for another reason: it counts only what the operator has made after the last step and deletes before the
 * next one, unfinished. Who was shown an old cluster, or was not waited for, may do that.
 *
 * Source: k8s.io/kubernetes/pkg/controller/controller_utils.go, whose expectations are there to prevent it.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { blindings, met, taken } from "./Excuses.ts"
import { isElected } from "./Fault.ts"
import type { Oracle } from "./Oracle.ts"
import { isOver, type Recording } from "./Recording.ts"
import { conditionsOf, name, type Write, writes } from "./Writes.ts"

const isFinished = (object: KubeObject): boolean =>
  isOver(object) ||
  conditionsOf(object).some(({ status, type }) => status === "True" && (type === "Complete" || type === "Failed"))

/** Whether an object counts: it is there, nobody has asked it to go, and it has not come to its own end. */
const counts = (object: KubeObject): boolean =>
  !isTerminating(object) && !isFinished(object) && object.kind !== "Event" && !isElected(object)

const placeOf = ({ kind, metadata: { namespace } }: KubeObject): string => `${kind} ${namespace ?? ""}`

/** What counts after each change of the store, by kind and namespace; good until the next is taken. */
function* moments(run: Recording) {
  const places = new Map<string, Map<string, KubeObject>>()
  for (const entry of run.entries) {
    if (entry._tag !== "Change") continue
    const { at, change: { object, revision, type } } = entry
    const place = placeOf(object)
    let there = places.get(place)
    if (there === undefined) places.set(place, there = new Map())
    if (type !== "DELETED" && counts(object)) there.set(object.metadata.uid, object)
    else there.delete(object.metadata.uid)
    yield { at, place, there, revision }
  }
}

/** The most that there is at any moment. */
const most = (run: Recording): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  for (const { place, there } of moments(run)) found.set(place, Math.max(found.get(place) ?? 0, there.size))
  return found
}

/** Of what the operator has made, until which moment it was there, where it has then deleted it before the next step. */
const takenAway = (run: Recording): ReadonlyMap<string, Write> => {
  const made = new Map<string, number>()
  const found = new Map<string, Write>()
  const stepAt = (at: number) => run.steps.findLastIndex((begin) => begin <= at)
  for (const write of writes(run)) {
    const { after, at, before, call, type } = write
    const { uid } = after.metadata
    if (type === "ADDED") made.set(uid, stepAt(at))
    else if (
      call.request.method === "DELETE" && before !== undefined && counts(before) && made.get(uid) === stepAt(at)
    ) {
      found.set(uid, write)
    }
  }
  return found
}

export const surplus: Oracle = {
  name: "no more than wanted",
  judge: (run, { recording }) => {
    if (run === recording || blindings(run) > 0 || run.hurried.length > 0 || taken(run) || met(run, "removed")) {
      return undefined
    }
    const gone = takenAway(run)
    if (gone.size === 0) return undefined
    const usual = most(recording)
    for (const { place, there } of moments(run)) {
      const expected = usual.get(place) ?? 0
      if (there.size <= expected || expected === 0) continue
      const extra = [...there.values()].filter(({ metadata }) => gone.has(metadata.uid))
      if (extra.length === 0) continue
      const [kind] = place.split(" ")
      return `there are ${there.size} of kind ${kind} for a moment, never more than ${expected} without faults; ` +
        `the operator has made ${extra.map(name).join(", ")} and deletes it again`
    }
    return undefined
  }
}
