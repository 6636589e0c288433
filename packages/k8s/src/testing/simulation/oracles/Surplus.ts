/**
 * `Surplus`: what an operator creates too many of, and removes again.
 *
 * The end is right, so no comparison of ends shows it; but for a while there were four where three were asked for:
 * databases, leaders, licences. Of the objects that one owner has under one generated name, there are never more than
 * at any time without faults, unless the surplus stays or goes for another reason: only objects count that the operator
 * created after the last step and deletes before the next one, unfinished. Objects with names of their own are not
 * interchangeable: the next one may exist before the last one is gone. An operator that was shown an old cluster, was
 * not waited for, or met a second fault since the step, may not know better. If somebody removes objects, more may be
 * wanted for a while.
 *
 * Source: k8s.io/kubernetes/pkg/controller/controller_utils.go, whose expectations are there to prevent it.
 */
import { controllerOf, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { blindings, taken } from "../recording/Excuses.ts"
import type { Kind } from "../recording/Fault.ts"
import { moments as changes } from "../recording/Moments.ts"
import { isOver, type Recording } from "../recording/Recording.ts"
import { conditionsOf, name, writes } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

const isFinished = (object: KubeObject): boolean =>
  isOver(object) ||
  conditionsOf(object).some(({ status, type }) => status === "True" && (type === "Complete" || type === "Failed"))

/** Whether an object counts: it exists, is not being deleted, and has not finished. */
const counts = (object: KubeObject): boolean =>
  object.metadata.generateName !== undefined && !isTerminating(object) && !isFinished(object)

/** The group of an object: the same owner and the same generated name. */
const placeOf = (object: KubeObject): string => {
  const { generateName, namespace } = object.metadata
  const owner = controllerOf(object)
  return JSON.stringify([object.kind, namespace, owner?.kind, owner?.name, generateName])
}

/** The objects that count, by group, after each change of the store; valid until the next is taken. */
function* moments(run: Recording) {
  const places = new Map<string, Map<string, KubeObject>>()
  for (const { at, change: { object, type } } of changes(run)) {
    const place = placeOf(object)
    let there = places.get(place)
    if (there === undefined) places.set(place, there = new Map())
    if (type !== "DELETED" && counts(object)) there.set(object.metadata.uid, object)
    else there.delete(object.metadata.uid)
    yield { at, kind: object.kind, place, there }
  }
}

/** The largest number at any time. */
const most = (run: Recording): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  for (const { place, there } of moments(run)) found.set(place, Math.max(found.get(place) ?? 0, there.size))
  return found
}

const stepAt = ({ steps }: Recording, at: number): number => steps.findLastIndex((begin) => begin <= at)

/** What the operator created and deleted again before the next step. */
const takenAway = (run: Recording): ReadonlySet<string> => {
  const made = new Map<string, number>()
  const found = new Set<string>()
  for (const { after, at, before, call, type } of writes(run)) {
    const { uid } = after.metadata
    if (type === "ADDED") made.set(uid, stepAt(run, at))
    else if (
      call.request.method === "DELETE" && before !== undefined && counts(before) && made.get(uid) === stepAt(run, at)
    ) {
      found.add(uid)
    }
  }
  return found
}

/** Faults after which there are fewer objects than the operator created. */
const taking: ReadonlySet<Kind> = new Set<Kind>(["podFailed", "podRemoved", "removed", "workFails"])

/** Whether an operator may not know, at a given time, how many there are or how many are wanted. */
const mayNotKnow = (run: Recording, at: number): boolean => {
  const since = run.entries.filter((entry) =>
    entry._tag === "Fault" && entry.at <= at && stepAt(run, entry.at) === stepAt(run, at)
  )
  return since.length > 1 || since.some((entry) => entry._tag === "Fault" && taking.has(entry.point.fault))
}

export const surplus: Oracle = {
  name: "no surplus objects",
  judge: (run, { recording }) => {
    if (run === recording || blindings(run) > 0 || run.hurried.length > 0 || taken(run)) return undefined
    const gone = takenAway(run)
    if (gone.size === 0) return undefined
    const usual = most(recording)
    for (const { at, kind, place, there } of moments(run)) {
      const expected = usual.get(place) ?? 0
      if (there.size <= expected || expected === 0 || mayNotKnow(run, at)) continue
      const extra = [...there.values()].filter(({ metadata }) => gone.has(metadata.uid))
      if (extra.length === 0) continue
      return `there are ${there.size} of kind ${kind} for a moment; without faults, there are never more than ${expected}; ` +
        `the operator created ${extra.map(name).join(", ")} and deletes it again`
    }
    return undefined
  }
}
