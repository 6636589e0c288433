/**
 * A 53-bit hash of a text: two different texts have the same hash by chance once in about 10^16 pairs.
 *
 * Source: cyrb53, a published public-domain mixing function.
 */
export const fingerprint = (text: string): number => after(nothing, text)

/** The state of the hash after the beginning of a text. */
export interface Begun {
  readonly a: number
  readonly b: number
}

const nothing: Begun = { a: 0xdeadbeef, b: 0x41c6ce57 }

/** The hash state of texts that begin with this, for `after`. */
export const begin = (text: string): Begun => {
  let { a, b } = nothing
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 2_654_435_761)
    b = Math.imul(b ^ code, 1_597_334_677)
  }
  return { a, b }
}

/** The hash of a text with that beginning and this end. */
export const after = (begun: Begun, text: string): number => {
  let { a, b } = begun
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 2_654_435_761)
    b = Math.imul(b ^ code, 1_597_334_677)
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909)
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & b) + (a >>> 0)
}
