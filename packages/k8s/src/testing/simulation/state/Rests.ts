/**
 * `Rests`: the state when everything had come to rest, after each step but the last.
 *
 * A later step may hide what a fault has done: the final "delete" removes what was lost or left over before. If the
 * state at a rest differs from that without faults, the story that ends there is worth a run of its own, which the
 * oracles judge. The difference alone is no complaint.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { calls, type Recording, type Rest } from "../recording/Recording.ts"
import { timeless } from "../recording/Times.ts"
import { name } from "../recording/Writes.ts"
import { strayAddresses } from "./Addresses.ts"
import * as Canonical from "./Canonical.ts"
import * as Drawn from "./Drawn.ts"
import { relabelled } from "./Identities.ts"
import { outside } from "./Outside.ts"
import { swapped } from "./Swapped.ts"

/** A state that includes the outside, as if that consisted of objects. */
export const everything = (run: Canonical.Run, mask: Canonical.Mask): Canonical.State =>
  new Map([
    ...Canonical.state(run, mask),
    ...[...run.outside.keys()].flatMap((name) => {
      const value = outside(run, name, mask)
      return value === undefined ? [] : [[`outside ${name}`, [JSON.stringify(value)]] as const]
    })
  ])

/** The same rests of two runs, as states. */
export function* pairs(
  one: Recording,
  two: Recording,
  mask: Canonical.Mask,
  stateOf = Canonical.state
): Generator<readonly [Canonical.State, Canonical.State]> {
  for (const [index, rest] of one.rests.entries()) {
    const other = two.rests[index]
    if (rest === undefined || other === undefined) continue
    yield [stateOf(runOf(one, rest), mask), stateOf(runOf(two, other), mask)]
  }
}

/** The rests of a run, as states. */
export function* states(
  run: Recording,
  mask: Canonical.Mask,
  stateOf = Canonical.state
): Generator<Canonical.State> {
  for (const rest of run.rests) if (rest !== undefined) yield stateOf(runOf(run, rest), mask)
}

/** A rest without faults, in comparable form. */
export interface Known {
  readonly mask: Canonical.Mask
  readonly state: Canonical.State
  readonly text: string
  /** How often it mentions addresses that belong to nothing any more. */
  readonly stray: number
  /** Places that hold the same random text. */
  readonly tied: Drawn.Tied
}

const runOf = ({ entries }: Recording, rest: Rest): Canonical.Run => ({ entries, ...rest })

const textOf = (run: Canonical.Run, mask: Canonical.Mask): string => {
  const keyed = (entries: ReadonlyArray<readonly [string, unknown]>) => entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const kept = [...run.outside.keys()].map((name) => [name, outside(run, name, mask)] as const)
  return JSON.stringify([
    keyed([...Canonical.state(run, mask)]),
    keyed(kept.filter(([, value]) => value !== undefined))
  ])
}

/** The rests of a run without faults; `other` is a run with different randomness, `end` the mask of the end state. */
export const known = (run: Recording, other: Recording, end: Canonical.Mask): ReadonlyArray<Known | undefined> => {
  const masks = [end]
  return run.rests.map((rest, index) => {
    const same = other.rests[index]
    if (rest === undefined || same === undefined) return undefined
    const [one, two] = [runOf(run, rest), runOf(other, same)]
    const mask = Canonical.mask(one, two, masks)
    masks.push(mask)
    return {
      mask,
      state: everything(one, mask),
      text: textOf(one, mask),
      stray: strayAddresses(one),
      tied: Drawn.tied(one, two, mask)
    }
  })
}

const differs = (run: Canonical.Run, { mask, state, stray, text, tied }: Known): boolean => {
  const isSame = (one: Canonical.Run) => textOf(one, mask) === text
  if (!isSame(run) && !relabelled(run).some(isSame)) return !swapped(state, everything(run, mask))
  if (strayAddresses(run) > stray) return true
  if (tied.length === 0) return false
  const drawn = Drawn.drawn(run, mask)
  return tied.some(([a, b]) => drawn.has(a) && drawn.has(b) && drawn.get(a) !== drawn.get(b))
}

