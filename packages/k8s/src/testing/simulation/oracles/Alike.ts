/**
 * `Alike`: if two custom resources ask for the same, each gets what one alone gets.
 *
 * A story often has only one object of a kind, so a selector that all objects of the kind share goes unnoticed. So the
 * story is run again up to the rest at which the object has most, with a second object like the first, which is deleted
 * again. The second must get as much as the first, and the first must keep what it has. This does not apply if there can
 * be only one: if the spec or the program has one name for both; nor if the status says that the second has nothing. A
 * metamorphic relation between two runs (Chen, 1998).
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { isPaused } from "../recording/Excuses.ts"
import { calls, type Recording } from "../recording/Recording.ts"
import { name, writes } from "../recording/Writes.ts"
import { nameOf } from "../running/Another.ts"
import type { Reference } from "../running/Reference.ts"
import { numbersIn } from "../state/History.ts"
import { onlyOne } from "./Forgotten.ts"
import type { Oracle } from "./Oracle.ts"
import { tellsOf } from "./Refused.ts"

type Fields = KubeObject & { readonly spec?: unknown; readonly status?: unknown }

/** All texts in a value. */
const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
    ? Object.values(value).flatMap(textsIn)
    : typeof value === "boolean"
    ? [String(value)]
    : []

/** Whether an owner reference or a label with its uid ties an object to another. */
const isOf = ({ metadata: { uid } }: KubeObject) => ({ metadata: { labels = {}, ownerReferences = [] } }: KubeObject) =>
  ownerReferences.some((owner) => owner.uid === uid) || Object.values(labels).includes(uid)

/** The part of a uid that names contain if they have no room for all of it. */
const beginning = (uid: string): string => uid.slice(0, 8)

/**
 * What belongs to an object, by kind, as counts. Only kinds whose objects have generated names or names with its uid
 * count: any other name may be the program's own, for something of which it has only one.
 */
const ownOf = (objects: ReadonlyArray<KubeObject>, owner: KubeObject): ReadonlyMap<string, number> => {
  const own = Map.groupBy(objects.filter(isOf(owner)), ({ kind }) => kind)
  const isForOne = ({ metadata: { generateName, name } }: KubeObject): boolean =>
    generateName !== undefined || name.includes(beginning(owner.metadata.uid))
  return new Map(
    [...own].filter(([, all]) => all.every(isForOne))
      .map(([kind, all]) => [kind, all.filter((object) => !isTerminating(object)).length] as const)
  )
}

const sizeOf = (own: ReadonlyMap<string, number>): number => [...own.values()].reduce((sum, count) => sum + count, 0)

/** A rest at which the only custom resource of a story exists, as it is then, and what it has. */
interface Moment {
  /** Number of steps before it. */
  readonly steps: number
  readonly objects: ReadonlyArray<KubeObject>
  readonly object: KubeObject
  readonly own: ReadonlyMap<string, number>
}

/** The last of the moments at which the object has most. */
const fullest = (run: Recording, { metadata: { uid } }: KubeObject): Moment | undefined =>
  [...run.rests, run].flatMap((rest, index): ReadonlyArray<Moment> => {
    const object = rest?.objects.find(({ metadata }) => metadata.uid === uid)
    if (rest === undefined || object === undefined || isTerminating(object) || isPaused(object)) return []
    return [{ steps: index + 1, objects: rest.objects, object, own: ownOf(rest.objects, object) }]
  }).reduce<Moment | undefined>(
    (most, moment) => most !== undefined && sizeOf(most.own) > sizeOf(moment.own) ? most : moment,
    undefined
  )

