/** `Order`: which single faults are run first, because the budget may not be enough for all of them. */
import { isTerminating } from "@effect-operator/core/KubeObject"
import { asks } from "../recording/Asks.ts"
import { isElected, isElection, isEvent, isRead, type Kind, type Point } from "../recording/Fault.ts"
import { accepted, type Call, type Entry, type Recording } from "../recording/Recording.ts"
import { key, type Story } from "../story/Story.ts"
import { deletingSteps } from "../story/Variants.ts"
import type { Single } from "./Singles.ts"

/** What users do in a step: create something, change it, or delete it. */
type Doing = "nothing" | "make" | "change" | "delete"

/** What happens at a point. */
interface Place {
  /** Absent for a step. */
  readonly entry: Entry | undefined
  /** It is one of many in a row about a lease, of which the first ones tell enough. */
  readonly isIdle: boolean
  /** What users have done just before. */
  readonly after: Doing
  /** It is a step that deletes the users' object: only a process that is running sees that. */
  readonly isLast?: boolean
}

/** How many requests and events about leases in a row are worth a fault. */
const renewals = 8

const isAboutLease = (entry: Entry): boolean =>
  entry._tag === "Call" ? isElection(entry.request) : entry._tag === "Event" && isElected(entry.object)

const placesIn = (run: Recording): ReadonlyMap<string, Place> => {
  const places = new Map<string, Place>()
  const deletes = deletingSteps(run)
  const doings = deletes.map((isLast, step): Doing =>
    isLast ? "delete" : deletes[step - 1] === false ? "change" : "make"
  )
  for (const [step, isLast] of deletes.entries()) {
    places.set(`Step ${step + 1}`, { entry: undefined, isIdle: false, after: doings[step]!, isLast })
  }
  let idle = 0
  let step = 0
  for (const entry of run.entries) {
    if (entry._tag === "Step") step += 1
    if (entry._tag === "Change" && isElected(entry.change.object)) continue
    idle = isAboutLease(entry) ? idle + 1 : 0
    if ("n" in entry) {
      places.set(`${entry._tag} ${entry.n}`, { entry, isIdle: idle > renewals, after: doings[step - 1] ?? "nothing" })
    }
  }
  return places
}

/** Whether a write changed nothing: it was applied again, or repeated after a start. */
const changesNothing = (call: Call): boolean => accepted(call) && call.before === call.after

/** Whether a write only adds a finalizer: nothing has been done yet that could be half done. */
const onlyHolds = ({ object, request: { body } }: Call): boolean => {
  const text = JSON.stringify(body) ?? ""
  return object !== undefined && !isTerminating(object) && text.includes("finalizers") &&
    !/spec|status|data"/.test(text)
}

/** How soon a fault at a point is run: 0 is first. Faults at writes tell most. */
const weight = (point: Point, { after, entry, isIdle = false, isLast = false }: Partial<Place> = {}): number => {
  if (point._tag === "Step" && point.fault === "away") return isLast ? 0 : 1
  if (point._tag === "Clock" || point._tag === "Step") return 0
  if (isIdle) return 4
  // Before anything exists, a missing answer cannot be mistaken for "there is nothing".
  if (entry?._tag === "External") return asks(entry.name) && after === "make" ? 2 : 0
  if (entry?._tag === "Call") {
    if (isEvent(entry.request.path)) return 3
    return isRead(entry.request) || changesNothing(entry) ? 2 : onlyHolds(entry) ? 1 : 0
  }
  return 1
}

/** What is done to which kind, whatever its name: of two that are alike, the second tells little new. */
const shapeOf = ({ entry }: Partial<Place>): string => {
  if (entry?._tag === "Event") return `${entry.type} ${entry.object.kind}`
  if (entry?._tag === "External") return entry.name
  if (entry?._tag !== "Call") return ""
  const { object, request: { method, path }, status } = entry
  return `${method} ${object?.kind ?? status}${/\/(?:status|scale)$/.exec(path)?.[0] ?? ""}`
}

/**
 * Faults that find more than others (something half done, refused, or taken over by another process), with how many of
 * them are run for each one of another kind.
 */
const telling: ReadonlyMap<Kind, number> = new Map<Kind, number>([
  ["crashAfter", 4],
  ["crashAway", 2],
  ["serverError", 2],
  ["conflict", 2],
  ["cutOff", 2],
  ["restarted", 2]
])

