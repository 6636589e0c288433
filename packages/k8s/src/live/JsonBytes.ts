/**
 * `JsonBytes`: cuts fields that are not needed out of the bytes of a JSON document, so that they are never parsed.
 *
 * Parsing is the main cost of ingestion, and half of a custom resource is `managedFields`. The scanner walks the bytes
 * once, knows where keys and values start and end, and copies what is wanted. It parses and validates nothing: what it
 * leaves goes to the parser, which refuses anything that is not JSON. It guarantees, for every valid document:
 * - what is cut is a whole member with one comma, so that the rest is valid JSON and nothing else is missing;
 * - only members at the given paths are cut, never a name inside a string or at another depth. A list in a path is
 *   written `*`;
 * - whitespace, escapes, any order of keys and any UTF-8 are fine. A name that is written with escapes is not
 *   recognised, and of repeated names not all may be: then more is left than requested, never less;
 * - bytes that the scanner does not understand are left whole (`undefined`): the parser knows what is wrong with them.
 *
 * What is cut is not checked.
 */
import { Buffer } from "node:buffer"

/** What to cut: names, each with what to cut below it, or with nothing if the whole member is cut. */
export interface Fields {
  readonly names: ReadonlyArray<Name>
  /** What to cut from each element if the value is a list. */
  readonly each: Fields | undefined
}

interface Name {
  /** As written between its quotes. */
  readonly bytes: Uint8Array
  readonly below: Fields | undefined
}

/** The fields for paths such as `metadata.managedFields`, `items.*.status`. */
export const fields = (paths: ReadonlyArray<string>): Fields => fieldsOf(paths.map((path) => path.split(".")))

const fieldsOf = (paths: ReadonlyArray<ReadonlyArray<string>>): Fields => {
  const first = new Set(paths.flatMap(([name]) => name === undefined || name === "*" ? [] : [name]))
  const below = (name: string): ReadonlyArray<ReadonlyArray<string>> =>
    paths.flatMap(([first, ...rest]) => first === name ? [rest] : [])
  const through = below("*")
  return {
    names: [...first].map((name) => {
      const rest = below(name)
      return { bytes: Buffer.from(name), below: rest.some(({ length }) => length === 0) ? undefined : fieldsOf(rest) }
    }),
    each: through.length === 0 ? undefined : fieldsOf(through)
  }
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openObject, closeObject, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d]

/** A scanner for documents of one shape. A document is scanned only up to the last member to cut. */
export class Cutter {
  readonly #fields: Fields
  #bytes: Buffer = Buffer.alloc(0)
  #end = 0
  /** Where cuts start and end, alternately. */
  readonly #cuts: Array<number> = []
  readonly #sought: Name | undefined
  #found: readonly [from: number, to: number] | undefined
  #stopped = false

  /** `sought` is a member of the outermost object whose text `found` returns. */
  constructor(fields: Fields, sought?: string) {
    this.#sought = sought === undefined
      ? undefined
      : { bytes: Buffer.from(sought), below: { names: [], each: undefined } }
    this.#fields = this.#sought === undefined ? fields : { ...fields, names: [...fields.names, this.#sought] }
  }

  /** The text of the sought member of the last document, if it had one. */
  get found(): string | undefined {
    return this.#found === undefined ? undefined : this.#bytes.toString("utf8", ...this.#found)
  }

  /**
   * The text of a document without the fields. Undefined if there is nothing to cut, or if the bytes are not
   * understood.
   */
  cut(bytes: Buffer, from = 0, to = bytes.length): string | undefined {
    this.#bytes = bytes
    this.#end = to
    this.#stopped = false
    this.#found = undefined
    const cuts = this.#cuts
    cuts.length = 0
    const end = this.#value(blanks(bytes, from, to), this.#fields, true)
    if (end < 0 || cuts.length === 0) return undefined
    // The engine concatenates strings faster than their bytes could be copied together first.
    let text = ""
    let at = from
    for (let cut = 0; cut < cuts.length; cut += 2) {
      text += textOf(bytes, at, cuts[cut]!)
      at = cuts[cut + 1]!
    }
    return text + textOf(bytes, at, to)
  }

  /**
   * Returns the end of the value that starts at a position, -1 if it has none, and records what to cut from it. `last`:
   * nothing after the value is to be cut, so its end does not matter.
   */
  #value(at: number, fields: Fields | undefined, last: boolean): number {
    const first = this.#bytes[at]
    if (fields !== undefined) {
      if (first === openObject && fields.names.length > 0) return this.#object(at + 1, fields.names, last)
      if (first === openList && fields.each !== undefined) return this.#list(at + 1, fields.each)
    }
    return valueEnd(this.#bytes, at, this.#end)
  }

