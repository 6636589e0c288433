/**
 * `Hash`: 32-bit FNV hashes, encoded as in names of Kubernetes: without vowels, and without digits that resemble them.
 *
 * Source: hash/fnv of Go; k8s.io/apimachinery/pkg/util/rand.SafeEncodeString.
 */

const offset = 0x811c9dc5
const prime = 0x01000193
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

/** FNV-1: multiply, then xor. */
export const fnv1 = (bytes: Iterable<number>, start: number = offset): number => {
  let hash = start
  for (const byte of bytes) hash = Math.imul(hash, prime) ^ byte
  return hash >>> 0
}

/** FNV-1a: xor, then multiply. */
export const fnv1a = (bytes: Iterable<number>, start: number = offset): number => {
  let hash = start
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime)
  return hash >>> 0
}

const encoder = new TextEncoder()

export const utf8 = (text: string): Uint8Array => encoder.encode(text)

/** The decimal digits of a hash, encoded in the safe alphabet. */
export const safe = (hash: number): string =>
  [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join("")
