/**
 * `Outdated`: an object of the operator still has a value that users have replaced.
 *
 * At every rest the object has the former value at a place where it has the new one when all steps come at once: the
 * value was written with the object, and never again. Exempt are values that the operator reports to stay, objects that
 * cannot be changed or are paused, and objects in whose place another of the kind has the new value. The same goes for
 * what is kept outside.
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

/** A value that users have replaced, and the new one. */
interface Replaced {
  readonly path: string
  readonly old: string
  readonly now: string
}

export type Scalar = string | number | boolean

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

/** The texts of a value; a list of words may also be written as one text. */
const textsOf = (value: unknown): ReadonlyArray<string> =>
  isScalar(value)
    ? [String(value)]
    : Array.isArray(value) && value.length > 0 && value.every(isScalar)
    ? [",", " ", "\n"].map((between) => value.join(between))
    : []

/** A value with the data of a Secret decoded. */
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

/** What users ask for with an object: all of it but what the cluster or the operator write. */
const asked = (object: KubeObject): Fields => {
  const { apiVersion: _, kind: __, metadata, status: ___, ...rest } = object as unknown as Fields & KubeObject
  return { ...rest, annotations: metadata.annotations, labels: metadata.labels }
}

/** The values that users have replaced in an object, between any of its states and the last. */
export const replacedIn = ({ entries }: Recording, object: KubeObject): ReadonlyArray<Replaced> => {
  const found: Array<Replaced> = []
  for (const entry of entries) {
    if (entry._tag !== "Change" || entry.change.object.metadata.uid !== object.metadata.uid) continue
    replaced(asked(entry.change.object), asked(object), object.kind, found)
  }
  return [...new Map(found.map((one) => [JSON.stringify(one), one])).values()]
}

/** The scalars in a value with their keys, each as `key=text`. */
const entriesIn = (value: unknown, found: Set<string> = new Set()): ReadonlySet<string> => {
  if (!isObject(value)) return found
  for (const [key, item] of Object.entries(value)) {
    if (isScalar(item)) found.add(`${key}=${item}`)
    else entriesIn(item, found)
  }
  return found
}

/** The entries `key=text` that users have removed from an object. */
const takenOffIn = ({ entries }: Recording, object: KubeObject): ReadonlySet<string> => {
  const now = entriesIn(asked(object))
  const had = entries.flatMap((entry) =>
    entry._tag === "Change" && entry.change.object.metadata.uid === object.metadata.uid
      ? [...entriesIn(asked(entry.change.object))]
      : []
  )
  return new Set(had.filter((entry) => !now.has(entry)))
}

/** All annotations in an object and its templates, with their paths. */
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
 * An annotation whose key and text users had asked for and no longer do. Other annotations record what was done, and
 * may stay.
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

/** Fields that are immutable. */
const fixed = /\.(?:volumeClaimTemplates|selector|serviceName|roleRef|provisioner|storageClassName)(?:\.|\[|$)/

export interface Place {
  readonly path: string
  readonly found: Scalar
  readonly wanted: Scalar
}

/** The places at which two values have different scalars. */
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

/** The value at a path of `places`. */
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

/** An object without its status and annotations. */
export const madeWith = (member: string): Fields => {
  const { metadata, status: _, ...rest } = JSON.parse(member) as Fields
  return { ...rest, labels: (metadata as Fields)["labels"] ?? {} }
}

/** Whether another object of the kind has the value: the two take turns. */
export const isElsewhere = (state: State, family: string, value: Scalar): boolean => {
  const kind = family.slice(0, family.indexOf(" ") + 1)
  const text = JSON.stringify(value)
  return [...state].some(([other, members]) =>
    other !== family && other.startsWith(kind) &&
    members.some((member) => JSON.stringify(madeWith(member)).includes(text))
  )
}

/** Whether the value at a place was the same at all rests at which the object existed. */
const hasStayed = (known: ReadonlyArray<unknown>, wanted: unknown, from: string, { found, path }: Place): boolean =>
  known.length > 0 &&
  known.every((fields) => places(fields, wanted, from).some((place) => place.path === path && place.found === found))

/** The only member of a family, without its status; empty if there is none, or more than one. */
export const onlyMember = (state: State, family: string): ReadonlyArray<Fields> => {
  const members = state.get(family) ?? []
  return members.length === 1 ? members.map(madeWith) : []
}

/** The only member of a family at each rest that has one. */
const membersOf = (rests: ReadonlyArray<State>, family: string): ReadonlyArray<Fields> =>
  rests.flatMap((rest) => onlyMember(rest, family))

/** Booleans are everywhere, so only a name can tell which one is meant. */
const isSwitch = (text: string): boolean => text === "true" || text === "false"

export const keyOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/** The change by users whose former value is at a place that does not have the new one. */
const changeOf = (all: ReadonlyArray<Replaced>, place: Place): Replaced | undefined =>
  all.find(({ now, old, path }) =>
    String(place.wanted).includes(now) && String(place.wanted).replaceAll(now, old) === String(place.found) &&
    (!isSwitch(now) || keyOf(path) === keyOf(place.path))
  )

const told = ({ found, path, wanted }: Place, { path: theirs }: Replaced): string => {
  const [now, then] = [found, wanted].map((value: Json) => JSON.stringify(value))
  return `${path}: ${now}, as ${theirs} was before; if all steps are taken at once, it is ${then}`
}

/** The values that users have replaced; none if they have paused the operator or it reports that something stays. */
const changesOf = (run: Recording, people: ReadonlyArray<KubeObject>): ReadonlyArray<Replaced> => {
  const all = people.flatMap((object) => replacedIn(run, object))
  return all.length === 0 || people.some(isPaused) || isTold(run) ? [] : all
}

/** Whether an autoscaler decides the number at a path. */
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

/** What is outdated in some families. `other` is the cluster if all steps come at once. */
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

/** The cluster at a rest, and what users asked for then. */
export interface Rest {
  readonly state: State
  readonly wanted: string
}

/**
 * What has not followed users back: they ask again for what they asked for before, and something is as it was in
 * between, although it was then as it is when the spec is applied at once.
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

/** A value now, as wanted, at the last rest, and at the rests at which users asked for the same. */
interface Then {
  readonly found: unknown
  readonly wanted: unknown
  readonly last: unknown
  readonly once: ReadonlyArray<unknown>
}

/** Where a value is as it was at the last rest, and not as when users asked for the same before. */
const stays = ({ found, last, once, wanted }: Then, from: string): string | undefined => {
  for (const place of places(found, wanted, from)) {
    const said = (fields: unknown): Scalar | undefined => scalarAt(fields, from, place.path)
    if (said(last) !== place.found || !once.some((fields) => said(fields) === place.wanted)) continue
    const [is, was] = [place.found, place.wanted].map((value: Json) => JSON.stringify(value))
    return `${place.path}: ${is}, as before; when the same was wanted earlier, it was ${was}`
  }
  return undefined
}

/** Whether the operator is responsible for the outside state: it has a finalizer on the users' object. */
const vouches = ({ metadata: { finalizers = [] } }: KubeObject): boolean =>
  finalizers.some((finalizer) => finalizer !== guard)

/** The outside state at a rest, and what users asked for then. */
export interface RestOutside {
  readonly outside: ReadonlyMap<string, unknown>
  readonly wanted: string
}

/** As `notBack`, for the outside state of an operator that is responsible for it. */
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
 * As `outdated`, for the outside state. Only if the operator is responsible for it: what was sent or bought, and is
 * over, is as it was wanted then.
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
