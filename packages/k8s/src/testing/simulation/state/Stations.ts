/**
 * `Stations`: lists in a status that record what an object has passed through.
 *
 * Everybody has seen the states in which it was at rest. Those in between (`Rolling`, before `Running`) may have been
 * missed, or with faults seen twice. So of such a list, which only grows, only the states at rest count, in order.
 * Items that name something that exists are not the past: members, Pods and addresses are compared as they are.
 *
 * If people do not wait with a step, what such a list says about the rest before it
 * (`{ version: 1, state: Completed }`) may be different (`Partial`) or missing: there was no such rest.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import type { Recording } from "../recording/Recording.ts"
import { isTime, timeless } from "../recording/Times.ts"
import type * as Canonical from "./Canonical.ts"
import { entriesOf, itemsOf } from "./Outside.ts"

type List = ReadonlyArray<unknown>

/** The place of a list: its object, and its path in the status. */
const placeOf = ({ kind, metadata: { name, namespace } }: KubeObject, path: string): string =>
  `${kind} ${namespace ?? ""}/${name} ${path}`

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

/** A value with some lists replaced. */
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

/** The texts in a value, without times. */
const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? isTime(value) ? [] : [value]
    : [...itemsOf(value) ?? (entriesOf(value) ?? []).map(([, item]) => item)].flatMap(textsIn)

/** An object without what the cluster records about it: versions, revisions. */
const unnoted = ({ metadata: { labels, name }, ...rest }: KubeObject): object => ({
  ...rest,
  metadata: { labels, name }
})

/** Whether an item of a list names nothing that exists. */
const pastOf = ({ objects, outside }: Pick<Recording, "objects" | "outside">, object: KubeObject, path: string) => {
  const rest = relisted(statusOf(object), "status", (other, at) => (at === path ? [] : other))
  const told = [...objects.filter((other) => other !== object), { ...object, status: rest }].map(unnoted)
  const there = new Set([...told, ...outside.values()].flatMap(textsIn))
  return (item: unknown): boolean => {
    const texts = textsIn(item)
    return texts.length > 0 && !texts.some((text) => there.has(text))
  }
}

/** Stations by place: what the list ended with at a rest. */
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
      const isPast = pastOf({ objects, outside }, object, path)
      if (passed.length > 0 && passed.every(isPast)) found.set(placeOf(object, path), ends)
    }
  }
  return found
}

/** The result of a run, with such lists reduced to their stations. */
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

/**
 * Two runs, the second being the expected one, with such lists reduced to their stations; undefined if there are none.
 */
export const ofBoth = (run: Recording, expected: Recording): readonly [Canonical.Run, Canonical.Run] | undefined => {
  const known = stations(expected)
  return known.size === 0 ? undefined : [reduced(run, known), reduced(expected, known)]
}

/** The items of a list that are not in another. */
const without = (list: List, other: List): List => {
  const texts = new Set(other.map(textOf))
  return list.filter((item) => !texts.has(textOf(item)))
}

/** A list in an object's status at the rest after a step; empty if there was none yet. */
const listAt = ({ rests }: Recording, { metadata: { uid } }: KubeObject, path: string, step: number): List => {
  const then = rests[step]?.objects.find(({ metadata }) => metadata.uid === uid)
  return then === undefined ? [] : listsOf(then).get(path) ?? []
}

/** A run with the expected lists where they differ only in what they say about rests that did not happen. */
export const unrested = <A extends Recording>(run: A, expected: Recording): A => {
  if (run.hurried.length === 0 || run.steps.length !== expected.steps.length) return run
  const objects = run.objects.map((object) => {
    const other = expected.objects.find((one) => placeOf(one, "") === placeOf(object, ""))
    if (other === undefined || !run.kinds.includes(object.kind)) return object
    const lists = listsOf(other)
    const status = relisted(statusOf(object), "status", (found, path) => {
      const wanted = lists.get(path) ?? []
      const never = run.hurried.flatMap((step) =>
        without(listAt(expected, other, path, step - 1), listAt(expected, other, path, step - 2))
      )
      const [more, less] = [without(found, wanted), without(wanted, found)]
      const kept = (list: List, apart: List) => JSON.stringify(without(list, apart).map(textOf))
      const isPast = pastOf(run, object, path)
      return more.length <= never.length && without(less, never).length === 0 && [...more, ...less].every(isPast) &&
          kept(found, more) === kept(wanted, less)
        ? wanted
        : found
    })
    return status === undefined ? object : { ...object, status }
  })
  return { ...run, objects }
}
