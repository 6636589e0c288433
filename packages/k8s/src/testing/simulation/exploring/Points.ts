/** `Points`: every single fault that a recording has room for. */
import { controllerOf, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { standing } from "../oracles/Forgotten.ts"
import {
  allClockFaults,
  allEventFaults,
  allExternalFaults,
  allStepFaults,
  applicable,
  isElection,
  type Kind,
  type Point
} from "../recording/Fault.ts"
import { precious } from "../recording/Precious.ts"
import { type Call, madeByPeople, nowhere, type Reach, type Recording, subjects } from "../recording/Recording.ts"
import { isVictim } from "../running/Others.ts"
import * as Strangers from "../running/Strangers.ts"
import { urgentSteps } from "../story/Variants.ts"

/** Data, which cannot be recreated, and Pods, which have faults of their own. */
const spared: ReadonlySet<string> = new Set([...precious, "Pod"])

/** Whether an object says whose it is: by an owner reference, or by a label or annotation with a name or uid. */
const belongs = (run: Recording, { metadata }: KubeObject): boolean => {
  const kinds = subjects(run)
  if (metadata.ownerReferences?.some(({ kind }) => kinds.has(kind)) === true) return true
  const ties = new Set(Object.values({ ...metadata.annotations, ...metadata.labels }))
  return run.entries.some((entry) => {
    if (entry._tag !== "Change" || !kinds.has(entry.change.object.kind)) return false
    const { name, namespace, uid } = entry.change.object.metadata
    return uid !== metadata.uid && (ties.has(name) || ties.has(uid) || ties.has(`${namespace}/${name}`))
  })
}

/** Whether the operator must know of an object: it is its controller, and the kind describes a desired state. */
const isManaged = (run: Recording, object: KubeObject): boolean =>
  standing.has(object.kind) && run.kinds.includes(controllerOf(object)?.kind ?? "")

/**
 * Whether a request created something for a custom resource that still exists when the cluster comes to rest, and that
 * the operator watches or must watch: an operator that sees it come must also see it go. One that does not look at
 * anything it creates is a different matter.
 */
const isLeft = (run: Recording, { at, object, status }: Call): boolean => {
  if (status !== 201 || object === undefined || spared.has(object.kind)) return false
  // Nobody has to watch an object that belongs to nobody.
  if (!belongs(run, object)) return false
  const { entries, steps } = run
  const { uid } = object.metadata
  const isWatched = entries.some((entry) => entry._tag === "Event" && entry.object.metadata.uid === uid)
  if (!isWatched && !isManaged(run, object)) return false
  const next = steps.find((begin) => begin > at) ?? Infinity
  return !entries.some((entry) =>
    entry._tag === "Change" && entry.at >= at && entry.at < next &&
    entry.change.object.metadata.uid === uid && isTerminating(entry.change.object)
  )
}

const losesPods = (fault: Kind): boolean => fault === "podFailed" || fault === "podRemoved"

type Change = Extract<Recording["entries"][number], { readonly _tag: "Change" }>["change"]

/**
 * Where something exists: after the answers to these requests, and at rest after these steps. `isThere` says whether
 * the object of a change exists from then on; undefined if it does not count.
 */
const beside = (
  run: Recording,
  isThere: (change: Change) => boolean | undefined
): { readonly calls: ReadonlySet<number>; readonly steps: ReadonlySet<number> } => {
  const living = new Set<string>()
  const calls = new Set<number>()
  const steps = new Set<number>()
  let step = -1
  const rest = () => {
    if (living.size > 0) steps.add(step)
    step += 1
  }
  for (const entry of run.entries) {
    while (entry.at >= (run.steps[step + 1] ?? Infinity)) rest()
    if (entry._tag === "Call" && living.size > 0) calls.add(entry.n)
    if (entry._tag !== "Change") continue
    const { uid } = entry.change.object.metadata
    const there = isThere(entry.change)
    if (there === true) living.add(uid)
    else if (there === false) living.delete(uid)
  }
  while (step < run.steps.length) rest()
  return { calls, steps }
}

/** Where there is a Pod that would be missed. */
const besidePods = (run: Recording) =>
  beside(
    run,
    ({ object, type }) => object.kind === "Pod" ? type !== "DELETED" && isVictim(run.entries, object) : undefined
  )

/** Where there is something that people created. */
const besidePeoples = (run: Recording) => {
  const made = new Set(madeByPeople(run.entries))
  return beside(run, ({ object, type }) => made.has(object.metadata.uid) ? type !== "DELETED" : undefined)
}

/**
 * Requests that are not made at the time at which another was answered: what is decided then rests on what was seen.
 */
const openings = ({ entries }: Recording): ReadonlySet<number> => {
  const found = new Set<number>()
  let answered = -1
  for (const entry of entries) {
    if (entry._tag === "Call" && entry.sent > answered) found.add(entry.n)
    if (entry._tag === "Call" || entry._tag === "External") answered = entry.at
    if (entry._tag === "Event") answered = -1
  }
  return found
}

/** Whether the operator sends no request when a step is taken, so that the next step has none for which not to wait. */
const isSlow = ({ entries, steps }: Recording, step: number): boolean => {
  const begin = steps[step] ?? Infinity
  return !entries.some((entry) =>
    (entry._tag === "External" || (entry._tag === "Call" && !isElection(entry.request))) &&
    entry.at >= begin && entry.at < begin + 1_000
  )
}

/** Whether a request created a Job that is being worked on. */
const isWorkedOn = ({ entries }: Recording, { object, status }: Call): boolean =>
  status === 201 && object?.kind === "Job" &&
  entries.some((entry) =>
    entry._tag === "Change" && entry.change.object.kind === "Pod" &&
    entry.change.object.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) === true
  )

