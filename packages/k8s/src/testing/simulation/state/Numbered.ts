/**
 * `Numbered`: two states that differ only in how far the numbers in names have advanced.
 *
 * A program that never reuses a name records the next number first; if the process dies in between, that number is
 * skipped. So a number in a status is as good as another if, in both runs, it is the last number of a name that was
 * given for that custom resource, or the next one. A count of anything else is a difference.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { calls, type Recording } from "../recording/Recording.ts"
import * as Canonical from "./Canonical.ts"
import { numbersIn } from "./History.ts"

type Told = KubeObject & { readonly status?: unknown }

const numbered = /-(\d+)$/

/**
 * The last number in the names that were given for an object: they begin with its name, or it is the owner. Those that
 * were given before it existed were for another of its name.
 */
const lastFor = (run: Recording, { metadata: { name, uid } }: KubeObject): number => {
  const since = run.entries.find((entry) => entry._tag === "Change" && entry.change.object.metadata.uid === uid)?.at ??
    0
  return Math.max(
    ...calls(run).flatMap(({ at, object, status }) => {
      const own = (at >= since && object?.metadata.name.startsWith(`${name}-`) === true) ||
        object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
      const found = status === 201 && own ? numbered.exec(object!.metadata.name) : null
      return found === null ? [] : [Number(found[1])]
    })
  )
}

/**
 * By path, the distance of the numbers in the statuses of a kind from the last numbers in names, if it is the same for
 * all.
 */
const distances = (run: Recording): ReadonlyMap<string, number> => {
  const found = new Map<string, number>()
  const others = new Set<string>()
  for (const object of run.objects.filter(({ kind }) => run.kinds.includes(kind)) as ReadonlyArray<Told>) {
    const last = lastFor(run, object)
    for (const [path, number] of numbersIn(object.status, `${object.kind}.status`)) {
      const known = found.get(path) ?? number - last
      if (known === number - last && (known === 0 || known === 1)) found.set(path, known)
      else others.add(path)
    }
  }
  return new Map([...found].filter(([path]) => !others.has(path)))
}

/** Paths of the numbers for names, in both runs. */
const nextIn = (one: Recording, two: Recording): ReadonlySet<string> => {
  const [first, second] = [distances(one), distances(two)]
  return new Set([...first].flatMap(([path, distance]) => (second.get(path) === distance ? [path] : [])))
}

/** A state without these numbers. */
const without = (state: Canonical.State, paths: ReadonlySet<string>): Canonical.State => {
  const blank = (value: unknown, path: string): unknown =>
    typeof value === "number" && paths.has(path)
      ? "(number)"
      : isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, blank(item, `${path}.${key}`)]))
      : value
  return new Map(
    [...state].map(([family, members]) => {
      const kind = family.slice(0, family.indexOf(" "))
      return [family, members.map((member) => JSON.stringify(blank(JSON.parse(member), kind))).toSorted()]
    })
  )
}

/** Whether both runs have numbers in names that are never reused. */
export const areNumbered = (one: Recording, two: Recording): boolean => nextIn(one, two).size > 0

/** Whether the only difference is how far the numbers for names have advanced. */
export const isNumbered = (
  one: Recording,
  two: Recording,
  wanted: Canonical.State,
  found: Canonical.State
): boolean => {
  const paths = nextIn(one, two)
  return paths.size > 0 && Canonical.compare(without(wanted, paths), without(found, paths)).length === 0
}
