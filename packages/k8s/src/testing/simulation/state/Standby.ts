/**
 * `Standby`: what stays beside its successor because the operator wants it there.
 *
 * Of two that take turns (blue and green), one may stand by at full size, so that people can switch back. The end of a
 * story does not distinguish it from one that was forgotten. But an operator that wants it looks after it: it requests
 * it when its process starts, or creates it again when somebody removes it.
 */
import * as RegExp from "effect/RegExp"
import type { Point } from "../recording/Fault.ts"
import { accepted, calls, type Recording } from "../recording/Recording.ts"
import type { State } from "./Canonical.ts"

/** The parts of the name of a family. */
export const partsOf = (family: string): ReadonlyArray<string> =>
  family.slice(Math.max(family.indexOf(" "), family.lastIndexOf("/")) + 1).split("-")

/** What an object of a kind was created with, with its name replaced by that of another with as many parts. */
const inWordsOf = (member: string, one: string, other: string): string => {
  const { metadata: _, status: __, ...made } = JSON.parse(member) as Readonly<Record<string, unknown>>
  const theirs = partsOf(other)
  return partsOf(one).reduce(
    (text, part, index) =>
      text.replaceAll(
        new globalThis.RegExp(`(?<![a-z0-9])${RegExp.escape(part)}(?![a-z0-9])`, "g"),
        () => theirs[index]!
      ),
    JSON.stringify(made)
  )
}

/**
 * The families with which one takes turns: one of the two is as the other would be if all steps had come at once, and
 * one is as it was.
 */
export const turnsWith = (family: string, state: State, atOnce: State): ReadonlyArray<string> => {
  const kind = family.slice(0, family.indexOf(" ") + 1)
  const [member] = state.get(family) ?? []
  return [...state].flatMap(([other, [now]]) => {
    const [then] = atOnce.get(other) ?? []
    if (other === family || !other.startsWith(kind) || partsOf(other).length !== partsOf(family).length) return []
    if (member === undefined || now === undefined || then === undefined) return []
    const [mine, theirs, wanted] = [
      inWordsOf(member, family, other),
      inWordsOf(now, other, other),
      inWordsOf(then, other, other)
    ]
    return mine !== theirs && (mine === wanted || theirs === wanted) ? [other] : []
  })
}

/** Whether the operator still looks after an object at the end of a story; `faulty` is the story with a fault. */
export const isLookedAfter = (
  uid: string,
  run: Recording,
  faulty: (point: Point) => Recording
): boolean => {
  const isOf = ({ object }: { readonly object: { readonly metadata: { readonly uid: string } } | undefined }) =>
    object?.metadata.uid === uid
  const again = faulty({ _tag: "Step", at: run.steps.length, fault: "restarted" })
  const since = again.entries.find(({ _tag }) => _tag === "Fault")?.at ?? Infinity
  if (calls(again).some((call) => call.at > since && accepted(call) && isOf(call))) return true
  // It is removed at the next rest, so this must be the last one.
  const last = calls(run).findLast((call) => accepted(call) && isOf(call))
  if (last === undefined || last.at < run.steps.at(-1)!) return false
  const removed = faulty({ _tag: "Call", at: last.n, fault: "removed" })
  return removed.met > 0 && removed.unnoticed.length === 0 && removed.abandoned === undefined
}