/**
 * One kind of fault for each way in which something goes wrong, with where it happens. Together they find nearly all
 * planted bugs that any fault finds, and each finds most of those that the faults before it miss. Of the refusals, for
 * instance, one stands for all.
 */
const early: ReadonlyArray<string> = [
  "Call crashAfter",
  "Call serverError",
  "Call staleRestart",
  "Step podFailed",
  "Step guarded",
  "Call conflict",
  "External externalOutage",
  "Step restarted",
  "Step away",
  "Step annotated",
  "Call outage",
  "Call forestalled",
  "External externalHurried",
  "External externalLost",
  "Step stranger",
  "Call workFails",
  "Step absent",
  "Call lostAnswer",
  "Call overtaken"
]

const rankOf = ({ point: { _tag, fault } }: Single): number => {
  const rank = early.indexOf(`${_tag} ${fault}`)
  return rank < 0 ? early.length : rank
}

/** The same fault tells different things at rest and at a request. */
const groupOf = ({ lived, point }: Single): string => `${point._tag} ${point.fault} ${key(lived)}`

/** Takes turns between what users did before: something half done has other results if an object already exists. */
const inTurn = <A extends { readonly after: Doing }>(all: ReadonlyArray<A>): ReadonlyArray<A> => {
  const known = new Map<Doing, number>()
  return all.map((one) => {
    const turn = known.get(one.after) ?? 0
    known.set(one.after, turn + 1)
    return { one, turn }
  }).sort((a, b) => a.turn - b.turn).map(({ one }) => one)
}

/**
 * Orders the faults so that every kind comes early, those that tell most come first, and each kind of action is tried
 * once before it is tried again. With several stories, each begins with the kinds that were run least so far, at later
 * places: what a process does first is much the same in all stories.
 */
export const stratified = (
  all: ReadonlyArray<Single>,
  /** The run of a story without faults. */
  runOf: (story: Story) => Recording,
  /** How often a kind of fault was run in other stories. */
  timesRun: (fault: Kind) => number = () => 0
): ReadonlyArray<Single> => {
  const known = new Map<string, ReadonlyMap<string, Place>>()
  const placesOf = (story: Story): ReadonlyMap<string, Place> => {
    const places = known.get(key(story)) ?? placesIn(runOf(story))
    known.set(key(story), places)
    return places
  }
  const alike = new Map<string, number>()
  const ordered = all.map((single) => {
    const { lived, point } = single
    const place = placesOf(lived).get(`${point._tag} ${point.at}`)
    // Other replicas take over from one that is cut off. A fault at rest is about what exists then.
    const after = point._tag === "Step" || point.fault === "cutOff" ? "nothing" : place?.after ?? "nothing"
    const shape = `${groupOf(single)} ${weight(point, place)} ${after} ${shapeOf(place ?? {})}`
    const turn = point._tag === "Step" ? 0 : alike.get(shape) ?? 0
    alike.set(shape, turn + 1)
    return { single, weight: weight(point, place), turn, after }
  }).sort((a, b) => a.weight - b.weight || a.turn - b.turn)
  const byFault = new Map<string, Array<{ readonly single: Single; readonly weight: number; readonly after: Doing }>>()
  for (const one of ordered) {
    const name = groupOf(one.single)
    const group = byFault.get(name)
    if (group === undefined) byFault.set(name, [one])
    else group.push(one)
  }
  // One run tells whether the operator notices at all that something disappears.
  const isFirst = ([single]: ReadonlyArray<Single>) => single?.point.fault === "removed"
  const groups = [...byFault.values()].map((members) => {
    const { single: first, weight } = members[0]!
    const before = timesRun(first.point.fault)
    const most = inTurn(members.filter((one) => one.weight === weight)).map(({ single }) => single)
    const rest = members.slice(most.length).map(({ single }) => single)
    const from = before % most.length
    return { group: [...most.slice(from), ...most.slice(0, from), ...rest], before, rank: rankOf(first) }
  }).sort((a, b) => a.before - b.before || a.rank - b.rank).map(({ group }) => group)
  const inOrder = [...groups.filter(isFirst), ...groups.filter((group) => !isFirst(group))]
  const out: Array<Single> = []
  for (let round = 0; out.length < all.length; round++) {
    for (const group of inOrder) {
      const many = telling.get(group[0]!.point.fault) ?? 1
      out.push(...group.slice(round * many, (round + 1) * many))
    }
  }
  return out
}
