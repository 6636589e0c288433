/**
 * `Heads`: finds in the bytes of a line of a watch, or of a page of a list, its objects and what files them, and leaves the
 * rest of each as text (see `Unparsed` of core).
 *
 * It takes what API servers write, and any other legal JSON of that shape: whitespace, any order of keys, any members. What
 * is not of that shape, or writes a name or one of the known values with escapes, is answered with `undefined`: it is to be
 * parsed as a whole. `metadata.managedFields` is cut from the text.
 *
 * Of a line no more is read than its type and the metadata of its object, which stand first as API servers write them; of a
 * page brackets and quotes of everything are matched. That the rest is JSON is found out when it is parsed. Names that occur
 * twice are not looked for.
 */
import { type Head, Unparsed } from "@effect-operator/core/Unparsed"
import { Buffer } from "node:buffer"
import { blanks, stringEnd, unreadEnd, valueEnd } from "./JsonBytes.ts"

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openObject, closeObject, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Where a value begins and ends; end 0 for one that is not there. */
interface Range {
  from: number
  to: number
}

const none = (): Range => ({ from: 0, to: 0 })

/** The members of objects that are looked for, with the ranges they were found at. */
class Members {
  readonly #names: ReadonlyArray<Buffer>
  readonly #at: ReadonlyArray<Range>
  /** Set while a member is walked: nothing behind it is read. */
  stop = false

  constructor(names: ReadonlyArray<string>) {
    this.#names = names.map((name) => Buffer.from(name))
    this.#at = names.map(none)
  }

  at(index: number): Range {
    return this.#at[index]!
  }

  /**
   * Walks the object that begins at a position. Its end; -1 if it cannot be understood. `inside` may walk a value itself:
   * it answers its end, or nothing.
   */
  walk(
    bytes: Buffer,
    from: number,
    end: number,
    inside: (index: number, key: number, at: number) => number | undefined
  ): number {
    this.stop = false
    for (const range of this.#at) range.to = 0
    if (bytes[from] !== openObject) return -1
    let at = blanks(bytes, from + 1, end)
    if (bytes[at] === closeObject) return at + 1
    while (at < end) {
      const key = at
      if (bytes[key] !== quote) return -1
      const keyEnd = stringEnd(bytes, key + 1, end)
      if (keyEnd < 0) return -1
      at = blanks(bytes, keyEnd, end)
      if (bytes[at] !== colon) return -1
      at = blanks(bytes, at + 1, end)
      const index = this.#find(bytes, key + 1, keyEnd - 1)
      if (index === -2) return -1
      const to = (index < 0 ? undefined : inside(index, key, at)) ?? valueEnd(bytes, at, end)
      if (to < 0) return -1
      if (index >= 0) {
        const range = this.#at[index]!
        // Of a name that comes twice the parser takes the last.
        if (range.to > 0) return -1
        range.from = at
        range.to = to
        if (this.stop) return to
      }
      at = blanks(bytes, to, end)
      if (bytes[at] === closeObject) return at + 1
      if (bytes[at] !== comma) return -1
      at = blanks(bytes, at + 1, end)
    }
    return -1
  }

  /** Which name it is; -1 for another, -2 for one that is written with escapes. */
  #find(all: Buffer, from: number, to: number): number {
    const names = this.#names
    next: for (let n = 0; n < names.length; n++) {
      const name = names[n]!
      if (name.length !== to - from) continue
      for (let i = 0; i < name.length; i++) if (name[i] !== all[from + i]) continue next
      return n
    }
    for (let i = from; i < to; i++) if (all[i] === backslash) return -2
    return -1
  }
}

/** One object after another. */
class Objects {
  readonly #object = new Members(["metadata"])
  readonly #metadata = new Members(["name", "namespace", "uid", "resourceVersion", "managedFields"])
  #key = 0
  #end = 0
  #hurry = false
  #bytes: Buffer = Buffer.alloc(0)

  /** The object that was walked last; undefined if it is none that can be filed. */
  found: Unparsed | undefined = undefined

