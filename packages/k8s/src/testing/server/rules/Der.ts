/**
 * `Der`: decodes the distinguished encoding of ASN.1, the format of certificates.
 *
 * Source: ITU-T X.690.
 */

/** A value with its tag and content. */
export interface Value {
  readonly tag: number
  readonly content: Uint8Array
}

/** The tag of a SEQUENCE. */
export const sequence = 0x30

/** The value at an offset, and the offset after it; undefined if there is no complete value. */
const valueAt = (bytes: Uint8Array, offset: number): readonly [Value, number] | undefined => {
  const [tag, first] = [bytes[offset], bytes[offset + 1]]
  if (tag === undefined || first === undefined) return undefined
  const start = offset + 2 + (first < 0x80 ? 0 : first - 0x80)
  const size = first < 0x80 ? first : bytes.slice(offset + 2, start).reduce((sum, byte) => sum * 256 + byte, 0)
  const end = start + size
  return end > bytes.length ? undefined : [{ tag, content: bytes.slice(start, end) }, end]
}

/** The values of which the bytes consist; undefined if they contain anything else. */
export const values = (bytes: Uint8Array): ReadonlyArray<Value> | undefined => {
  const found: Array<Value> = []
  for (let offset = 0; offset < bytes.length;) {
    const next = valueAt(bytes, offset)
    if (next === undefined) return undefined
    found.push(next[0])
    offset = next[1]
  }
  return found
}

/** The values within a SEQUENCE; empty for other tags. */
export const children = ({ content, tag }: Value): ReadonlyArray<Value> =>
  (tag & 0x20) === 0 ? [] : values(content) ?? []
