/**
 * `CrdDiff.diff`: what a change of a definition means for existing objects and clients.
 *
 * A change breaks `stored` objects if some existing ones would be refused or lose a field. It breaks `clients` if a
 * request that was accepted is refused, or if a response has something its readers do not expect. Each kind of change
 * is one rule, so a pipeline can allow some by name. The judgement is conservative: if two schemas cannot be compared
 * (another pattern, another CEL rule), the new one is assumed to be narrower. Descriptions do not count.
 */
import type { Manifest } from "./Crd.ts"
import * as Definitions from "./crd/DefinitionChanges.ts"
import * as Schemas from "./crd/SchemaChanges.ts"
import type { Change } from "./crd/Change.ts"

export type { Change, Rule } from "./crd/Change.ts"

type Spec = Manifest["spec"]

/** All changes: first those of the definition, then those of each version that exists in both. */
export const diff = (
  before: { readonly spec: Spec },
  after: { readonly spec: Spec }
): ReadonlyArray<Change> => [
  ...Definitions.changes(before.spec, after.spec),
  ...after.spec.versions.flatMap((version) => {
    const old = before.spec.versions.find(({ name }) => name === version.name)
    const schemas = [old?.schema?.openAPIV3Schema, version.schema?.openAPIV3Schema] as const
    return schemas[0] === undefined || schemas[1] === undefined
      ? []
      : Schemas.changes(schemas[0], schemas[1], version.name)
  })
]

/** The changes that break something. */
export const breaking = (changes: ReadonlyArray<Change>): ReadonlyArray<Change> =>
  changes.filter(({ breaks }) => breaks.length > 0)

/** One line for each change: `v1 spec.size: minimum-raised (breaks stored, clients): 1 to 2`. */
export const format = (changes: ReadonlyArray<Change>): ReadonlyArray<string> =>
  changes.map(({ breaks, message, path, rule }) =>
    `${path}: ${rule}${breaks.length === 0 ? "" : ` (breaks ${breaks.join(", ")})`}: ${message}`
  )
