import { Unparsed } from "../Unparsed.ts"

/**
 * Approximate memory, in bytes, of a value parsed from JSON, without shared shapes and interned keys: what Node 24
 * takes for the objects of a cluster, give or take a quarter.
 */
export const footprint = (value: unknown): number => {
  if (value instanceof Unparsed) return value.length === undefined ? footprint(value.object) : 200 + value.length
  if (typeof value === "string") return 16 + value.length
  if (typeof value !== "object" || value === null) return 0
  let sum = Array.isArray(value) ? 32 : 24
  for (const part of Array.isArray(value) ? value : Object.values(value)) sum += 8 + footprint(part)
  return sum
}

/** The sum over many values, estimated from about `samples` of them, evenly spread. */
export const footprintOfAll = (values: Iterable<unknown>, count: number, samples = 64): number => {
  const stride = Math.max(1, Math.floor(count / samples))
  let [at, taken, sum] = [0, 0, 0]
  for (const value of values) {
    if (at++ % stride !== 0) continue
    taken += 1
    sum += footprint(value)
  }
  return taken === 0 ? 0 : Math.round(sum / taken * count)
}
