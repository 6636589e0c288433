/**
 * `Identities`: which of several replicas it was.
 *
 * Which of them leads is chance after any fault. What names the leader (a ConfigMap, a session outside) is as right
 * with another one, if it is the same one everywhere. If something still names the former leader, that is a difference.
 */
import { isObject } from "../../../schema/JsonValue.ts"
import type * as Canonical from "./Canonical.ts"

/** The identity of a replica in an election. */
export const identityOf = (replica: number): string => `replica-${replica}`

const identities = /replica-\d+/g

/** All permutations of some items, the given order first. */
const orders = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length < 2
    ? [items]
    : items.flatMap((item, index) => orders(items.toSpliced(index, 1)).map((others) => [item, ...others]))

/** A value with its texts replaced, including keys. */
const reworded = (value: unknown, word: (text: string) => string): unknown => {
  if (typeof value === "string") return word(value)
  if (Array.isArray(value)) return value.map((item) => reworded(item, word))
  if (value instanceof Set) return new Set([...value].map((item) => reworded(item, word)))
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [reworded(key, word), reworded(item, word)]))
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [word(key), reworded(item, word)]))
}

/** The result of a run of several replicas with their identities permuted, in every order but its own. */
export const relabelled = <A extends Canonical.Run>(run: A): ReadonlyArray<A> => {
  const all = [...new Set(run.entries.flatMap((entry) => (entry._tag === "Start" ? [entry.replica] : [])))]
  const [own = [], ...others] = orders(all.sort((a, b) => a - b).map(identityOf))
  return others.map((order) => {
    const word = (text: string) => text.replace(identities, (found) => order[own.indexOf(found)] ?? found)
    return {
      ...run,
      objects: run.objects.map((object) => reworded(object, word) as typeof object),
      outside: new Map([...run.outside].map(([key, value]) => [key, reworded(value, word)]))
    }
  })
}
