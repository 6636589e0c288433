/**
 * `Derived`: what is computed from a spec changes when the spec does.
 *
 * A disruption budget is one less than the replicas, a text names a host. If it is written once and never again, it is
 * outdated in every run, so no end differs, and it contains no value of the spec that `Outdated` could look for. Two
 * stories show it: users change one value and nothing else; an object that is created after the change has another
 * value than one that is created before it; and an object that already exists keeps the former one, at that rest and at
 * all later ones. Exempt are statuses, values that others write, and what the operator reports to stay.
 *
 * In a status, only words count: it keeps a word that users have replaced, does not contain the new one, and nothing
 * else in the cluster or outside has the old one any more, so there is nothing that it could refer to.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { isPaused } from "../recording/Excuses.ts"
import type { Recording, Rest } from "../recording/Recording.ts"
import type { Reference } from "../running/Reference.ts"
import * as Canonical from "../state/Canonical.ts"
import { copyOf, entriesOf, itemsOf } from "../state/Outside.ts"
import {
  type Fields,
  isElsewhere,
  isScalar,
  isScaled,
  keyOf,
  onlyMember,
  type Place,
  places,
  replacedIn,
  type Scalar,
  scalarAt
} from "./Outdated.ts"

/** What existed after each step, at its rest or at the end; undefined if the next step did not wait. */
const momentsOf = (run: Recording): ReadonlyArray<Rest | undefined> => [...run.rests, run]

const objectIn = (moment: Rest | undefined, { kind, metadata: { name, namespace } }: KubeObject) =>
  moment?.objects.find((object) =>
    object.kind === kind && object.metadata.name === name && object.metadata.namespace === namespace
  )

const specOf = (object: KubeObject): unknown => (object as { readonly spec?: unknown }).spec

/** The paths at which two values have different scalars; undefined stands for any other difference. */
const differences = (one: unknown, two: unknown, path: string): ReadonlyArray<string | undefined> => {
  if (JSON.stringify(one) === JSON.stringify(two)) return []
  if (isObject(one) && isObject(two) && !Array.isArray(one) && !Array.isArray(two)) {
    return [...new Set([...Object.keys(one), ...Object.keys(two)])]
      .flatMap((key) => differences(one[key], two[key], `${path}.${key}`))
  }
  return [isScalar(one) && isScalar(two) ? path : undefined]
}

/** The steps, from the second one on, in which users change exactly one value of the object, with its path. */
const turnsOf = (moments: ReadonlyArray<Rest | undefined>, own: KubeObject) =>
  moments.flatMap((moment, step) => {
    const [before, after] = [moments[step - 1], moment].map((rest) => objectIn(rest, own))
    if (before === undefined || after === undefined || isPaused(before) || isPaused(after)) return []
    const [path, ...more] = differences(specOf(before), specOf(after), `${own.kind}.spec`)
    return path === undefined || more.length > 0 ? [] : [{ step, path, spec: [specOf(before), specOf(after)] as const }]
  })

/** The cluster if a number of steps come at once, provided that the object then has the given spec. */
const madeAfter = ({ hasty, mask }: Reference, own: KubeObject, steps: number, spec: unknown) => {
  const { recording } = hasty(Array.from({ length: steps }, (_, index) => index + 1))
  const [moment] = momentsOf(recording)
  const object = objectIn(moment, own)
  if (moment === undefined || object === undefined || recording.failure !== undefined) return undefined
  if (JSON.stringify(specOf(object)) !== JSON.stringify(spec)) return undefined
  return Canonical.state({ entries: recording.entries, ...moment }, mask)
}