/** What the object has as it is asked for: if people ask for that at once, there is no history. */
const wantedOf = ({ hasty }: Reference, { object, own, steps }: Moment): ReadonlyMap<string, number> => {
  if (steps < 2 || own.size === 0) return own
  const { recording } = hasty(Array.from({ length: steps - 1 }, (_, step) => step + 1))
  const { objects = [] } = [...recording.rests, recording][0] ?? {}
  const same = objects.find(({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name)
  const atOnce = same === undefined ? new Map<string, number>() : ownOf(objects, same)
  return new Map([...own].map(([kind, count]) => [kind, Math.min(count, atOnce.get(kind) ?? 0)]))
}

/** Whether both share something under one name: it is requested again, or gets another owner. */
const isShared = (told: Recording, since: number, owner: KubeObject): boolean =>
  calls(told).some(({ at, request: { method }, status }) => at >= since && method === "POST" && status === 409) ||
  [...writes(told)].some(({ after, at, before, type }) =>
    at >= since && type === "MODIFIED" && before !== undefined && isOf(owner)(before) && !isOf(owner)(after)
  )

/**
 * Whether people have given something that the operator created a name or a label: then a second object that asks for
 * the same gets the same.
 */
const isNamed = ({ entries, kinds }: Recording, objects: ReadonlyArray<KubeObject>, object: Fields): boolean => {
  const words = new Set(textsIn(object.spec))
  const isOwn = isOf(object)
  // What every cluster has (a namespace that the spec names) is there for all.
  const came = new Set(entries.flatMap((entry) => entry._tag === "Change" ? [entry.change.object.metadata.uid] : []))
  return objects.some((other) => {
    const { annotations, labels, name, uid } = other.metadata
    const ties = isOwn(other) ? Object.values({ ...labels, ...annotations }) : []
    return !kinds.includes(other.kind) && came.has(uid) && [name, ...ties].some((text) => words.has(text))
  })
}

/** The words of a status, such as states and reasons. */
const wordsOf = ({ status }: Fields): ReadonlyArray<string> =>
  textsIn(status).filter((text) => /^[A-Za-z]+$/.test(text))

/** Whether a status reports less than another: by a word that is missing there, or by a smaller number. */
const tellsOfLess = (less: Fields, more: Fields): boolean => {
  const words = new Set(wordsOf(more))
  const numbers = new Map(numbersIn(more.status, ""))
  return wordsOf(less).some((word) => !words.has(word)) ||
    numbersIn(less.status, "").some(([path, number]) => !/generation/i.test(path) && number < (numbers.get(path) ?? 0))
}

/** The first kind of which there is less than before. */
const fewer = (
  wanted: ReadonlyMap<string, number>,
  found: ReadonlyMap<string, number>
): { readonly kind: string; readonly had: number; readonly has: number } | undefined => {
  for (const [kind, had] of wanted) {
    const has = found.get(kind) ?? 0
    if (has < had) return { kind, had, has }
  }
  return undefined
}

export const alike: Oracle = {
  name: "equal custom resources share nothing",
  judge: (run, reference) => {
    const { another, recording } = reference
    if (run !== recording || run.begun.step > 0 || run.failure !== undefined) return undefined
    const only = onlyOne(run)
    const moment = only === undefined ? undefined : fullest(run, only)
    if (moment === undefined || isNamed(run, moment.objects, moment.object)) return undefined
    const { object, steps: made } = moment
    const wanted = wantedOf(reference, moment)
    if (sizeOf(wanted) === 0) return undefined
    const told = another(object, made)
    const failed = told.entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)
    const rest = told.rests[made]
    if (failed || rest === undefined) return undefined
    if (isShared(told, told.steps[made]!, object)) return undefined
    const [one, two] = [object.metadata.name, nameOf(object)].map((name) =>
      rest.objects.find(({ kind, metadata }) => kind === object.kind && metadata.name === name)
    )
    if (one === undefined || two === undefined) return undefined
    if (tellsOf(told, told.steps[made]!) || tellsOfLess(two, one)) return undefined
    const [less, lost] = [fewer(wanted, ownOf(rest.objects, two)), fewer(wanted, ownOf(rest.objects, one))]
    // If both are still at odds over that, nothing can be said of the end.
    const left = told.failure === undefined ? fewer(wanted, ownOf(told.objects, one)) : undefined
    const [it, like] = [name(object), `another one like it, ${nameOf(object)}`]
    const why = "(one takes over what belongs to the other, by a label that both share, for example)"
    return lost !== undefined
      ? `${it} has ${lost.had} of kind ${lost.kind}, but only ${lost.has} while there is ${like} ${why}`
      : less !== undefined
      ? `${it} has ${less.had} of kind ${less.kind}; ${like}, has only ${less.has}, and nothing reports that ${why}`
      : left !== undefined
      ? `${it} has ${left.had} of kind ${left.kind}, but only ${left.has} after ${like}, was created and deleted ${why}`
      : undefined
  }
}
