/**
 * The controller's own writes of its objects' status and finalizers, so that their events wake nobody.
 *
 * An event may come before the answer to the write that made it: over HTTP they come on two connections. So what could be
 * an own write waits while the key is worked on, until the answers are there. That costs nothing: the key would not be
 * reconciled again before.
 *
 * A write that changes nothing is answered with the version that is there, which may be somebody else's. So an event is one's
 * own only as far as its status differs in what the write spoke of.
 */
import type { Delta } from "../Delta.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"
import { equals, isObject, own } from "./jsonMerge.ts"

/** So many events of a key wait at most: more are not all of its own writes. */
const most = 8

type Updated = Extract<Delta, { readonly _tag: "Updated" }>

/** An event that may be that of an own write. */
interface Waiting {
  readonly version: string
  readonly delta: Updated
  readonly pass: () => void
}

/** A version that was written, and the status as far as the write spoke of it: `everything` where it spoke of all. */
interface Own {
  readonly version: string
  readonly status: unknown
}

const everything = true

/** Work on a key, by how many, and what waits for its end. */
interface Work {
  count: number
  waiting: Array<Waiting>
}

export class OwnWrites {
  /** Versions of each key that were written and not seen yet, in their order. */
  readonly #versions = new Map<string, Array<Own>>()
  readonly #work = new Map<string, Work>()

  /** The key is worked on from now on, until `ended` was called as often. */
  began(key: string): void {
    const work = this.#work.get(key)
    if (work === undefined) this.#work.set(key, { count: 1, waiting: [] })
    else work.count += 1
  }

  /** What waited and was nobody's own write passes. */
  ended(key: string): void {
    const work = this.#work.get(key)
    if (work === undefined || --work.count > 0) return
    this.#work.delete(key)
    for (const { pass } of work.waiting) pass()
  }

  /** The key is at this version by an own write, which spoke of these fields, or of the whole object. */
  wrote(key: string, version: string, fields?: unknown): void {
    const one: Own = { version, status: isObject(fields) ? own(fields, "status") : everything }
    const work = this.#work.get(key)
    const seen = work?.waiting.findIndex((waiting) => waiting.version === version) ?? -1
    if (seen >= 0) {
      // What is somebody else's goes on to wait.
      if (isMadeBy([one], work!.waiting[seen]!.delta)) work!.waiting.splice(seen, 1)
      return
    }
    const versions = this.#versions.get(key)
    if (versions === undefined) this.#versions.set(key, [one])
    else if (versions.at(-1)!.version !== version) versions.push(one)
  }

  /** Whether a delta tells nothing but what this controller wrote itself. If that is not known yet, `pass` may follow. */
  echoes(delta: Delta, pass: () => void): boolean {
    if (delta._tag === "Invalid") return false
    const key = keyString(delta.object)
    const work = this.#work.get(key)
    if (delta._tag !== "Updated") {
      if (delta._tag === "Deleted") this.#versions.delete(key)
      if (work !== undefined) work.waiting = []
      return false
    }
    const version = delta.object.metadata.resourceVersion
    const versions = this.#versions.get(key)
    const at = versions?.findIndex((one) => one.version === version) ?? -1
    // Those before it are part of it.
    const made = versions?.splice(0, at + 1) ?? []
    if (versions?.length === 0) this.#versions.delete(key)
    if (at < 0 && (work === undefined || work.waiting.length === most)) return false
    if (delta.old.metadata.generation !== delta.object.metadata.generation) return false
    // A list may stand for several changes, the own one the last of them.
    if (!equals(others(delta.old), others(delta.object))) return false
    if (at < 0) work!.waiting.push({ version, delta, pass })
    return at < 0 || isMadeBy(made, delta)
  }
}

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

/** Whether own writes can have made all of what an event changed of the status. */
const isMadeBy = (made: ReadonlyArray<Own>, { object, old }: Updated): boolean =>
  speakOf(made.map(({ status }) => status), statusOf(old), statusOf(object))

/** The same of a list: conditions, which several write into one, are told apart by their types. */
const speakOfItems = (spoken: ReadonlyArray<unknown>, before: unknown, after: ReadonlyArray<unknown>): boolean => {
  const known = Array.isArray(before) ? before : []
  const typeOf = (item: unknown): unknown => isObject(item) ? own(item, "type") : undefined
  return after.every((item) =>
    typeOf(item) === undefined || known.some((one) => equals(one, item)) ||
    spoken.some((one) => typeOf(one) === typeOf(item))
  )
}

/** Whether two values differ in nothing but what is spoken of: all of it by what is no object. */
const speakOf = (spoken: ReadonlyArray<unknown>, before: unknown, after: unknown): boolean => {
  const said = spoken.filter((one) => one !== undefined)
  if (equals(before, after)) return true
  if (said.length === 0) return false
  const lists = said.filter(Array.isArray)
  if (lists.length === said.length && Array.isArray(after)) return speakOfItems(lists.flat(), before, after)
  const fields = said.filter(isObject)
  const [a, b] = [before ?? {}, after ?? {}]
  if (fields.length < said.length || !isObject(a) || !isObject(b)) return true
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) =>
    speakOf(fields.map((one) => own(one, key)), own(a, key), own(b, key))
  )
}

/** An object without status and without what the server keeps in its metadata. */
const others = (object: KubeObject): unknown => {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  const { finalizers: __, managedFields: ___, resourceVersion: ____, ...metadata } = object.metadata
  return { ...rest, metadata }
}
