/** `DefinitionChanges`: changes of a definition outside its schemas: names, versions, subresources, columns. */
import type { Manifest } from "../Crd.ts"
import { both, type Broken, type Change, change, clients, nobody, same, shown } from "./Change.ts"

type Spec = Manifest["spec"]
type Version = Spec["versions"][number]

export const changes = (before: Spec, after: Spec): ReadonlyArray<Change> => [
  ...identity(before, after),
  ...names(before, after),
  ...versions(before, after)
]

/** A change of group, kind or scope makes it a different definition, which the server refuses. */
const identity = (before: Spec, after: Spec): ReadonlyArray<Change> => {
  const compare = (
    rule: "group-changed" | "kind-changed" | "plural-changed" | "scope-changed",
    path: string,
    a: string,
    b: string
  ) => a === b ? [] : [change(rule, path, both, `${a} to ${b}: to the server, this is another definition`)]
  return [
    ...compare("group-changed", "spec.group", before.group, after.group),
    ...compare("scope-changed", "spec.scope", before.scope, after.scope),
    ...compare("kind-changed", "spec.names.kind", before.names.kind, after.names.kind),
    ...compare("plural-changed", "spec.names.plural", before.names.plural, after.names.plural)
  ]
}

const names = (before: Spec, after: Spec): ReadonlyArray<Change> => {
  const gone = (path: string, a: ReadonlyArray<string> = [], b: ReadonlyArray<string> = []) =>
    a.filter((name) => !b.includes(name)).map((name) =>
      change("name-removed", path, clients, `${name} is no longer understood`)
    )
  return [
    ...gone("spec.names.shortNames", before.names.shortNames, after.names.shortNames),
    ...gone("spec.names.categories", before.names.categories, after.names.categories),
    ...gone("spec.names.singular", [before.names.singular ?? ""], [after.names.singular ?? ""])
  ]
}

const versions = (before: Spec, after: Spec): ReadonlyArray<Change> => {
  const at = (version: Version) => `spec.versions[${version.name}]`
  const removed = before.versions.filter(({ name }) => !after.versions.some((version) => version.name === name))
  const changes = after.versions.flatMap((version) => {
    const old = before.versions.find(({ name }) => name === version.name)
    return old === undefined
      ? [change("version-added", at(version), nobody, `${version.name} is new`)]
      : versionChanges(old, version, at(version))
  })
  const storage = [before, after].map(({ versions }) => versions.find(({ storage }) => storage)?.name)
  return [
    ...removed.map((version) =>
      change(
        "version-removed",
        at(version),
        version.storage ? both : version.served ? clients : nobody,
        version.storage ? "objects are stored in it: change the storage version first, and migrate" : "is removed"
      )
    ),
    ...changes,
    ...(storage[0] === storage[1] ? [] : [
      change("storage-changed", "spec.versions", nobody, `${storage[0]} to ${storage[1]}: migrate the stored objects`)
    ]),
    ...(same(before.conversion, after.conversion)
      ? []
      : [change("conversion-changed", "spec.conversion", nobody, "versions are converted differently")])
  ]
}

const versionChanges = (before: Version, after: Version, path: string): ReadonlyArray<Change> => {
  const result: Array<Change> = []
  const note = (rule: Change["rule"], breaks: ReadonlyArray<Broken>, message: string, at = path) =>
    void result.push(change(rule, at, breaks, message))
  if (before.served && !after.served) note("version-unserved", clients, "is no longer served")
  if (!before.served && after.served) note("version-served", nobody, "is served again")
  if (before.deprecated !== true && after.deprecated === true) {
    note("version-deprecated", nobody, "its clients get a warning")
  }
  const [old, now] = [before.subresources ?? {}, after.subresources ?? {}]
  for (const name of ["status", "scale"] as const) {
    const at = `${path}.subresources.${name}`
    if (old[name] === undefined && now[name] !== undefined) {
      // Writes to the object no longer change the status.
      note("subresource-added", name === "status" ? clients : nobody, `/${name} is new`, at)
    }
    if (old[name] !== undefined && now[name] === undefined) {
      note("subresource-removed", clients, `/${name} is removed`, at)
    }
  }
  if (old.scale !== undefined && now.scale !== undefined && !same(old.scale, now.scale)) {
    note("scale-changed", clients, "the fields of the replica counts change", `${path}.subresources.scale`)
  }
  const fields = [before, after].map(({ selectableFields = [] }) => selectableFields.map(({ jsonPath }) => jsonPath))
  for (const field of fields[0]!) {
    if (!fields[1]!.includes(field)) {
      note("selectable-field-removed", clients, `${field} can no longer be used in a field selector`)
    }
  }
  for (const field of fields[1]!) {
    if (!fields[0]!.includes(field)) note("selectable-field-added", nobody, `${field} can be used in a field selector`)
  }
  if (!same(before.additionalPrinterColumns, after.additionalPrinterColumns)) {
    note(
      "columns-changed",
      nobody,
      `${shown(before.additionalPrinterColumns?.length ?? 0)} columns to ${
        shown(after.additionalPrinterColumns?.length ?? 0)
      }`
    )
  }
  return result
}
