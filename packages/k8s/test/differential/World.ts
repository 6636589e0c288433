/** `World`: what a generator guesses that there is, and what its requests are put together from. */
import type { Chance } from "./Chance.ts"
import type { Kind } from "./Kind.ts"
import type { Step } from "./Step.ts"

/** An object that probably exists. */
export interface Known {
  readonly kind: Kind
  /** May be a reference. */
  readonly name: string
  /** Steps that answered with it, the newest first. */
  readonly steps: ReadonlyArray<number>
}

/** What is known while a sequence is made. */
export interface World {
  readonly chance: Chance
  /** What the sequence may be about. */
  readonly kinds: ReadonlyArray<Kind>
  readonly known: Array<Known>
  /** Steps that answered a list, by collection. */
  readonly lists: Array<{ readonly kind: Kind; readonly step: number }>
  /** Kinds of which the servers have made up names: what comes first of them is chance. */
  readonly madeUp: Set<Kind>
  next: number
}

/** A step without its id. */
export type Draft = Omit<Step, "id">

export const json = { accept: "application/json", "content-type": "application/json" }

export const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json"
} as const

export const pickKind = ({ chance, kinds }: World): Kind => chance.weighted(kinds.map((kind) => [kind.weight, kind]))

const names = ["a", "b", "c"]

/** Kinds of which a real server goes through those of a namespace in the order of a map of Go: in any. */
export const isAlone = ({ plural }: Kind): boolean => plural === "limitranges" || plural === "resourcequotas"

/** A name for an object of a kind: of its own, where others could see it. */
export const pickName = ({ chance }: World, kind: Kind): string => {
  const name = chance.pick(isAlone(kind) ? names.slice(0, 1) : names)
  // Since 1.22 the Endpoints of a Service's name go when it is gone; before, when its deletion is asked for.
  return kind.plural === "endpoints" ? `${name}-ends` : kind.namespaced ? name : `{{id}}-${name}`
}

export const itemPath = (kind: Kind, name: string): string => `${collection(kind)}/${name}`

/** An object that probably exists, or one that probably does not. */
export const pickKnown = (world: World): Known => {
  const { chance, known } = world
  if (known.length > 0 && chance.chance(0.95)) return chance.pick(known)
  const kind = pickKind(world)
  return { kind, name: pickName(world, kind), steps: [] }
}

/** Where the collection of a kind is. */
export const collection = (kind: Kind): string => {
  const root = kind.apiVersion.includes("/") ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`
  return kind.namespaced ? `${root}/namespaces/{{ns}}/${kind.plural}` : `${root}/${kind.plural}`
}
