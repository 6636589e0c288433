/**
 * `History`: what a status tells of what has happened, and truthfully: that something failed, and how often.
 *
 * A Pod that died, work that failed, a call to the outside that was refused are things that a custom resource may count and
 * report, as a Job counts its failed Pods. It is no other end than without them. Not so what only the operator can have
 * counted twice: its own deaths and lost answers are nobody's history. Nor is a number history that stands at 2 or more
 * where nothing has gone wrong: it says how much there is, and not how often something has happened; unless it is called
 * one that only grows (`memberCounter`, `nextOrdinal`), or has only grown, and at some rest there was not so much of
 * anything.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import type { ExternalFault, Kind } from "../recording/Fault.ts"
import type { Recording, Rest } from "../recording/Recording.ts"
import type { State } from "./Canonical.ts"
import { entriesOf, itemsOf } from "./Outside.ts"

/** Faults that others have had, and how often each may be counted: an outage is met as often as somebody tries. */
const others: ReadonlyMap<string, number> = new Map<Kind | ExternalFault, number>([
  ["podFailed", 1],
  ["podRemoved", 1],
  ["workFails", 2],
  ["externalFails", 1],
  ["externalLost", 1],
  ["externalSlow", 1],
  ["externalLate", 1],
  ["externalOutage", 50]
])

/** What a count of what happens stands at before anything has, at most. */
const first = 1

/** What a number is called that all there ever were have had one of. */
const grows = /(?:counter|sequence|serial|ordinal)$/i

const partsOf = (value: unknown): ReadonlyArray<unknown> =>
  itemsOf(value) ?? entriesOf(value)?.map(([, item]) => item) ?? []

/** How long the lists of a value are. */
const lengthsIn = (value: unknown): ReadonlyArray<number> => [
  ...itemsOf(value) === undefined ? [] : [partsOf(value).length],
  ...partsOf(value).flatMap(lengthsIn)
]

/** How much there is of something in a value: its numbers, and how long its lists and maps are. */
const amountsIn = (value: unknown): ReadonlyArray<number> =>
  typeof value === "number" ? [value] : [partsOf(value).length, ...partsOf(value).flatMap(amountsIn)]

type Told = KubeObject & { readonly spec?: unknown; readonly status?: unknown }

/** The numbers in a status, by path. */
export const numbersIn = (value: unknown, path: string): ReadonlyArray<readonly [path: string, number: number]> =>
  typeof value === "number"
    ? [[path, value]]
    : isObject(value)
    ? Object.entries(value).flatMap(([key, item]) => numbersIn(item, `${path}.${key}`))
    : []

/** How much there is of anything at a rest, in the eyes of an object. */
const amountsAt = ({ objects, outside }: Rest, { spec, status }: Told): ReadonlySet<number> => {
  const kinds = new Map<string, number>()
  for (const { kind } of objects) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  return new Set([
    ...amountsIn(spec),
    ...lengthsIn(status),
    ...kinds.values(),
    ...[...outside.values()].flatMap(amountsIn)
  ])
}

/** Where statuses have numbers that only grow, and count nothing that is there: `Box.status.created`. */
export const counters = ({ kinds, objects, outside, rests }: Recording): ReadonlySet<string> => {
  const points = [...rests.filter((rest) => rest !== undefined), { objects, outside }]
  const found = new Set<string>()
  for (const { kind, metadata: { uid } } of objects.filter(({ kind }) => kinds.includes(kind))) {
    const told = points.flatMap((rest) => {
      const then = rest.objects.find(({ metadata }) => metadata.uid === uid) as Told | undefined
      return then === undefined
        ? []
        : [{ amounts: amountsAt(rest, then), numbers: new Map(numbersIn(then.status, `${kind}.status`)) }]
    })
    for (const path of told.at(-1)?.numbers.keys() ?? []) {
      const series = told.map(({ amounts, numbers }) => ({ amounts, number: numbers.get(path) ?? 0 }))
      const grows = series.every(({ number }, index) => index === 0 || number >= series[index - 1]!.number)
      if (grows && series.some(({ amounts, number }) => number > first && !amounts.has(number))) found.add(path)
    }
  }
  return found
}

/** Counts may be higher by so many, and there may be more that speaks of a time; all else is the same. */
const tells = (
  wanted: unknown,
  found: unknown,
  times: number,
  counters: ReadonlySet<string>,
  path: string
): boolean => {
  if (typeof wanted === "number" && typeof found === "number") {
    const counts = wanted <= first || grows.test(path) || counters.has(path)
    return found === wanted || (counts && found > wanted && found <= wanted + times)
  }
  if (wanted === undefined) {
    return typeof found === "number"
      ? found > 0 && found <= times
      : isObject(found) && JSON.stringify(found).includes("(time)")
  }
  if (isObject(wanted) && isObject(found)) {
    return [...new Set([...Object.keys(wanted), ...Object.keys(found)])].every((key) =>
      tells(wanted[key], found[key], times, counters, `${path}.${key}`)
    )
  }
  return JSON.stringify(wanted) === JSON.stringify(found)
}

const parsed = (member: string) => JSON.parse(member) as Readonly<Record<string, unknown>>

/** Whether all that differs is what statuses of custom resources tell of faults that others have had. */
export const isHistory = (
  run: Recording,
  wanted: State,
  found: State,
  counters: ReadonlySet<string> = new Set()
): boolean => {
  const counts = run.entries.flatMap((entry) => (entry._tag === "Fault" ? [others.get(entry.point.fault)] : []))
  const times = counts.reduce<number>((sum, count) => sum + (count ?? Number.NaN), 0)
  if (!(times > 0)) return false
  return [...new Set([...wanted.keys(), ...found.keys()])].every((family) => {
    const [before, after] = [wanted.get(family) ?? [], found.get(family) ?? []]
    if (before.length !== after.length) return false
    return before.every((member, index) => {
      const other = after[index]!
      if (member === other) return true
      const kind = family.split(" ")[0]!
      if (!run.kinds.includes(kind)) return false
      const [{ status: one, ...rest }, { status: two, ...same }] = [parsed(member), parsed(other)]
      return JSON.stringify(rest) === JSON.stringify(same) && tells(one, two, times, counters, `${kind}.status`)
    })
  })
}
