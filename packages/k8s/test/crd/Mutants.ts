/** Small damage to JSON, one place at a time, chosen by a generator with a seed. */

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** Numbers from 0 to 1, the same for a seed (mulberry32). */
export const chance = (seed: number) => {
  let state = seed >>> 0
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const strange: ReadonlyArray<Json> = [
  null,
  true,
  "",
  "x",
  "A b",
  "25%",
  "2026-02-30T00:00:00Z",
  "1Gi",
  0,
  -1,
  7,
  1.5,
  1e9,
  1e15,
  [],
  ["a", "a"],
  {},
  { name: "x" },
  { apiVersion: "v1", kind: "Pod", metadata: { name: "A B" } }
]

const pick = <A>(random: () => number, values: ReadonlyArray<A>): A => values[Math.floor(random() * values.length)]!

/** The value with one place of it changed: replaced, taken away or repeated. */
export const mutant = (random: () => number, value: Json): Json => {
  const deeper = random() < 0.75
  if (Array.isArray(value) && deeper && value.length > 0) {
    const at = Math.floor(random() * value.length)
    const what = random()
    if (what < 0.2) return value.filter((_, i) => i !== at)
    if (what < 0.4) return [...value, value[at]!]
    return value.map((item, i) => i === at ? mutant(random, item) : item)
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value) && deeper) {
    const entries = Object.entries(value)
    if (entries.length > 0) {
      const at = Math.floor(random() * entries.length)
      if (random() < 0.2) return Object.fromEntries(entries.filter((_, i) => i !== at))
      return Object.fromEntries(entries.map(([key, item], i) => [key, i === at ? mutant(random, item) : item]))
    }
  }
  return pick(random, strange)
}
