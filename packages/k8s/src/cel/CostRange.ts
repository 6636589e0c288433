/**
 * `CostRange`: the minimum and maximum of a size or cost.
 *
 * Values are capped at 2^64.
 */

export interface Range {
  readonly min: number
  readonly max: number
}

/** The cap. */
export const limit = 2 ** 64

const capped = (value: number): number => Math.min(value, limit)

export const fixed = (value: number): Range => ({ min: value, max: value })
export const zero = fixed(0)
export const unknown: Range = { min: 0, max: limit }

export const add = (a: Range, b: Range): Range => ({ min: capped(a.min + b.min), max: capped(a.max + b.max) })

export const multiply = (a: Range, b: Range): Range => ({ min: capped(a.min * b.min), max: capped(a.max * b.max) })

/** Multiplied by a factor and rounded up. */
export const scale = (range: Range, factor: number): Range => ({
  min: capped(Math.ceil(range.min * factor)),
  max: capped(Math.ceil(range.max * factor))
})

/** The smallest range that contains both. */
export const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) })

export const maybeUnion = (a: Range | undefined, b: Range): Range => a === undefined ? b : union(a, b)
