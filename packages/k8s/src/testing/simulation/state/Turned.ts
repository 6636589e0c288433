/**
 * `Turned`: two states that differ only in which of two workloads that take turns is the current one.
 *
 * Of a blue and a green workload, one serves. If somebody removes it, the operator may create the other one in its
 * place, as for a change. Then each state is the other with the two words in the names exchanged everywhere. Whatever
 * still refers to the one that is gone, and everything that users name, remains a difference.
 */
import * as RegExp from "effect/RegExp"
import * as Canonical from "./Canonical.ts"
import { partsOf } from "./Standby.ts"

/** Kinds that only the operator refers to by name: others find them by labels. */
const workloads: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "Pod", "ReplicaSet", "StatefulSet"])

const kindOf = (family: string): string => family.slice(0, family.indexOf(" "))

/** The words in which two names differ, if they differ in one of several parts, which is not a number. */
const wordsOf = (one: string, two: string): readonly [one: string, two: string] | undefined => {
  const [mine, theirs] = [partsOf(one), partsOf(two)]
  const unlike = mine.flatMap((part, index) => part === theirs[index] ? [] : [[part, theirs[index] ?? ""] as const])
  const [words] = unlike
  const isOne = mine.length > 1 && mine.length === theirs.length && unlike.length === 1
  return isOne && words!.every((word) => /^[a-z]/.test(word)) ? words : undefined
}

const exchanged = (state: Canonical.State, [one, two]: readonly [string, string]): Canonical.State => {
  const word = new globalThis.RegExp(`(?<![a-z0-9])(?:${RegExp.escape(one)}|${RegExp.escape(two)})(?![a-z0-9])`, "g")
  const inWords = (text: string) => text.replaceAll(word, (found) => found === one ? two : one)
  return new Map([...state].map(([family, members]) => [inWords(family), members.map(inWords).toSorted()]))
}

/** Whether the second state is the first with another workload in the place of one that is gone. */
export const turned = (wanted: Canonical.State, found: Canonical.State): boolean => {
  const only = (one: Canonical.State, other: Canonical.State) =>
    [...one.keys()].filter((family) => workloads.has(kindOf(family)) && !other.has(family))
  const come = only(found, wanted)
  return only(wanted, found).some((gone) =>
    come.some((family) => {
      const words = kindOf(family) === kindOf(gone) ? wordsOf(gone, family) : undefined
      return words !== undefined && Canonical.compare(wanted, exchanged(found, words)).length === 0
    })
  )
}
