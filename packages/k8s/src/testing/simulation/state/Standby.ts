/**
 * `Standby`: what stays beside what has come after it, because somebody wants it there.
 *
 * Of two that take turns (blue and green) one may stand by, at full size, for people to go back to. How a story ends
 * does not tell it from one that was forgotten. But whoever wants it looks after it: he asks for it when his process starts,
 * or makes it again where somebody removes it.
 */
import * as RegExp from "effect/RegExp"
import type { Point } from "../recording/Fault.ts"
import { accepted, calls, type Recording } from "../recording/Recording.ts"
import type { State } from "./Canonical.ts"

const nameOf = (family: string): ReadonlyArray<string> =>
  family.slice(Math.max(family.indexOf(" "), family.lastIndexOf("/")) + 1).split("-")

/** What one of a kind was made with, in the words of another whose name has as many parts. */
const inWordsOf = (member: string, one: string, other: string): string => {
  const { metadata: _, status: __, ...made } = JSON.parse(member) as Readonly<Record<string, unknown>>
  const theirs = nameOf(other)
  return nameOf(one).reduce(
    (text, part, index) =>
      text.replaceAll(
        new globalThis.RegExp(`(?<![a-z0-9])${RegExp.escape(part)}(?![a-z0-9])`, "g"),
        () => theirs[index]!
      ),
    JSON.stringify(made)
  )
}

/**
 * The families that one takes turns with: of the two, one is as the other would be if all steps had come at once, and one is
 * as it was.
 */
export const turnsWith = (family: string, state: State, atOnce: State): ReadonlyArray<string> => {
  const kind = family.slice(0, family.indexOf(" ") + 1)
  const [member] = state.get(family) ?? []
  return [...state].flatMap(([other, [now]]) => {
    const [then] = atOnce.get(other) ?? []
    if (other === family || !other.startsWith(kind) || nameOf(other).length !== nameOf(family).length) return []
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
  // What is removed is so at the next rest: it has to be the last.
  const last = calls(run).findLast((call) => accepted(call) && isOf(call))
  if (last === undefined || last.at < run.steps.at(-1)!) return false
  const removed = faulty({ _tag: "Call", at: last.n, fault: "removed" })
  return removed.met > 0 && removed.unnoticed.length === 0 && removed.abandoned === undefined
}
