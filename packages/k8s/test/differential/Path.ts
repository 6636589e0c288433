/** Paths into JSON documents, as lists of keys; an array takes an index. */

export const isIndex = (key: string): boolean => /^\d+$/.test(key)

/** The value at a path; undefined where there is none. */
export const at = (document: unknown, path: ReadonlyArray<string>): unknown => {
  let current = document
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined
    current = (current as Readonly<Record<string, unknown>>)[key]
  }
  return current
}

/** The paths of all values in a document, leaves and branches, without the document's own. */
export const paths = (document: unknown): ReadonlyArray<ReadonlyArray<string>> =>
  typeof document !== "object" || document === null
    ? []
    : Object.entries(document).flatMap(([key, value]) => [[key], ...paths(value).map((path) => [key, ...path])])
