/**
 * `Unanswered`: a read that fails is not taken for an empty result.
 *
 * An operator that takes a failed list for an empty one deletes what is wanted, and creates it again once the list
 * succeeds: the end is right, but for a while nothing existed. So after a failed read, if nothing else goes wrong, what
 * existed when the step began is not deleted and created again, unless that happens without faults, too.
 *
 * Source: published bugs of controllers that delete nodes, records or certificates when a list fails.
 */
import { isTerminating } from "@effect-operator/core/KubeObject"
import { fails, type Kind } from "../recording/Fault.ts"
import { asks } from "../recording/Asks.ts"
import { calls, cited, type Entry, isOver, type Recording, type Rest } from "../recording/Recording.ts"
import { keyOf, name, writes } from "../recording/Writes.ts"
import { keysOf } from "../state/Outside.ts"
import type { Oracle } from "./Oracle.ts"

/** Faults that leave a read without an answer. */
const failing: ReadonlySet<Kind> = new Set<Kind>(["serverError", "lostAnswer", "externalFails"])

type Fault = Extract<Entry, { readonly _tag: "Fault" }>

/** The read that a fault made fail, in words. */
const readOf = (run: Recording, { point }: Fault): string | undefined => {
  if (!failing.has(point.fault)) return undefined
  if (point._tag === "External") {
    const call = run.entries.find((entry) => entry._tag === "External" && entry.n === point.at)
    return call?._tag === "External" && asks(call.name) ? `the outside call "${call.name}"` : undefined
  }
  const call = point._tag === "Call" ? calls(run).find(({ n }) => n === point.at) : undefined
  return call?.request.method === "GET" ? cited(call) : undefined
}

/** Whether an entry belongs to a step, counted from 0. */
const within = ({ steps }: Recording, step: number) => ({ at }: { readonly at: number }): boolean =>
  at >= steps[step]! && at < (steps[step + 1] ?? Infinity)

/** What was outside at a rest and is missing at some time in a step. */
const missing = (run: Recording, step: number, { outside }: Rest, since: number): ReadonlySet<string> => {
  const isThen = within(run, step)
  const states = run.entries.filter((entry): entry is Extract<Entry, { readonly _tag: "External" }> =>
    entry._tag === "External" && entry.at >= since && isThen(entry)
  ).map(({ kept }) => new Set(kept))
  return new Set(keysOf(outside).filter((key) => states.some((kept) => !kept.has(key))))
}

/** What existed at a rest and the operator deletes in a step. */
const deleted = (run: Recording, step: number, { objects }: Rest, since: number): ReadonlySet<string> => {
  const isThen = within(run, step)
  const there = new Set(objects.map(({ metadata }) => metadata.uid))
  const found = new Set<string>()
  for (const write of writes(run)) {
    const { after, before, call } = write
    if (write.at < since || !isThen(write) || call.request.method !== "DELETE") continue
    if (before === undefined || isTerminating(before) || isOver(before) || !there.has(after.metadata.uid)) continue
    found.add(keyOf(after))
  }
  return found
}

const judgeStep = (
  run: Recording,
  recording: Recording,
  step: number,
  at: number,
  read: string
): string | undefined => {
  const [before, wanted] = [run, recording].map(({ rests }) => rests[step - 1])
  if (before === undefined || wanted === undefined) return undefined
  const anew = (key: string): string =>
    `${key} is removed after ${read} failed, and created again; without faults it stays: a failed read is no empty answer`
  const now = new Set(keysOf(run.rests[step]?.outside ?? run.outside))
  const asEver = missing(recording, step, wanted, 0)
  const known = new Set(keysOf(wanted.outside))
  for (const key of missing(run, step, before, at)) {
    if (now.has(key) && known.has(key) && !asEver.has(key)) return anew(`outside ${key}`)
  }
  const expected = deleted(recording, step, wanted, 0)
  const gone = deleted(run, step, before, at)
  const { objects } = run.rests[step] ?? run
  const again = objects.find((object) => gone.has(keyOf(object)) && !expected.has(keyOf(object)))
  return again && anew(name(again))
}

export const unanswered: Oracle = {
  name: "a failed read is not an empty one",
  judge: (run, { recording }) => {
    if (run.met !== 1 || run.failure !== undefined || run.steps.length !== recording.steps.length) return undefined
    // If faults of different steps share a run, each counts by itself.
    const faults = run.entries.filter((entry) => entry._tag === "Fault")
    if (!faults.every(({ point }) => fails(point))) return undefined
    for (const step of run.steps.keys()) {
      const [fault, ...more] = faults.filter(within(run, step))
      const read = fault === undefined || more.length > 0 ? undefined : readOf(run, fault)
      const found = read === undefined ? undefined : judgeStep(run, recording, step, fault!.at, read)
      if (found !== undefined) return found
    }
    return undefined
  }
}
