/**
 * `History`: what a status tells of what has happened, and truthfully: that something failed, and how often.
 *
 * A Pod that died, work that failed, a call to the outside that was refused are things that a custom resource may count and
 * report, as a Job counts its failed Pods. It is no other end than without them. Not so what only the operator can have
 * counted twice: its own deaths and lost answers are nobody's history. Nor is a number history that stands at 2 or more
 * where nothing has gone wrong: it says how much there is, and not how often something has happened; unless it is called
 * one that only grows (`memberCounter`, `nextOrdinal`).
 */
import { isObject } from "../../schema/JsonValue.ts"
import type { State } from "./Canonical.ts"
import type { ExternalFault, Kind } from "./Fault.ts"
import type { Recording } from "./Recording.ts"

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

/** Counts may be higher by so many, and there may be more that speaks of a time; all else is the same. */
const tells = (wanted: unknown, found: unknown, times: number, key = ""): boolean => {
  if (typeof wanted === "number" && typeof found === "number") {
    return found === wanted || ((wanted <= first || grows.test(key)) && found > wanted && found <= wanted + times)
  }
  if (wanted === undefined) {
    return typeof found === "number"
      ? found > 0 && found <= times
      : isObject(found) && JSON.stringify(found).includes("(time)")
  }
  if (isObject(wanted) && isObject(found)) {
    return [...new Set([...Object.keys(wanted), ...Object.keys(found)])].every((key) =>
      tells(wanted[key], found[key], times, key)
    )
  }
  return JSON.stringify(wanted) === JSON.stringify(found)
}

const parsed = (member: string) => JSON.parse(member) as Readonly<Record<string, unknown>>

/** Whether all that differs is what statuses of custom resources tell of faults that others have had. */
export const isHistory = (run: Recording, wanted: State, found: State): boolean => {
  const counts = run.entries.flatMap((entry) => (entry._tag === "Fault" ? [others.get(entry.point.fault)] : []))
  const times = counts.reduce<number>((sum, count) => sum + (count ?? Number.NaN), 0)
  if (!(times > 0)) return false
  return [...new Set([...wanted.keys(), ...found.keys()])].every((family) => {
    const [before, after] = [wanted.get(family) ?? [], found.get(family) ?? []]
    if (before.length !== after.length) return false
    return before.every((member, index) => {
      const other = after[index]!
      if (member === other) return true
      if (!run.kinds.includes(family.split(" ")[0]!)) return false
      const [{ status: one, ...rest }, { status: two, ...same }] = [parsed(member), parsed(other)]
      return JSON.stringify(rest) === JSON.stringify(same) && tells(one, two, times)
    })
  })
}
