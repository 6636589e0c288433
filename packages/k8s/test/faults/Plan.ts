/**
 * A plan: which faults follow each other, decided by a seed.
 *
 * Each phase has one fault of one kind. What a phase strikes is asked for again where that is needed: a list only happens
 * after something made the reflector list. Some phases begin before the client has recovered from the one before.
 */
import { Chance } from "../differential/Chance.ts"
import * as Fault from "./Fault.ts"

export interface Phase {
  readonly fault: Fault.Fault
  /** Changes on the server before the fault, and while it lasts. */
  readonly before: number
  readonly during: number
  /** Whether the next phase waits until the client has recovered. */
  readonly waits: boolean
}

export interface Plan {
  readonly seed: number
  /** How many objects of each kind there are at the start. */
  readonly objects: number
  /** How the reflectors list. */
  readonly listBy: "Pages" | "Stream"
  readonly phases: ReadonlyArray<Phase>
  /** Of those, what is under way when the client starts. */
  readonly startsWith: Fault.Fault | undefined
}

const targetsOf = (kind: Fault.Kind): ReadonlyArray<ReadonlyArray<Fault.Target>> => {
  if (Fault.ofWatch.has(kind)) return [["watch"]]
  switch (kind) {
    case "expire":
      return [["list"]]
    case "drop":
      return [["write"]]
    case "hangUp":
    case "answer429":
    case "answer503":
      return [["watch"], ["list"], ["write"]]
    case "cut":
      return [["watch"], ["watch"], ["list"], ["write"]]
    default:
      return [["watch"], ["watch"], ["list"]]
  }
}

/** Faults that take a deadline's time are in fewer plans, and more than a page of objects too. */
const weightOf = (kind: Fault.Kind): number => kind === "stall" || kind === "noBookmarks" || kind === "expire" ? 0.7 : 1

const fault = (chance: Chance, kind: Fault.Kind): Fault.Fault => ({
  kind,
  on: chance.pick(targetsOf(kind)),
  times: kind === "reorder" || kind === "refuse" ? 2 : kind === "stall" || kind === "expire" ? 1 : 1 + chance.int(3),
  after: chance.chance(0.3) ? 0 : chance.int(chance.chance(0.5) ? 300 : 20_000),
  seed: chance.int(1_000_000)
})

export const make = (seed: number): Plan => {
  const chance = new Chance(seed)
  const kinds = Array.from(
    { length: 3 + chance.int(4) },
    () => chance.weighted(Fault.kinds.map((kind) => [weightOf(kind), kind] as const))
  )
  // Only a list of more than one page has a token that can expire.
  const paged = kinds.includes("expire")
  return {
    seed,
    objects: paged ? 600 : chance.int(60),
    listBy: !paged && chance.chance(0.4) ? "Stream" : "Pages",
    startsWith: chance.chance(0.3)
      ? { ...fault(chance, chance.pick(["cut", "answer500", "answer403", "refuse", "notJson", "split"])), on: ["list"] }
      : undefined,
    phases: kinds.map((kind) => ({
      fault: fault(chance, kind),
      before: chance.int(4),
      during: 1 + chance.int(5),
      waits: chance.chance(0.7)
    }))
  }
}
