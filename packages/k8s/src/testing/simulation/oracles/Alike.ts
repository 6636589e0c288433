/**
 * `Alike`: of two custom resources that ask for the same, each has what there is for the one.
 *
 * A story has often but one of a kind, and a selector that all of the kind share shows in nothing then. So it is told once
 * more, with another one like it, which goes again. There is as much for that one as for the first, and the first keeps what
 * it has. Not where there is to be but one: what the spec or the program has one name for, for both; nor where it is said
 * that the second has nothing. A metamorphic relation between two runs, as Chen has them (1998).
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

const isOf = ({ metadata: { uid } }: KubeObject) => ({ metadata: { ownerReferences = [] } }: KubeObject): boolean =>
  ownerReferences.some((owner) => owner.uid === uid)

/**
 * What there is of an object's own, by kind: how many. Only of kinds whose objects have generated names: any other name may be
 * the program's own for what it has one of.
 */
const ownOf = (objects: ReadonlyArray<KubeObject>, owner: KubeObject): ReadonlyMap<string, number> => {
  const own = Map.groupBy(objects.filter(isOf(owner)), ({ kind }) => kind)
  return new Map(
    [...own].filter(([, all]) => all.every(({ metadata }) => metadata.generateName !== undefined))
      .map(([kind, all]) => [kind, all.filter((object) => !isTerminating(object)).length] as const)
  )
}

/** What it has as it is asked for: where people want that at once, there is no history. */
const wantedOf = (run: Recording, { hasty }: Reference, object: KubeObject): ReadonlyMap<string, number> => {
  const own = ownOf(run.objects, object)
  if (run.steps.length < 2 || own.size === 0) return own
  const { objects } = hasty(run.steps.map((_, index) => index).slice(1)).recording
  const same = objects.find(({ kind, metadata }) => kind === object.kind && metadata.name === object.metadata.name)
  const atOnce = same === undefined ? new Map<string, number>() : ownOf(objects, same)
  return new Map([...own].map(([kind, count]) => [kind, Math.min(count, atOnce.get(kind) ?? 0)]))
}

/** Whether something has one name for both of them: it is asked for once more, or has another owner then. */
const isShared = (told: Recording, since: number, owner: KubeObject): boolean =>
  calls(told).some(({ at, request: { method }, status }) => at >= since && method === "POST" && status === 409) ||
  [...writes(told)].some(({ after, at, before, type }) =>
    at >= since && type === "MODIFIED" && before !== undefined && isOf(owner)(before) && !isOf(owner)(after)
  )

/** Whether people have given a name to anything that the operator made, or a label: who asks for the same has the same. */
const isNamed = (run: Recording, object: Fields): boolean => {
  const words = new Set(textsIn(object.spec))
  const isOwn = isOf(object)
  return run.objects.some((other) => {
    const { annotations, labels, name } = other.metadata
    const ties = isOwn(other) ? Object.values({ ...labels, ...annotations }) : []
    return !run.kinds.includes(other.kind) && [name, ...ties].some((text) => words.has(text))
  })
}

/** Words, of a state or a reason. */
const wordsOf = ({ status }: Fields): ReadonlyArray<string> =>
  textsIn(status).filter((text) => /^[A-Za-z]+$/.test(text))

/** Whether a status tells that there is less than in another: by a word that is not there, or a smaller number. */
const tellsOfLess = (less: Fields, more: Fields): boolean => {
  const words = new Set(wordsOf(more))
  const numbers = new Map(numbersIn(more.status, ""))
  return wordsOf(less).some((word) => !words.has(word)) ||
    numbersIn(less.status, "").some(([path, number]) => !/generation/i.test(path) && number < (numbers.get(path) ?? 0))
}

/** The first kind of which there is less than there was. */
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
    const object = onlyOne(run)
    if (object === undefined || isTerminating(object) || isPaused(object) || isNamed(run, object)) return undefined
    const wanted = wantedOf(run, reference, object)
    if (wanted.size === 0) return undefined
    const told = another(object)
    const made = run.steps.length
    const failed = told.entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)
    const rest = told.rests[made]
    if (failed || rest === undefined || told.failure !== undefined) return undefined
    if (isShared(told, told.steps[made]!, object)) return undefined
    const [one, two] = [object.metadata.name, nameOf(object)].map((name) =>
      rest.objects.find(({ kind, metadata }) => kind === object.kind && metadata.name === name)
    )
    if (one === undefined || two === undefined) return undefined
    if (tellsOf(told, told.steps[made]!) || tellsOfLess(two, one)) return undefined
    const [less, lost] = [fewer(wanted, ownOf(rest.objects, two)), fewer(wanted, ownOf(rest.objects, one))]
    const left = fewer(wanted, ownOf(told.objects, one))
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
