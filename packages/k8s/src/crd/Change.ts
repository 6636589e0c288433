/** `Change`: a difference between two definitions, and what it breaks. */

/** The kind of change. */
export type Rule =
  // Of the definition.
  | "kind-removed"
  | "group-changed"
  | "kind-changed"
  | "plural-changed"
  | "scope-changed"
  | "name-removed"
  | "version-added"
  | "version-removed"
  | "version-served"
  | "version-unserved"
  | "version-deprecated"
  | "storage-changed"
  | "conversion-changed"
  | "subresource-added"
  | "subresource-removed"
  | "scale-changed"
  | "selectable-field-added"
  | "selectable-field-removed"
  | "columns-changed"
  // Of a schema.
  | "field-added"
  | "field-removed"
  | "field-required"
  | "field-optional"
  | "type-changed"
  | "null-allowed"
  | "null-refused"
  | "enum-added"
  | "enum-removed"
  | "enum-value-added"
  | "enum-value-removed"
  | "limit-loosened"
  | "limit-tightened"
  | "pattern-changed"
  | "pattern-removed"
  | "format-changed"
  | "format-removed"
  | "alternatives-changed"
  | "alternatives-removed"
  | "default-added"
  | "default-changed"
  | "default-removed"
  | "unknown-fields-kept"
  | "unknown-fields-pruned"
  | "values-changed"
  | "merge-changed"
  | "rule-added"
  | "rule-removed"

/** What breaks: stored objects, or clients that read or write. */
export type Broken = "stored" | "clients"

export interface Change {
  readonly rule: Rule
  /** `v1 spec.ports[].port`; for the definition itself `spec.names`. */
  readonly path: string
  readonly breaks: ReadonlyArray<Broken>
  readonly message: string
}

export const both: ReadonlyArray<Broken> = ["stored", "clients"]
export const clients: ReadonlyArray<Broken> = ["clients"]
export const stored: ReadonlyArray<Broken> = ["stored"]
export const nobody: ReadonlyArray<Broken> = []

export const change = (rule: Rule, path: string, breaks: ReadonlyArray<Broken>, message: string): Change => ({
  rule,
  path,
  breaks,
  message
})

/** A value as shown to people. */
export const shown = (value: unknown): string => value === undefined ? "nothing" : JSON.stringify(value)

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
