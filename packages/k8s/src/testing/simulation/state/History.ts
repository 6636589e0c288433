/**
 * `History`: what a status truthfully reports about the past: that something failed, and how often.
 *
 * A Pod that died, work that failed, an outside call that was refused: a custom resource may count and report such
 * things, as a Job counts its failed Pods. The end is no different for that. This does not hold for what only the
 * operator can have counted twice: its own crashes and lost answers are nobody's history. Nor is a number history that
 * is 2 or more when nothing has gone wrong: it says how much there is, not how often something has happened. Exceptions
 * are a number whose name says that it only grows (`memberCounter`, `nextOrdinal`), and one that has only grown and at
 * some rest was not the amount of anything.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import type { ExternalFault, Kind } from "../recording/Fault.ts"
import type { Recording, Rest } from "../recording/Recording.ts"
import type { State } from "./Canonical.ts"
import { entriesOf, itemsOf } from "./Outside.ts"

/** Faults that happened to others, and how often each may be counted: an outage is met as often as somebody tries. */
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

/** The maximum of a counter before anything has happened. */
const first = 1

/** The name of a number of which every object that ever existed got one. */
const grows = /(?:counter|sequence|serial|ordinal)$/i

const partsOf = (value: unknown): ReadonlyArray<unknown> =>
  itemsOf(value) ?? entriesOf(value)?.map(([, item]) => item) ?? []

/** The lengths of the lists in a value. */
const lengthsIn = (value: unknown): ReadonlyArray<number> => [
  ...itemsOf(value) === undefined ? [] : [partsOf(value).length],
  ...partsOf(value).flatMap(lengthsIn)
]

/** The amounts in a value: its numbers, and the lengths of its lists and maps. */
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

/** The amounts of anything at a rest, as an object may count them. */
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

/** Where statuses have numbers that only grow and count nothing that exists: `Box.status.created`. */
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

/** Counts may be higher by this much, and there may be additional items with a time; everything else must be equal. */
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

/** Whether the only differences are reports, in statuses of custom resources, of faults that happened to others. */
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
