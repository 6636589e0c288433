/**
 * `Numbered`: two states that differ in nothing but how far the numbers have gone that names are made of.
 *
 * Who never gives a name twice notes the next number before, and a process that dies between the two leaves one out. So a
 * number in a status is as good as another one, if in either run it is the last one of a name that was given for that
 * custom resource, or the next. A count of anything else is a difference.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { calls, type Recording } from "../recording/Recording.ts"
import * as Canonical from "./Canonical.ts"
import { numbersIn } from "./History.ts"

type Told = KubeObject & { readonly status?: unknown }

const numbered = /-(\d+)$/

/** The last number of the names that were given for an object: its name comes before it, or it is the owner. */
const lastFor = (run: Recording, { metadata: { name, uid } }: KubeObject): number =>
  Math.max(
    ...calls(run).flatMap(({ object, status }) => {
      const own = object?.metadata.name.startsWith(`${name}-`) === true ||
        object?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
      const found = status === 201 && own ? numbered.exec(object!.metadata.name) : null
      return found === null ? [] : [Number(found[1])]
    })
  )

/** How far the numbers in the statuses of a kind are from the last ones of names, where that is the same for all: by path. */
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

/** Paths of the numbers that names are made of, in both runs. */
const nextIn = (one: Recording, two: Recording): ReadonlySet<string> => {
  const [first, second] = [distances(one), distances(two)]
  return new Set([...first].flatMap(([path, distance]) => (second.get(path) === distance ? [path] : [])))
}

/** A state without them. */
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

/** Whether names have numbers that are never given twice, in both runs. */
export const areNumbered = (one: Recording, two: Recording): boolean => nextIn(one, two).size > 0

/** Whether all that differs is how far the numbers of names have gone. */
export const isNumbered = (
  one: Recording,
  two: Recording,
  wanted: Canonical.State,
  found: Canonical.State
): boolean => {
  const paths = nextIn(one, two)
  return paths.size > 0 && Canonical.compare(without(wanted, paths), without(found, paths)).length === 0
}