/** What has not followed the spec, in the given families. `state` is the end, `atOnce` that of all steps at once. */
export const derived = (
  run: Recording,
  reference: Reference,
  own: KubeObject,
  families: Iterable<string>,
  state: Canonical.State,
  atOnce: Canonical.State
): string | undefined => {
  const moments = momentsOf(run)
  const turns = turnsOf(moments, own)
  if (turns.length === 0) return undefined
  const states = moments.map((moment) => moment && Canonical.state({ entries: run.entries, ...moment }, reference.mask))
  const saidIn = (known: Canonical.State | undefined, family: string, { path }: Place): Scalar | undefined => {
    const [fields] = known === undefined ? [] : onlyMember(known, family)
    return fields && scalarAt(fields, family, path)
  }
  for (const family of families) {
    const [[found], [wanted]] = [onlyMember(state, family), onlyMember(atOnce, family)]
    if (found === undefined || wanted === undefined || found["immutable"] === true) continue
    for (const place of places(found, wanted, family)) {
      if (isElsewhere(state, family, place.wanted) || isScaled(state, family, place.path)) continue
      const turn = turns.find(({ spec: [before, after], step }) => {
        if (!states.slice(step - 1).every((known) => saidIn(known, family, place) === place.found)) return false
        if (saidIn(madeAfter(reference, own, step - 1, before), family, place) !== place.found) return false
        const anew = saidIn(madeAfter(reference, own, step, after), family, place)
        return anew !== undefined && anew !== place.found
      })
      if (turn === undefined) continue
      const [is, was] = [place.found, place.wanted].map((value) => JSON.stringify(value))
      return `${place.path}: ${is}, as it was made, and has not followed ${turn.path}; where people want at once what ` +
        `they want in the end it is ${was}`
    }
  }
  return undefined
}

/** Names of status fields that speak of the past. */
const historical = /initial|first|origin|creat|previous|prior|last|former|old|found/i

/** Matches a text as a whole word. */
const asWord = (text: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}])${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\p{L}\\p{N}])`, "u")

const textsIn = (value: unknown): ReadonlyArray<string> =>
  isScalar(value)
    ? [String(value)]
    : [
      ...(entriesOf(value) ?? []).flatMap(([key, item]) => [key, ...textsIn(item)]),
      ...(itemsOf(value) ?? []).flatMap(textsIn)
    ]

/** All texts in the cluster, except for the status of one object, and in the outside state. */
const saidElsewhere = (state: Canonical.State, own: string, outside: Recording["outside"]): ReadonlyArray<string> => [
  ...[...state].flatMap(([family, members]) => [
    family,
    ...members.flatMap((member) => {
      const { status, ...fields } = JSON.parse(member) as Fields
      return textsIn(family === own ? fields : { ...fields, status })
    })
  ]),
  ...[...outside].flatMap(([name, value]) => [name, ...textsIn(copyOf(value))])
]

/** Where the status of the users' object keeps a word that they have replaced and that nothing else still has. */
export const toldOfBefore = (
  run: Recording,
  own: KubeObject,
  family: string | undefined,
  rests: ReadonlyArray<Canonical.State>,
  state: Canonical.State,
  atOnce: Canonical.State
): string | undefined => {
  if (family === undefined) return undefined
  const statusIn = (known: Canonical.State): unknown => {
    const [member, ...more] = known.get(family) ?? []
    return member === undefined || more.length > 0 ? undefined : (JSON.parse(member) as Fields)["status"]
  }
  const from = `${own.kind}.status`
  const [found, wanted] = [statusIn(state), statusIn(atOnce)]
  const changes = replacedIn(run, own)
  for (const place of places(found, wanted, from)) {
    if (typeof place.found !== "string" || historical.test(keyOf(place.path))) continue
    const before = rests.map((rest) => scalarAt(statusIn(rest), from, place.path)).filter((said) => said !== undefined)
    if (before.length === 0 || before.some((said) => said !== place.found)) continue
    for (const { now, old, path } of changes) {
      const [then, new_] = [asWord(old), asWord(now)]
      const isOld = then.test(place.found) && !new_.test(place.found)
      const isNew = new_.test(String(place.wanted)) && !then.test(String(place.wanted))
      if (!isOld || !isNew || textsIn(found).some((text) => new_.test(text))) continue
      if (saidElsewhere(state, family, run.outside).some((text) => then.test(text))) continue
      return `${place.path}: ${JSON.stringify(place.found)}, of when ${path} was ${
        JSON.stringify(old)
      }, of which there is ` +
        `nothing any more; where people want at once what they want in the end it is ${JSON.stringify(place.wanted)}`
    }
  }
  return undefined
}
