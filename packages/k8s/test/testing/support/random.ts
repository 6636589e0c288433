/** A small generator of numbers that a seed decides (mulberry32). */
export const random = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (below: number): number => Math.floor(next() * below)
  return { next, int, pick: <A>(items: ReadonlyArray<A>): A => items[int(items.length)]! }
}