/** Whether the state at a rest was different; false if nobody waited for it. */
const isOther = (run: Recording, index: number, expected: Known | undefined): boolean => {
  const rest = run.rests[index]
  return expected !== undefined && rest !== undefined && differs(runOf(run, rest), expected)
}

/** Whether something was missing at a rest or was different, regardless of what else existed. */
export const isLess = (run: Recording, index: number, expected: Known | undefined): boolean => {
  const rest = run.rests[index]
  if (expected === undefined || rest === undefined) return false
  type Parts = readonly [
    state: ReadonlyArray<readonly [string, ReadonlyArray<string>]>,
    outside: ReadonlyArray<readonly [string, unknown]>
  ]
  const [state, kept] = JSON.parse(expected.text) as Parts
  const [found, outside] = JSON.parse(textOf(runOf(run, rest), expected.mask)) as Parts
  if (JSON.stringify(outside) !== JSON.stringify(kept)) return true
  const members = new Map(found)
  return state.some(([family, wanted]) => {
    const left = [...members.get(family) ?? []]
    return wanted.some((member) => {
      const at = left.indexOf(member)
      if (at >= 0) left.splice(at, 1)
      return at < 0
    })
  })
}

/** The number of steps after which the state was different; rests that nobody waited for are skipped. */
export const astray = (run: Recording, all: ReadonlyArray<Known | undefined>): number | undefined => {
  const step = all.findIndex((expected, index) => isOther(run, index, expected))
  return step < 0 ? undefined : step + 1
}

/**
 * The number of steps after which there are more objects at rest than without faults with names generated for the
 * operator.
 */
export const doubled = (run: Recording, reference: Recording): number | undefined => {
  const counted = (recording: Recording): ReadonlyArray<number | undefined> => {
    const own = new Set(
      calls(recording).flatMap(({ object, request }) =>
        request.method === "POST" && object?.metadata.generateName !== undefined ? [object.metadata.uid] : []
      )
    )
    return recording.rests.map((rest) => rest?.objects.filter(({ metadata }) => own.has(metadata.uid)).length)
  }
  const expected = counted(reference)
  const step = counted(run).findIndex((count, index) => (count ?? 0) > (expected[index] ?? Infinity))
  return step < 0 ? undefined : step + 1
}

/** How much of a status is shown, in characters: the problem is often in the last condition. */
const longest = 500

/** How many objects of each kind there are that the story has brought, apart from custom resources and Events. */
const counted = ({ entries, kinds }: Recording, objects: ReadonlyArray<KubeObject>): string => {
  const came = new Map(
    entries.flatMap((entry) =>
      entry._tag === "Change" ? [[entry.change.object.metadata.uid, entry.change.object.kind] as const] : []
    )
  )
  const found = new Map(
    [...came.values()].filter((kind) => kind !== "Event" && !kinds.includes(kind)).map((kind) => [kind, 0])
  )
  for (const { kind, metadata } of objects) {
    if (came.has(metadata.uid) && found.has(kind)) found.set(kind, found.get(kind)! + 1)
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => `${count} ${kind}`).join(", ")
}

/** What the statuses of custom resources say at the rest after a step, and what there is then, for a person. */
export const statusesAfter = (run: Recording, step: string): string => {
  const taken = run.entries.flatMap((entry) => (entry._tag === "Step" ? [entry.name] : []))
  const { objects } = run.rests[taken.indexOf(step)] ?? run
  const said = objects.filter(({ kind }) => run.kinds.includes(kind)).slice(0, 3).map((object) => {
    const text = timeless(JSON.stringify((object as { readonly status?: unknown }).status) ?? "none")
    return `${name(object)}: status ${text.length > longest ? `${text.slice(0, longest - 1)}…` : text}`
  })
  const all = counted(run, objects)
  const told = all === "" ? said : [...said, `objects: ${all}`]
  return told.length === 0 ? "" : ` (${told.join("; ")})`
}