  /** The members of an object, starting after its brace. */
  #object(from: number, names: ReadonlyArray<Name>, last: boolean): number {
    const bytes = this.#bytes
    const end = this.#end
    const before = this.#cuts.length
    /** The end of the last member that stays. */
    let kept = -1
    let found = 0
    let at = blanks(bytes, from, end)
    if (bytes[at] === closeObject) return at + 1
    while (at < end) {
      const key = at
      if (bytes[key] !== quote) return -1
      const keyEnd = stringEnd(bytes, key + 1, end)
      if (keyEnd < 0) return -1
      at = blanks(bytes, keyEnd, end)
      if (bytes[at] !== colon) return -1
      at = blanks(bytes, at + 1, end)
      const name = find(names, bytes, key + 1, keyEnd - 1)
      if (name !== undefined) found += 1
      const isLast = last && found === names.length
      const cut = name !== undefined && name.below === undefined
      const valueAt = cut
        ? unreadEnd(bytes, at, end)
        : name === undefined
        ? valueEnd(bytes, at, end)
        : this.#value(at, name.below, isLast)
      if (valueAt < 0 || this.#stopped) return valueAt
      if (name !== undefined && name === this.#sought) this.#found = [at, valueAt]
      at = blanks(bytes, valueAt, end)
      const next = bytes[at]
      if (next === comma) {
        at = blanks(bytes, at + 1, end)
        if (cut) this.#cuts.push(key, at)
        if (isLast) {
          this.#stopped = true
          return at
        }
      } else if (next === closeObject) {
        if (cut) this.#cutLast(key, valueAt, kept, before)
        return at + 1
      } else return -1
      if (!cut) kept = valueAt
    }
    return -1
  }

  /** Cuts a last member together with the comma before it and the members that were cut directly before it. */
  #cutLast(key: number, end: number, kept: number, before: number): void {
    const cuts = this.#cuts
    if (kept < 0) return void cuts.push(key, end)
    while (cuts.length > before && cuts[cuts.length - 2]! >= kept) cuts.length -= 2
    cuts.push(kept, end)
  }

  /** The elements of a list, starting after its bracket. */
  #list(from: number, each: Fields): number {
    const bytes = this.#bytes
    const end = this.#end
    let at = blanks(bytes, from, end)
    if (bytes[at] === closeList) return at + 1
    while (at < end) {
      const valueAt = this.#value(at, each, false)
      if (valueAt < 0) return -1
      at = blanks(bytes, valueAt, end)
      if (bytes[at] === closeList) return at + 1
      if (bytes[at] !== comma) return -1
      at = blanks(bytes, at + 1, end)
    }
    return -1
  }
}

const find = (names: ReadonlyArray<Name>, all: Buffer, from: number, to: number): Name | undefined => {
  next: for (let n = 0; n < names.length; n++) {
    const { bytes } = names[n]!
    if (bytes.length !== to - from) continue
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== all[from + i]) continue next
    return names[n]
  }
  return undefined
}

/** Node stores texts longer than about 1 MB outside the heap (0xFBEE9 bytes, EXTERN_APEX in its string_bytes.cc). */
const mostInHeap = 1_000_000

/**
 * Decodes bytes to a text inside the heap, however long. Text outside the heap stays until the whole heap is marked,
 * and triggers marking itself: for a list of large pages that took half of the CPU.
 */
export const textOf = (bytes: Buffer, from: number, to: number): string => {
  let text = ""
  let at = from
  while (to - at > mostInHeap) {
    let end = at + mostInHeap
    // Do not split a character: its continuation bytes start with the bits 10.
    while ((bytes[end]! & 0xc0) === 0x80) end--
    text += bytes.toString("utf8", at, end)
    at = end
  }
  return text + bytes.toString("utf8", at, to)
}

/** Returns the end of the value that starts at a position, -1 if it has none. */
export const valueEnd = (bytes: Buffer, at: number, end: number): number => {
  const first = bytes[at]
  if (first === quote) return stringEnd(bytes, at + 1, end)
  if (first === openObject || first === openList) {
    let depth = 1
    for (let i = at + 1; i < end; i++) {
      const byte = bytes[i]!
      if (byte === quote) {
        i = stringEnd(bytes, i + 1, end) - 1
        if (i < 0) return -1
      } else if (byte > comma) {
        // Brackets and braces differ in one bit only.
        const bracket = byte & 0xdf
        if (bracket === openList) depth++
        else if (bracket === closeList && --depth === 0) return i + 1
      }
    }
    return -1
  }
  let i = at
  while (i < end && isWord(bytes[i]!)) i++
  return i === at ? -1 : i
}

/**
 * As `valueEnd`, for a value that is not needed and is valid. A list that contains no other list, such as
 * `managedFields`, ends at the first closing bracket outside a string, which native searches find. No letter can follow
 * a string, so a quote before a letter starts a string, and the bytes before that quote are outside any string.
 */
export const unreadEnd = (bytes: Buffer, at: number, end: number): number => {
  if (bytes[at] !== openList) return valueEnd(bytes, at, end)
  const close = bytes.indexOf(closeList, at + 1)
  let next = close + 1
  while (bytes[next] === closeObject || bytes[next] === comma) next++
  if (close < 0 || next + 1 >= end || bytes[next] !== quote || !isLetter(bytes[next + 1]!)) {
    return valueEnd(bytes, at, end)
  }
  const inner = bytes.indexOf(openList, at + 1)
  return inner >= 0 && inner < close ? valueEnd(bytes, at, end) : close + 1
}

const isLetter = (byte: number): boolean => (byte & 0xdf) >= 0x41 && (byte & 0xdf) <= 0x5a

/** Returns the end of a string, starting after its opening quote. */
export const stringEnd = (bytes: Buffer, from: number, end: number): number => {
  for (let i = from; i < end; i++) {
    const byte = bytes[i]!
    if (byte === quote) return i + 1
    if (byte === backslash) i++
  }
  return -1
}

export const blanks = (bytes: Buffer, from: number, end: number): number => {
  let at = from
  while (at < end && isBlank(bytes[at]!)) at++
  return at
}

const isBlank = (byte: number): boolean =>
  byte <= 0x20 && (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)

/** Numbers, `true`, `false`, `null`: everything up to what may follow a value. */
const isWord = (byte: number): boolean =>
  byte !== comma && byte !== closeObject && byte !== closeList && byte !== colon && !isBlank(byte)
