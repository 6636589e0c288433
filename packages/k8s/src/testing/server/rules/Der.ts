/**
 * `Der`: values in the distinguished encoding of ASN.1, as certificates are made of.
 *
 * Source: ITU-T X.690.
 */

/** A value: its tag, and what is in it. */
export interface Value {
  readonly tag: number
  readonly content: Uint8Array
}

/** The tag of a sequence. */
export const sequence = 0x30

/** The value at an offset, and where the next one begins; undefined where there is none, or not all of it. */
const valueAt = (bytes: Uint8Array, offset: number): readonly [Value, number] | undefined => {
  const [tag, first] = [bytes[offset], bytes[offset + 1]]
  if (tag === undefined || first === undefined) return undefined
  const start = offset + 2 + (first < 0x80 ? 0 : first - 0x80)
  const size = first < 0x80 ? first : bytes.slice(offset + 2, start).reduce((sum, byte) => sum * 256 + byte, 0)
  const end = start + size
  return end > bytes.length ? undefined : [{ tag, content: bytes.slice(start, end) }, end]
}

/** The values that the bytes are, one after the other; undefined if they are anything else. */
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

/** The values in a value; none in one of another kind. */
export const children = ({ content, tag }: Value): ReadonlyArray<Value> =>
  (tag & 0x20) === 0 ? [] : values(content) ?? []
