/**
 * The controller's own writes of its objects' status and finalizers, so that their events wake nobody.
 *
 * An event may come before the answer to the write that made it: over HTTP they come on two connections. So what could be
 * an own write waits while the key is worked on, until the answers are there. That costs nothing: the key would not be
 * reconciled again before.
 */
import type { Delta } from "../Delta.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"
import { equals } from "./jsonMerge.ts"

/** So many events of a key wait at most: more are not all of its own writes. */
const most = 8

/** An event that may be that of an own write. */
interface Waiting {
  readonly version: string
  readonly pass: () => void
}

/** Work on a key, by how many, and what waits for its end. */
interface Work {
  count: number
  waiting: Array<Waiting>
}

export class OwnWrites {
  /** Versions of each key that were written and not seen yet, in their order. */
  readonly #versions = new Map<string, Array<string>>()
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

  wrote(key: string, resourceVersion: string): void {
    const work = this.#work.get(key)
    const seen = work?.waiting.findIndex(({ version }) => version === resourceVersion) ?? -1
    if (seen >= 0) return void work!.waiting.splice(seen, 1)
    const versions = this.#versions.get(key)
    if (versions === undefined) this.#versions.set(key, [resourceVersion])
    else if (versions.at(-1) !== resourceVersion) versions.push(resourceVersion)
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
    const at = versions?.indexOf(version) ?? -1
    if (at >= 0) {
      // Those before it are part of it.
      if (at === versions!.length - 1) this.#versions.delete(key)
      else versions!.splice(0, at + 1)
    }
    if (at < 0 && (work === undefined || work.waiting.length === most)) return false
    if (delta.old.metadata.generation !== delta.object.metadata.generation) return false
    // A list may stand for several changes, the own one the last of them.
    if (!equals(others(delta.old), others(delta.object))) return false
    if (at < 0) work!.waiting.push({ version, pass })
    return true
  }
}

/** An object without status and without what the server keeps in its metadata. */
const others = (object: KubeObject): unknown => {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown }
  const { finalizers: __, managedFields: ___, resourceVersion: ____, ...metadata } = object.metadata
  return { ...rest, metadata }
}
