/**
 * `Heads`: finds the objects in the bytes of a line of a watch, or of a page of a list, reads the metadata by which
 * each is filed, and leaves the rest of each as text (see `Unparsed` of core).
 *
 * It accepts what API servers write, and any other valid JSON of that shape, with any whitespace, order of keys and
 * additional members. For anything else, or if a name or one of the required values is written with escapes, it returns
 * `undefined`, and the document must be parsed as a whole. `metadata.managedFields` is cut from the text.
 *
 * Of a line it reads only the type and the object's metadata, which API servers write first; of a page it matches all
 * brackets and quotes. Whether the rest is valid JSON turns out when it is parsed. It does not check for repeated
 * names.
 */
import { type Head, Unparsed } from "@effect-operator/core/Unparsed"
import { Buffer } from "node:buffer"
import { blanks, stringEnd, unreadEnd, valueEnd } from "./JsonBytes.ts"

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openObject, closeObject, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d]

/** Start and end of a value; the end is 0 if it is absent. */
interface Range {
  from: number
  to: number
}

const none = (): Range => ({ from: 0, to: 0 })

/** The members of an object to find, with the ranges at which they were found. */
class Members {
  readonly #names: ReadonlyArray<Buffer>
  readonly #at: ReadonlyArray<Range>
  /** Set during a member to stop after it. */
  stop = false

  constructor(names: ReadonlyArray<string>) {
    this.#names = names.map((name) => Buffer.from(name))
    this.#at = names.map(none)
  }

  at(index: number): Range {
    return this.#at[index]!
  }

  /**
   * Walks the object that starts at a position. Returns its end, or -1 if it is not understood. `inside` may walk a
   * value itself; then it returns the value's end, otherwise undefined.
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
        // If a name is repeated, `JSON.parse` takes the last.
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

  /** The index of the name; -1 for any other, -2 for one that is written with escapes. */
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

/** Walks one object after another. */
class Objects {
  readonly #object = new Members(["metadata"])
  readonly #metadata = new Members(["name", "namespace", "uid", "resourceVersion", "managedFields"])
  #key = 0
  #end = 0
  #hurry = false
  #bytes: Buffer = Buffer.alloc(0)

  /** The object that was walked last; undefined if it cannot be filed. */
  found: Unparsed | undefined = undefined

  /**
   * Returns the end of the object that starts at a position, -1 if it is not understood; for a line, the end of its
   * metadata. The text that is kept is that of `line` if given, otherwise that of the object.
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

  /** A string of the metadata; undefined if it is not one, or has escapes. */
  #text(index: number): string | undefined {
    const { from, to } = this.#metadata.at(index)
    const bytes = this.#bytes
    if (to === 0 || bytes[from] !== quote) return undefined
    for (let i = from + 1; i < to - 1; i++) if (bytes[i] === backslash) return undefined
    return bytes.toString("utf8", from + 1, to - 1)
  }

  /** The text of the object without `managedFields`, unless they are the last member. */
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

/** Reads a line of a watch: returns an event with an unparsed object, or undefined. */
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

/** Reads a page of a list: returns the list with unparsed objects, or undefined. */
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
