/**
 * `Names`: the random part of names that an operator gives: a hash of a random password or of a uid, or a UUID or the
 * beginning of one.
 *
 * Of two runs without faults but with different randomness, each has a family of objects that the other lacks. If those
 * two differ in only one part, that part is random in every run. Such names are in a mask, besides paths:
 * `name Secret default/web-…`.
 */

/** Random paths, such as `Pod.status.podIP`, and names. */
export type Mask = ReadonlySet<string>

const prefix = "name "

/** Whether an entry of a mask is a name rather than a path. */
export const isName = (masked: string): boolean => masked.startsWith(prefix)

/** What stands for a random part, and what that may be. `#` is a number at the end of a name (see `Renaming`). */
const parts = [
  // The whole or the beginning of a UUID, cut behind its first dash. First, because its last part may look like a number
  // or a word that the names share.
  ["…-…", "[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){0,2}-(?:[0-9a-f]{1,4}|#)|(?:-[0-9a-f]{4}){3}-(?:[0-9a-f]{1,12}|#))"],
  ["…", "[a-z0-9]{2,}"]
] as const

/** The length of the common prefix of two texts, up to the last separator. */
const shared = (a: string, b: string): number => {
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  while (same > 0 && !/[-. /]/.test(a[same - 1]!)) same -= 1
  return same
}

const reversed = (text: string): string => [...text].toReversed().join("")

/** Two families as one, if they differ in only one part; and the length of the rest. */
const joined = (a: string, b: string): { readonly name: string; readonly same: number } | undefined => {
  const begin = shared(a, b)
  const end = shared(reversed(a.slice(begin)), reversed(b.slice(begin)))
  const [one, two] = [a, b].map((text) => text.slice(begin, text.length - end))
  if (one === two) return undefined
  const drawn = parts.find(([, part]) => [one!, two!].every((text) => new RegExp(`^${part}$`).test(text)))
  if (drawn === undefined) return undefined
  return { name: `${prefix}${a.slice(0, begin)}${drawn[0]}${a.slice(a.length - end)}`, same: begin + end }
}

/** Names of families that only one of two runs has. */
export const differing = (a: Iterable<string>, b: Iterable<string>): ReadonlyArray<string> => {
  const [one, two] = [new Set(a), new Set(b)]
  const others = [...two].filter((family) => !one.has(family))
  return [...one].flatMap((family) => {
    if (two.has(family)) return []
    const all = others.flatMap((other) => joined(family, other) ?? [])
    const [nearest] = all.toSorted((x, y) => y.same - x.same)
    return nearest === undefined ? [] : [nearest.name]
  })
}

/** The common name of a family whose name has a random part: from the family to that name. */
export const common = (mask: ReadonlySet<string>): ((family: string) => string | undefined) | undefined => {
  const names = [...mask].filter(isName).map((masked) => masked.slice(prefix.length))
  if (names.length === 0) return undefined
  const all = parts.flatMap(([any, part], at) =>
    names.filter((name) => parts.findIndex(([any]) => name.includes(any)) === at).map((name) => {
      const [before, after] = name.split(any).map((text) => text.replace(/[.*]/g, "\\$&"))
      return [name, new RegExp(`^${before}${part}${after}$`)] as const
    })
  )
  return (family) => all.find(([, pattern]) => pattern.test(family))?.[0]
}
