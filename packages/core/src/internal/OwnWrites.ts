/**
 * The controller's own writes of its objects' status and finalizers, so that their events wake nobody.
 *
 * An event may arrive before the response to the write that caused it: over HTTP they come on two connections. So a
 * possible own write waits while its key is processed, until the responses are there. That costs nothing: the key would
 * not be reconciled earlier.
 *
 * A write that changes nothing returns the stored version, which may be somebody else's. So an event counts as own only
 * if its status differs in nothing but what the write set.
 */
import type { Delta } from "../Delta.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"
import { equals, isObject, own } from "./jsonMerge.ts"

/** Maximum number of waiting events of a key: more cannot all be own writes. */
const most = 8

type Updated = Extract<Delta, { readonly _tag: "Updated" }>

/** An event that an own write may have caused. */
interface Waiting {
  readonly version: string
  readonly delta: Updated
  readonly pass: () => void
}

/** A version that was written, and the part of the status that the write set: `everything` for a whole object. */
interface Own {
  readonly version: string
  readonly status: unknown
}

const everything = true

/** How many work on a key, and what waits until they are done. */
interface Work {
  count: number
  waiting: Array<Waiting>
}

export class OwnWrites {
  /** Versions of each key that were written and not seen yet, in order. */
  readonly #versions = new Map<string, Array<Own>>()
  readonly #work = new Map<string, Work>()

  /** Work on the key begins, until `ended` is called as often. */
  began(key: string): void {
    const work = this.#work.get(key)
    if (work === undefined) this.#work.set(key, { count: 1, waiting: [] })
    else work.count += 1
  }

  /** Passes the events that waited and were not own writes. */
  ended(key: string): void {
    const work = this.#work.get(key)
    if (work === undefined || --work.count > 0) return
    this.#work.delete(key)
    for (const { pass } of work.waiting) pass()
  }

  /** An own write, of these fields or of the whole object, brought the key to this version. */
  wrote(key: string, version: string, fields?: unknown): void {
    const one: Own = { version, status: isObject(fields) ? own(fields, "status") : everything }
    const work = this.#work.get(key)
    const seen = work?.waiting.findIndex((waiting) => waiting.version === version) ?? -1
    if (seen >= 0) {
      // An event of somebody else keeps waiting.
      if (isMadeBy([one], work!.waiting[seen]!.delta)) work!.waiting.splice(seen, 1)
      return
    }
    const versions = this.#versions.get(key)
    if (versions === undefined) this.#versions.set(key, [one])
    else if (versions.at(-1)!.version !== version) versions.push(one)
  }

  /** Whether a delta shows nothing but own writes. If that is not known yet, `pass` may be called later. */
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
    // This version includes those before it.
    const made = versions?.splice(0, at + 1) ?? []
    if (versions?.length === 0) this.#versions.delete(key)
    if (at < 0 && (work === undefined || work.waiting.length === most)) return false
    if (delta.old.metadata.generation !== delta.object.metadata.generation) return false
    // A list may stand for several changes, of which the own one is the last.
    if (!equals(others(delta.old), others(delta.object))) return false
    if (at < 0) work!.waiting.push({ version, delta, pass })
    return at < 0 || isMadeBy(made, delta)
  }
}

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

/** Whether own writes can have made all changes of the status that an event shows. */
const isMadeBy = (made: ReadonlyArray<Own>, { object, old }: Updated): boolean =>
  speakOf(made.map(({ status }) => status), statusOf(old), statusOf(object))

/**
 * Like `speakOf`, for lists. Conditions, which several controllers write into one list, are identified by their types.
 */
const speakOfItems = (spoken: ReadonlyArray<unknown>, before: unknown, after: ReadonlyArray<unknown>): boolean => {
  const known = Array.isArray(before) ? before : []
  const typeOf = (item: unknown): unknown => isObject(item) ? own(item, "type") : undefined
  return after.every((item) =>
    typeOf(item) === undefined || known.some((one) => equals(one, item)) ||
    spoken.some((one) => typeOf(one) === typeOf(item))
  )
}

/** Whether two values differ only in what was written. A written value that is not an object covers all of it. */
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

/** An object without its status, finalizers, managed fields and version. */
const others = (object: KubeObject): unknown => {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  const { finalizers: __, managedFields: ___, resourceVersion: ____, ...metadata } = object.metadata
  return { ...rest, metadata }
}
