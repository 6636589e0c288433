/**
 * `Dealt`: two states that differ only in which share was given to each of some custom resources.
 *
 * A few shards, zones or numbers are given out on request, each to several objects. Who asks first is chance; what an
 * object has, it keeps. So a share is given once and never changed, does not follow from anything that people asked
 * for, and both states have the same number of each.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import type { Recording } from "../recording/Recording.ts"
import type { Json, State } from "./Canonical.ts"

type Path = ReadonlyArray<string>

/** A number, or a text with a digit: a phase is not given out. */
const isShare = (value: unknown): boolean =>
  typeof value === "number" || (typeof value === "string" && /\d/.test(value))

/** Where two values differ; undefined if anything other than shares does. */
const places = (one: Json | undefined, two: Json | undefined, path: Path): ReadonlyArray<Path> | undefined => {
  if (JSON.stringify(one) === JSON.stringify(two)) return []
  // Where there are not enough for all, who comes last has none.
  const [first, second] = isObject(one) || isObject(two) ? [one ?? {}, two ?? {}] : [one, two]
  if (!isObject(first) || !isObject(second)) {
    return [one, two].every((value) => value === undefined || isShare(value)) ? [path] : undefined
  }
  const found: Array<Path> = []
  for (const key of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const inside = places(first[key] as Json, second[key] as Json, [...path, key])
    if (inside === undefined) return undefined
    found.push(...inside)
  }
  return found
}

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((found, key) => isObject(found) ? found[key] : undefined, value)

/** Whether a custom resource kept its value at a place, once it had one. */
const isKept = ({ entries }: Recording, kind: string, path: Path): boolean => {
  const told = new Map<string, unknown>()
  return entries.every((entry) => {
    if (entry._tag !== "Change" || entry.change.object.kind !== kind) return true
    const { object } = entry.change
    const [now, before] = [at(object, path), told.get(object.metadata.uid)]
    if (before !== undefined && now !== before) return false
    if (now !== undefined) told.set(object.metadata.uid, now)
    return true
  })
}

/** Everything that people's objects ask for. */
const asked = (objects: ReadonlyArray<KubeObject>): ReadonlySet<unknown> => {
  const all = new Set<unknown>()
  JSON.stringify(objects.map(({ spec }: KubeObject & { readonly spec?: unknown }) => spec), (_, value: unknown) => {
    all.add(value)
    return value
  })
  return all
}

/** Whether a run's end, `actual`, equals `expected` except for the shares of custom resources. */
export const dealt = (run: Recording, expected: State, actual: State): boolean => {
  const shares = new Map<string, { readonly one: Array<unknown>; readonly two: Array<unknown>; readonly path: Path }>()
  if (actual.size !== expected.size) return false
  for (const [family, members] of expected) {
    const others = actual.get(family)
    if (others?.length !== members.length) return false
    for (const [index, member] of members.entries()) {
      if (member === others[index]) continue
      const [one, two] = [JSON.parse(member) as Json, JSON.parse(others[index]!) as Json]
      const paths = places(one, two, [])
      if (paths === undefined) return false
      const kind = family.slice(0, family.indexOf(" "))
      for (const path of paths) {
        if (path[0] !== "status" || !run.kinds.includes(kind)) return false
        const key = `${kind} ${path.join(".")}`
        const known = shares.get(key) ?? { one: [], two: [], path: [kind, ...path] }
        known.one.push(at(one, path))
        known.two.push(at(two, path))
        shares.set(key, known)
      }
    }
  }
  const wanted = asked(run.objects.filter(({ kind }) => run.kinds.includes(kind)))
  const sorted = (values: ReadonlyArray<unknown>) => JSON.stringify(values.map((value) => String(value)).toSorted())
  return shares.size > 0 &&
    [...shares.values()].every(({ one, path: [kind, ...path], two }) =>
      sorted(one) === sorted(two) && !one.some((value) => wanted.has(value)) && isKept(run, kind!, path)
    )
}
