/**
 * `Outdated`: what people have changed, and what was made of it says as it was before.
 *
 * A value that people have replaced by another stands in an object that the operator has made, as it has at every rest, at a
 * place where the new one stands when all steps come at once: it was written with the object, and never again. Not where
 * somebody is told that it stays, nor where the object cannot be changed, or rests, or another of its kind has the new value
 * in its place.
 * The same of what is kept outside.
 */
import { type KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { decoded } from "../recording/Base64.ts"
import { isPaused } from "../recording/Excuses.ts"
import { guard } from "../recording/Fault.ts"
import type { Recording } from "../recording/Recording.ts"
import type { Json, Mask, State } from "../state/Canonical.ts"
import { outside, pathOf } from "../state/Outside.ts"
import { renamerOf } from "../state/Renaming.ts"
import { isTold } from "./Refused.ts"

export type Fields = Readonly<Record<string, unknown>>

/** A value that people have replaced, and by what. */
interface Replaced {
  readonly path: string
  readonly old: string
  readonly now: string
}

export type Scalar = string | number | boolean

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

/** A list of words is also written as one text. */
const textsOf = (value: unknown): ReadonlyArray<string> =>
  isScalar(value)
    ? [String(value)]
    : Array.isArray(value) && value.length > 0 && value.every(isScalar)
    ? [",", " ", "\n"].map((between) => value.join(between))
    : []

/** What is in a Secret, in words. */
const plain = (value: unknown, path: string): unknown =>
  /^Secret[^.]*\.data\./.test(path) && typeof value === "string" ? decoded(value) : value

const isWord = (value: unknown): value is string => typeof value === "string" && value !== ""

const replaced = (old: unknown, now: unknown, path: string, found: Array<Replaced>): void => {
  if (isObject(old) && isObject(now)) {
    for (const key of Object.keys(now)) replaced(old[key], now[key], `${path}.${key}`, found)
    return
  }
  if (Array.isArray(old) && Array.isArray(now)) {
    for (const item of old.filter((one) => isWord(one) && !now.includes(one))) {
      for (const other of now.filter(isWord)) found.push({ path: `${path}[]`, old: item, now: other })
    }
  }
  const [before, after] = [textsOf(plain(old, path)), textsOf(plain(now, path))]
  for (const [index, text] of before.entries()) {
    const other = after[index]
    if (other !== undefined && other !== "" && other !== text) found.push({ path, old: text, now: other })
  }
}

/** What people say with an object: all of it but what the cluster or the operator write there. */
const asked = (object: KubeObject): Fields => {
  const { apiVersion: _, kind: __, metadata, status: ___, ...rest } = object as unknown as Fields & KubeObject
  return { ...rest, annotations: metadata.annotations, labels: metadata.labels }
}

/** What people have replaced in an object, in any of its states by what there is in the last. */
export const replacedIn = ({ entries }: Recording, object: KubeObject): ReadonlyArray<Replaced> => {
  const found: Array<Replaced> = []
  for (const entry of entries) {
    if (entry._tag !== "Change" || entry.change.object.metadata.uid !== object.metadata.uid) continue
    replaced(asked(entry.change.object), asked(object), object.kind, found)
  }
  return [...new Map(found.map((one) => [JSON.stringify(one), one])).values()]
}

/** What a value has by each of its keys, as texts: `key=text`. */
const entriesIn = (value: unknown, found: Set<string> = new Set()): ReadonlySet<string> => {
  if (!isObject(value)) return found
  for (const [key, item] of Object.entries(value)) {
    if (isScalar(item)) found.add(`${key}=${item}`)
    else entriesIn(item, found)
  }
  return found
}

/** What people have had in an object under a key, and have no more. */
const takenOffIn = ({ entries }: Recording, object: KubeObject): ReadonlySet<string> => {
  const now = entriesIn(asked(object))
  const had = entries.flatMap((entry) =>
    entry._tag === "Change" && entry.change.object.metadata.uid === object.metadata.uid
      ? [...entriesIn(asked(entry.change.object))]
      : []
  )
  return new Set(had.filter((entry) => !now.has(entry)))
}

/** Annotations anywhere in an object, by path. */
const annotationsIn = (
  value: unknown,
  path: string
): ReadonlyArray<readonly [path: string, key: string, text: string]> =>
  Array.isArray(value)
    ? value.flatMap((item, index) => annotationsIn(item, `${path}[${index}]`))
    : isObject(value)
    ? Object.entries(value).flatMap(([key, item]) =>
      key === "annotations" && isObject(item)
        ? Object.entries(item).map(([its, text]) => [`${path}.${key}`, its, String(text)] as const)
        : annotationsIn(item, `${path}.${key}`)
    )
    : []

/**
 * An annotation that people had asked for by this key, with this text, and ask for no more. Others tell what has been done,
 * and stay.
 */
export const stillAnnotated = (
  run: Recording,
  people: ReadonlyArray<KubeObject>,
  families: Iterable<string>,
  state: State,
  other: State
): string | undefined => {
  const gone = new Set(people.flatMap((object) => [...takenOffIn(run, object)]))
  if (gone.size === 0 || people.some(isPaused) || isTold(run)) return undefined
  for (const family of families) {
    const [one, two] = [state.get(family) ?? [], other.get(family) ?? []]
    if (one.length !== 1 || two.length !== 1) continue
    const [found, wanted] = [one, two].map(([member]) => annotationsIn(JSON.parse(member!), family))
    const left = found!.find(([path, key, text]) =>
      gone.has(`${key}=${text}`) && !wanted!.some(([its, name]) => its === path && name === key)
    )
    if (left !== undefined) return `${left[0]}.${left[1]}: ${JSON.stringify(left[2])}, which nobody asks for any more`
  }
  return undefined
}

/** Fields that are as they were made for good. */
const fixed = /\.(?:volumeClaimTemplates|selector|serviceName|roleRef|provisioner|storageClassName)(?:\.|\[|$)/

export interface Place {
  readonly path: string
  readonly found: Scalar
  readonly wanted: Scalar
}

/** Where two values are not the same, both being there. */
export const places = (found: unknown, wanted: unknown, path: string): ReadonlyArray<Place> => {
  if (Array.isArray(found) && Array.isArray(wanted)) {
    return found.length === wanted.length
      ? found.flatMap((item, index) => places(item, wanted[index], `${path}[${index}]`))
      : []
  }
  if (isObject(found) && isObject(wanted)) {
    return Object.keys(found).flatMap((key) => key in wanted ? places(found[key], wanted[key], `${path}.${key}`) : [])
  }
  const [one, two] = [plain(found, path), plain(wanted, path)]
  return isScalar(one) && isScalar(two) && one !== two && !fixed.test(path) ? [{ path, found: one, wanted: two }] : []
}

/** The value at a path that `places` tells of. */
export const scalarAt = (value: unknown, path: string, of: string): Scalar | undefined => {
  if (path === of) {
    const said = plain(value, path)
    return isScalar(said) ? said : undefined
  }
  const entries = Array.isArray(value)
    ? value.map((item, index) => [`${path}[${index}]`, item] as const)
    : isObject(value)
    ? Object.entries(value).map(([key, item]) => [`${path}.${key}`, item] as const)
    : []
  for (const [inner, item] of entries) {
    if (!of.startsWith(inner)) continue
    const found = scalarAt(item, inner, of)
    if (found !== undefined) return found
  }
  return undefined
}

/** What an object was made with: not its status, nor notes. */
export const madeWith = (member: string): Fields => {
  const { metadata, status: _, ...rest } = JSON.parse(member) as Fields
  return { ...rest, labels: (metadata as Fields)["labels"] ?? {} }
}

/** Whether another object of the kind has a value: the one whose turn it is. */
export const isElsewhere = (state: State, family: string, value: Scalar): boolean => {
  const kind = family.slice(0, family.indexOf(" ") + 1)
  const text = JSON.stringify(value)
  return [...state].some(([other, members]) =>
    other !== family && other.startsWith(kind) &&
    members.some((member) => JSON.stringify(madeWith(member)).includes(text))
  )
}

/** Whether something said the same at a place at all rests that have known it. */
const hasStayed = (known: ReadonlyArray<unknown>, wanted: unknown, from: string, { found, path }: Place): boolean =>
  known.length > 0 &&
  known.every((fields) => places(fields, wanted, from).some((place) => place.path === path && place.found === found))

/** What the only one of a family was made with; nothing where there is none, or more. */
export const onlyMember = (state: State, family: string): ReadonlyArray<Fields> => {
  const members = state.get(family) ?? []
  return members.length === 1 ? members.map(madeWith) : []
}

/** What a family was at each rest that has known one of it. */
const membersOf = (rests: ReadonlyArray<State>, family: string): ReadonlyArray<Fields> =>
  rests.flatMap((rest) => onlyMember(rest, family))

/** Yes and no are said of everything: which of them is meant the name tells. */
const isSwitch = (text: string): boolean => text === "true" || text === "false"

export const keyOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/** What people have replaced of what a place says, where it does not say the new. */
const changeOf = (all: ReadonlyArray<Replaced>, place: Place): Replaced | undefined =>
  all.find(({ now, old, path }) =>
    String(place.wanted).includes(now) && String(place.wanted).replaceAll(now, old) === String(place.found) &&
    (!isSwitch(now) || keyOf(path) === keyOf(place.path))
  )

const told = ({ found, path, wanted }: Place, { path: theirs }: Replaced): string => {
  const [now, then] = [found, wanted].map((value: Json) => JSON.stringify(value))
  return `${path}: ${now}, as ${theirs} was before; if all steps are taken at once, it is ${then}`
}

/** What people have replaced, unless they have asked for it to rest, or were told that it does. */
const changesOf = (run: Recording, people: ReadonlyArray<KubeObject>): ReadonlyArray<Replaced> => {
  const all = people.flatMap((object) => replacedIn(run, object))
  return all.length === 0 || people.some(isPaused) || isTold(run) ? [] : all
}

/** Whether an autoscaler says how many there are. */
export const isScaled = (state: State, family: string, path: string): boolean => {
  if (keyOf(path) !== "replicas") return false
  const [kind, place = ""] = family.split(" ")
  const [namespace, name] = place.split("/")
  return [...state].some(([other, members]) =>
    other.startsWith(`HorizontalPodAutoscaler ${namespace}/`) && members.some((member) => {
      const { spec } = JSON.parse(member) as { readonly spec?: { readonly scaleTargetRef?: Fields } }
      return spec?.scaleTargetRef?.["kind"] === kind && spec?.scaleTargetRef?.["name"] === name
    })
  )
}

/** What a run has in some families as people wanted it before, and `other`, where all comes at once, as they want it. */
export const outdated = (
  run: Recording,
  people: ReadonlyArray<KubeObject>,
  families: Iterable<string>,
  state: State,
  other: State,
  rests: ReadonlyArray<State>
): string | undefined => {
  const all = changesOf(run, people)
  if (all.length === 0) return undefined
  for (const family of families) {
    const [one, two] = [state.get(family) ?? [], other.get(family) ?? []]
    if (one.length !== 1 || two.length !== 1) continue
    const [found, wanted] = [madeWith(one[0]!), madeWith(two[0]!)]
    if (found["immutable"] === true) continue
    for (const place of places(found, wanted, family)) {
      const change = changeOf(all, place)
      if (change === undefined || isElsewhere(state, family, place.wanted)) continue
      if (isScaled(state, family, place.path)) continue
      if (hasStayed(membersOf(rests, family), wanted, family, place)) return told(place, change)
    }
  }
  return undefined
}

/** The cluster at a rest, and what people wanted then. */
export interface Rest {
  readonly state: State
  readonly wanted: string
}

/**
 * What is as it was when people wanted something else, though they want again what they wanted before that, and then it was
 * as it is where they want that at once: it has followed them there, and not back.
 */
export const notBack = (
  rests: ReadonlyArray<Rest>,
  now: Rest,
  families: Iterable<string>,
  other: State
): string | undefined => {
  const before = rests.at(-1)
  if (before === undefined || before.wanted === now.wanted) return undefined
  const same = rests.slice(0, -1).filter(({ wanted }) => wanted === now.wanted)
  for (const family of families) {
    const [[found], [wanted], [last]] = [
      onlyMember(now.state, family),
      onlyMember(other, family),
      onlyMember(before.state, family)
    ]
    if (found === undefined || wanted === undefined || last === undefined || found["immutable"] === true) continue
    const once = same.flatMap(({ state }) => onlyMember(state, family))
    const stayed = stays({ found, wanted, last, once }, family)
    if (stayed !== undefined) return stayed
  }
  return undefined
}

/** What is there, what is wanted, what there was at the last rest, and at those at which the same was wanted. */
interface Then {
  readonly found: unknown
  readonly wanted: unknown
  readonly last: unknown
  readonly once: ReadonlyArray<unknown>
}

/** Where something is as it was at the last rest, and not as it was when the same was wanted before. */
const stays = ({ found, last, once, wanted }: Then, from: string): string | undefined => {
  for (const place of places(found, wanted, from)) {
    const said = (fields: unknown): Scalar | undefined => scalarAt(fields, from, place.path)
    if (said(last) !== place.found || !once.some((fields) => said(fields) === place.wanted)) continue
    const [is, was] = [place.found, place.wanted].map((value: Json) => JSON.stringify(value))
    return `${place.path}: ${is}, as before; when the same was wanted earlier, it was ${was}`
  }
  return undefined
}

/** Whether the operator vouches for what is outside, by a finalizer on what people have. */
const vouches = ({ metadata: { finalizers = [] } }: KubeObject): boolean =>
  finalizers.some((finalizer) => finalizer !== guard)

/** What there was outside at a rest, and what people wanted then. */
export interface RestOutside {
  readonly outside: ReadonlyMap<string, unknown>
  readonly wanted: string
}

/** The same of what is kept outside, by an operator that vouches for it. */
export const notBackOutside = (
  run: Recording,
  rests: ReadonlyArray<RestOutside>,
  only: KubeObject,
  wanted: string,
  other: Recording,
  mask: Mask
): string | undefined => {
  const before = rests.at(-1)
  if (before === undefined || before.wanted === wanted || !vouches(only)) return undefined
  const same = rests.slice(0, -1).filter((rest) => rest.wanted === wanted)
  const rename = renamerOf(run, mask)
  for (const name of run.outside.keys()) {
    const at = (rest: Pick<Recording, "outside">): Json | undefined => outside(rest, name, mask, rename)
    const then = {
      found: at(run),
      wanted: outside(other, name, mask, renamerOf(other, mask)),
      last: at(before),
      once: same.map(at)
    }
    const stayed = stays(then, pathOf(name))
    if (stayed !== undefined) return stayed
  }
  return undefined
}

/**
 * The same of what is kept outside. Only of an operator that vouches for it, by a finalizer on what people have: what was
 * sent, or bought, and is nobody's business any more, says what was wanted then.
 */
export const outdatedOutside = (
  run: Recording,
  people: ReadonlyArray<KubeObject>,
  other: Recording,
  mask: Mask
): string | undefined => {
  if (!people.some(vouches)) return undefined
  const all = changesOf(run, people)
  if (all.length === 0) return undefined
  const rename = renamerOf(run, mask)
  for (const name of run.outside.keys()) {
    const from = pathOf(name)
    const found = outside(run, name, mask, rename)
    const wanted = outside(other, name, mask, renamerOf(other, mask))
    const known = run.rests.flatMap((rest) => (rest && outside(rest, name, mask, rename)) ?? [])
    for (const place of places(found, wanted, from)) {
      const change = changeOf(all, place)
      if (change === undefined || JSON.stringify(found).includes(JSON.stringify(place.wanted))) continue
      if (hasStayed(known, wanted, from, place)) return told(place, change)
    }
  }
  return undefined
}
