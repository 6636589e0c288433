/**
 * `Names`: what chance decides of the names that an operator gives: a hash of a password that was drawn, or of a uid.
 *
 * Of two runs without faults, but with other chance, each has a family of objects that the other has not. Where those two
 * are the same but for one part, that part is chance's, in every run. Such names are in a mask, beside paths:
 * `name Secret default/web-…`.
 */

/** Paths, such as `Pod.status.podIP`, that chance decides; and names. */
export type Mask = ReadonlySet<string>

const prefix = "name "

/** Whether what is in a mask is a name, and no path. */
export const isName = (masked: string): boolean => masked.startsWith(prefix)

/** What stands for the part that is chance's. */
const any = "…"

const part = "[a-z0-9]{2,}"

const drawn = new RegExp(`^${part}$`)

/** How many characters two texts begin with, up to the last sign between words. */
const shared = (a: string, b: string): number => {
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  while (same > 0 && !/[-. /]/.test(a[same - 1]!)) same -= 1
  return same
}

const reversed = (text: string): string => [...text].toReversed().join("")

/** Two families as one, if they are the same but for one part; and how much of them is the same. */
const joined = (a: string, b: string): { readonly name: string; readonly same: number } | undefined => {
  const begin = shared(a, b)
  const end = shared(reversed(a.slice(begin)), reversed(b.slice(begin)))
  const [one, two] = [a, b].map((text) => text.slice(begin, text.length - end))
  if (one === two || !drawn.test(one!) || !drawn.test(two!)) return undefined
  return { name: `${prefix}${a.slice(0, begin)}${any}${a.slice(a.length - end)}`, same: begin + end }
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

/** What every run calls a family, where chance has a part in its name: the family, and the name. */
export const common = (mask: ReadonlySet<string>): ((family: string) => string | undefined) | undefined => {
  const names = [...mask].filter(isName).map((masked) => masked.slice(prefix.length))
  if (names.length === 0) return undefined
  const all = names.map((name) => {
    const [before, after] = name.split(any).map((text) => text.replace(/[.*]/g, "\\$&"))
    return [name, new RegExp(`^${before}${part}${after}$`)] as const
  })
  return (family) => all.find(([, pattern]) => pattern.test(family))?.[0]
}
