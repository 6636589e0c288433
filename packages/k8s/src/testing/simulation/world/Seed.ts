/**
 * Random numbers that depend only on a seed and a turn: the number for one turn does not change when another turn draws
 * more.
 */

/** A number in [0, n). */
export const draw = (seed: number, turn: number, n: number): number => {
  let z = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(turn + 1, 0x85ebca6b)) | 0
  z = Math.imul(z ^ (z >>> 16), 0x7feb352d)
  z = Math.imul(z ^ (z >>> 15), 0x846ca68b)
  return ((z ^ (z >>> 16)) >>> 0) % Math.max(1, n)
}

/** The 32-bit hash of a text: FNV-1a. */
export const hash = (text: string): number => {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}