  /**
   * The end of the object that begins at a position, -1 if it cannot be understood; in a hurry that of its metadata.
   * `line`, if it is one, is kept as text instead of the object alone.
   */
  walk(bytes: Buffer, from: number, end: number, line?: Range): number {
    this.#hurry = line !== undefined
    this.#bytes = bytes
    this.#end = end
    this.found = undefined
    const to = this.#object.walk(bytes, from, end, this.#inside)
    if (to < 0 || this.#object.at(0).to === 0) return -1
    const name = this.#text(0)
    const namespace = this.#text(1)
    const uid = this.#text(2)
    const resourceVersion = this.#text(3)
    if (name === undefined || uid === undefined || resourceVersion === undefined) return -1
    if (namespace === undefined && this.#metadata.at(1).to > 0) return -1
    const head: Head = { name, namespace, resourceVersion, uid }
    this.found = line === undefined
      ? new Unparsed(head, this.#without(bytes, from, to))
      : new Unparsed(head, this.#without(bytes, line.from, line.to), objectOf)
    return to
  }

  readonly #inside = (_: number, __: number, at: number): number => {
    this.#object.stop = this.#hurry
    return this.#metadata.walk(this.#bytes, at, this.#end, this.#field)
  }

  readonly #field = (index: number, key: number, at: number): number | undefined => {
    if (index !== 4) return undefined
    this.#key = key
    return unreadEnd(this.#bytes, at, this.#end)
  }

  /** A string of the metadata; nothing if it is none, or has escapes. */
  #text(index: number): string | undefined {
    const { from, to } = this.#metadata.at(index)
    const bytes = this.#bytes
    if (to === 0 || bytes[from] !== quote) return undefined
    for (let i = from + 1; i < to - 1; i++) if (bytes[i] === backslash) return undefined
    return bytes.toString("utf8", from + 1, to - 1)
  }

  /** The text of the object, without `managedFields` unless they stand last. */
  #without(bytes: Buffer, from: number, to: number): string {
    const { to: fieldsEnd } = this.#metadata.at(4)
    if (fieldsEnd > 0) {
      const next = blanks(bytes, fieldsEnd, to)
      if (bytes[next] === comma) return bytes.toString("utf8", from, this.#key) + bytes.toString("utf8", next + 1, to)
      let before = this.#key - 1
      while (bytes[before]! <= 0x20) before--
      const cut = bytes[before] === comma ? before : this.#key
      return bytes.toString("utf8", from, cut) + bytes.toString("utf8", fieldsEnd, to)
    }
    return bytes.toString("utf8", from, to)
  }
}

const objectOf = (event: unknown): unknown => (event as { readonly object: unknown }).object

/** Reads lines of a watch: an event whose object is not parsed, or nothing. */
export const line = (): (bytes: Buffer, from: number, to: number) => unknown => {
  const objects = new Objects()
  const event = new Members(["type", "object"])
  const whole = none()
  let bytes: Buffer = Buffer.alloc(0)
  const inside = (index: number, _: number, at: number): number | undefined => {
    if (index === 0) return undefined
    event.stop = event.at(0).to > 0
    return objects.walk(bytes, at, whole.to, event.stop ? whole : undefined)
  }
  return (chunk, from, to) => {
    bytes = chunk
    whole.from = blanks(chunk, from, to)
    whole.to = to
    while (whole.to > from && chunk[whole.to - 1]! <= 0x20) whole.to--
    if (chunk[whole.to - 1] !== closeObject) return undefined
    const stop = event.walk(chunk, whole.from, whole.to, inside)
    if (stop < 0 || (stop !== whole.to && !event.stop) || event.at(1).to === 0) return undefined
    const type = typeOf(chunk, event.at(0))
    return type === undefined ? undefined : { type, object: objects.found! }
  }
}

/** The types of events whose objects a cache keeps. */
const types = ["ADDED", "MODIFIED", "DELETED"].map((name) => ({ name, written: Buffer.from(`"${name}"`) }))

const typeOf = (bytes: Buffer, { from, to }: Range): string | undefined => {
  next: for (const { name, written } of types) {
    if (written.length !== to - from) continue
    for (let i = 1; i < written.length; i++) if (written[i] !== bytes[from + i]) continue next
    return name
  }
  return undefined
}

/** Reads a page of a list: the list with objects that are not parsed, or nothing. */
export const page = (bytes: Buffer): { readonly items: ReadonlyArray<Unparsed> } | undefined => {
  const objects = new Objects()
  const items: Array<Unparsed> = []
  const list = new Members(["items"])
  const end = bytes.length
  const from = blanks(bytes, 0, end)
  const to = list.walk(bytes, from, end, (_, __, open) => {
    if (bytes[open] !== openList) return -1
    let at = blanks(bytes, open + 1, end)
    if (bytes[at] === closeList) return at + 1
    while (at < end) {
      at = objects.walk(bytes, at, end)
      if (at < 0) return -1
      items.push(objects.found!)
      at = blanks(bytes, at, end)
      if (bytes[at] === closeList) return at + 1
      if (bytes[at] !== comma) return -1
      at = blanks(bytes, at + 1, end)
    }
    return -1
  })
  const { from: itemsFrom, to: itemsEnd } = list.at(0)
  if (to < 0 || blanks(bytes, to, end) !== end || itemsEnd === 0) return undefined
  try {
    const rest = JSON.parse(
      `${bytes.toString("utf8", from, itemsFrom)}[]${bytes.toString("utf8", itemsEnd, to)}`
    ) as object
    return { ...rest, items }
  } catch {
    return undefined
  }
}
