/**
 * `Stations`: lists in a status that tell what an object has passed through.
 *
 * Where it has come to rest, everybody has seen it; what it was in between (`Rolling`, before `Running`) nobody has to have
 * seen, and with faults it may be so twice. Of such a list, which only grows, what counts is where all was at rest, in its
 * order. What speaks of something that is there is no past: members, Pods, addresses are compared as they are.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../schema/JsonValue.ts"
import type * as Canonical from "./Canonical.ts"
import { entriesOf, itemsOf } from "./Outside.ts"
import type { Recording } from "./Recording.ts"
import { isTime, timeless } from "./Times.ts"

type List = ReadonlyArray<unknown>

/** Where it is: of which object, and where in its status. */
const placeOf = ({ kind, metadata: { name, namespace } }: KubeObject, path: string): string =>
  `${kind} ${namespace ?? ""}/${name} ${path}`

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

/** A value with other lists in the place of some. */
const relisted = (value: unknown, path: string, change: (list: List, path: string) => List): unknown => {
  if (Array.isArray(value)) return change(value, path)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, relisted(item, `${path}.${key}`, change)]))
}

/** The lists in an object's status, by path. */
const listsOf = (object: KubeObject): ReadonlyMap<string, List> => {
  const found = new Map<string, List>()
  relisted(statusOf(object), "status", (list, path) => {
    if (!path.endsWith(".conditions")) found.set(path, list)
    return list
  })
  return found
}

const textOf = (item: unknown): string => timeless(JSON.stringify(item))

/** The texts in a value, but for times. */
const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? isTime(value) ? [] : [value]
    : [...itemsOf(value) ?? (entriesOf(value) ?? []).map(([, item]) => item)].flatMap(textsIn)

/** Stations by place: what a list ended with at a rest. */
type Stations = ReadonlyMap<string, ReadonlySet<string>>

const stations = ({ kinds, objects, outside, rests }: Recording): Stations => {
  const found = new Map<string, ReadonlySet<string>>()
  for (const object of objects.filter(({ kind }) => kinds.includes(kind))) {
    for (const [path, list] of listsOf(object)) {
      const before = rests.flatMap((rest) => {
        const then = rest?.objects.find(({ metadata }) => metadata.uid === object.metadata.uid)
        return then === undefined ? [] : [listsOf(then).get(path) ?? []]
      })
      const told = list.map(textOf)
      if (!before.every((earlier) => earlier.every((item, index) => textOf(item) === told[index]))) continue
      const ends = new Set([...before, list].flatMap((one) => (one.length === 0 ? [] : [textOf(one.at(-1))])))
      const passed = list.filter((item) => !ends.has(textOf(item)))
      const rest = relisted(statusOf(object), "status", (other, at) => (at === path ? [] : other))
      const there = new Set(
        [...objects.filter((other) => other !== object), { ...object, status: rest }, ...outside.values()].flatMap(
          textsIn
        )
      )
      const isPast = passed.every((item) => {
        const texts = textsIn(item)
        return texts.length > 0 && !texts.some((text) => there.has(text))
      })
      if (passed.length > 0 && isPast) found.set(placeOf(object, path), ends)
    }
  }
  return found
}

/** What a run came to, with no more than their stations in such lists. */
const reduced = (run: Canonical.Run, known: Stations): Canonical.Run => ({
  ...run,
  objects: run.objects.map((object) => {
    const status = relisted(statusOf(object), "status", (list, path) => {
      const ends = known.get(placeOf(object, path))
      const told = list.filter((item) => ends?.has(textOf(item)) !== false)
      return ends === undefined ? list : told.filter((item, index) => textOf(item) !== textOf(told[index - 1] ?? null))
    })
    return status === undefined ? object : { ...object, status }
  })
})

/** Two runs, the second as it is to be, with no more than stations in the lists that tell of them; nothing without such. */
export const ofBoth = (run: Recording, expected: Recording): readonly [Canonical.Run, Canonical.Run] | undefined => {
  const known = stations(expected)
  return known.size === 0 ? undefined : [reduced(run, known), reduced(expected, known)]
}
