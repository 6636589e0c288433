/**
 * `Conflicts`: the server's report about an apply that would change fields of other managers.
 *
 * Source: k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go.
 */
import * as FieldError from "../../schema/FieldError.ts"
import * as FieldSet from "./FieldSet.ts"
import { type Owner, rank } from "./Managers.ts"
import * as PathElement from "./PathElement.ts"
import * as StatusError from "../../api/StatusError.ts"

/** The conflicting managers with their conflicting fields, by identity. */
export type Conflicts = ReadonlyMap<string, Owner>

const printManager = ({ apiVersion, manager, operation, subresource }: Owner): string => {
  const name = FieldError.quote(manager)
  const through = subresource === "" ? name : `${name} with subresource ${FieldError.quote(subresource)}`
  return operation === "Update" ? `${through} using ${apiVersion}` : through
}

/** Managers in the order of the message, with the conflicting paths. */
const sorted = (conflicts: Conflicts) =>
  [...conflicts.values()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).map((owner) => ({
    manager: printManager(owner),
    paths: FieldSet.paths(owner.fields).map(PathElement.printPath)
  }))

/** The 409, with a cause per field. */
export const refused = (conflicts: Conflicts): StatusError.StatusError => {
  const managers = sorted(conflicts)
  const causes = managers.flatMap(({ manager, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${manager}`, field }))
  )
  const [only] = causes
  const message = causes.length === 1
    ? `Apply failed with 1 conflict: ${only!.message}: ${only!.field}`
    : `Apply failed with ${causes.length} conflicts: ${
      managers.map(({ manager, paths }) => [`conflicts with ${manager}:`, ...paths.map((path) => `- ${path}`)])
        .flat().join("\n")
    }`
  return StatusError.applyConflict(message, causes)
}

/** All conflicting fields. */
export const fieldsOf = (conflicts: Conflicts): FieldSet.FieldSet =>
  [...conflicts.values()].reduce<FieldSet.FieldSet>((all, { fields }) => FieldSet.union(all, fields), FieldSet.empty)

/** The conflicts without those in the given fields. */
export const without = (conflicts: Conflicts, fields: FieldSet.FieldSet): Conflicts =>
  new Map(
    [...conflicts].map(([id, owner]) => [id, { ...owner, fields: FieldSet.difference(owner.fields, fields) }] as const)
      .filter(([, owner]) => !FieldSet.isEmpty(owner.fields))
  )
