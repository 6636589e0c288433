/** A kind of objects, as sequences deal with it. */
import type { Chance } from "./Chance.ts"
import type { Edit } from "./Step.ts"

export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  /** How often the kind is chosen. */
  readonly weight: number
  /** Everything but apiVersion, kind and metadata. */
  readonly content: (chance: Chance) => Readonly<Record<string, unknown>>
  /** A change of an existing object. */
  readonly edit: (chance: Chance) => Edit
  /** A change that its status endpoint is for; without one there is no such endpoint. */
  readonly status?: (chance: Chance) => Edit
  readonly scale?: boolean
  readonly custom?: boolean
  /** What a field selector may name, beyond name and namespace. */
  readonly fields?: ReadonlyArray<string>
}