/** Every single fault that is possible in a recording, after the faults with which it was made. */
export const of = (run: Recording, replicas: number, after: Reach = run.begun): ReadonlyArray<Point> => {
  const urgent = urgentSteps(run)
  const beside = besidePods(run)
  const peoples = besidePeoples(run).steps
  const strangers = Strangers.steps(run)
  const opening = openings(run)
  // A finalizer that holds an object makes the next step wait for it.
  const held = run.entries.some((entry) => entry._tag === "Fault" && entry.point.fault === "guarded")
  return [
    ...run.entries.flatMap((entry): ReadonlyArray<Point> => {
      const hurries = !held && urgent[run.steps.findIndex((begin) => begin > entry.at)] === true
      if (entry._tag === "Call" && entry.n > after.call) {
        return applicable(entry.request, replicas).filter((fault) => {
          if (fault === "hurried") return hurries
          if (fault === "forestalled") return hurries && opening.has(entry.n)
          if (fault === "workFails") return isWorkedOn(run, entry)
          if (losesPods(fault)) return beside.calls.has(entry.n)
          return fault !== "removed" || isLeft(run, entry)
        }).map((fault) => ({ _tag: "Call", at: entry.n, fault }))
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
      step + 1 > after.step
        ? allStepFaults.filter((fault) =>
          fault === "together"
            ? !held && urgent[step + 1] === true && isSlow(run, step)
            : fault === "absent"
            ? !held && urgent[step + 1] === true
            : fault === "annotated"
            ? peoples.has(step)
            : fault === "stranger"
            ? strangers.has(step)
            : !losesPods(fault) || beside.steps.has(step)
        )
          .map((fault): Point => ({ _tag: "Step", at: step + 1, fault }))
        : []
    ),
    ...(replicas > 1 && after === nowhere
      ? Array.from(
        { length: replicas },
        (_, at) => allClockFaults.map((fault): Point => ({ _tag: "Clock", at, fault }))
      )
      : []).flat()
  ]
}

/**
 * Whether something at a point happened in a run between the beginnings of two of its steps; -1 means before the first.
 */
export const isBetween = ({ entries, steps }: Recording, from: number, to: number): (point: Point) => boolean => {
  const begin = from < 0 ? 0 : steps[from] ?? Infinity
  const end = steps[to] ?? Infinity
  const places = new Set(
    entries.flatMap((entry) => "n" in entry && entry.at >= begin && entry.at < end ? [`${entry._tag} ${entry.n}`] : [])
  )
  return ({ _tag, at }) => places.has(`${_tag} ${at}`)
}

/** How far a run had come when its fault happened. */
export const reached = (point: Point, recording: Recording): Reach => {
  if (point._tag === "Clock") return { ...nowhere }
  let { call, event, external } = nowhere
  let now = Infinity
  for (const entry of recording.entries) {
    if (entry._tag === "Call") call = entry.n
    if (entry._tag === "Event") event = entry.n
    if (entry._tag === "External") external = entry.n
    if (entry._tag !== "Fault" || entry.point.at !== point.at || entry.point._tag !== point._tag) continue
    now = entry.at
    break
  }
  // At the time a step is taken, it has not ended yet.
  return { call, event, external, step: recording.steps.filter((begin) => begin < now).length }
}

/** At most one point for each place. */
export const distinct = (points: ReadonlyArray<Point>): ReadonlyArray<Point> => [
  ...new Map(points.map((point) => [`${point._tag} ${point.at}`, point])).values()
]
