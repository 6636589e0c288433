/**
 * `Buckets`: the objects of a store by the values under which an index files them. Follows every change of what is
 * visible.
 *
 * An object on which the index function throws is in no bucket. The fault is kept until the object changes or is gone,
 * and every reader gets it, because a result without the object would be wrong.
 */
import type { KubeObject } from "../KubeObject.ts"

export class Buckets<A extends KubeObject> {
  readonly #buckets = new Map<string, Map<string, A>>()
  readonly #faults = new Map<string, unknown>()
  readonly name: string
  readonly #valuesOf: (object: A) => ReadonlyArray<string>

  constructor(name: string, valuesOf: (object: A) => ReadonlyArray<string>) {
    this.name = name
    this.#valuesOf = valuesOf
  }

  /** Number of values under which objects are filed. */
  get size(): number {
    return this.#buckets.size
  }

  /** The objects of a value, by key. */
  get(value: string): ReadonlyMap<string, A> {
    for (const [key, fault] of this.#faults) {
      throw new Error(`index ${this.name}: ${key}: ${fault instanceof Error ? fault.message : String(fault)}`, {
        cause: fault
      })
    }
    return this.#buckets.get(value) ?? new Map()
  }

  update(key: string, before: A | undefined, after: A | undefined): void {
    const left = before === undefined || this.#faults.delete(key) ? none : this.#valuesOf(before)
    const now = after === undefined ? none : this.#filed(key, after)
    // Most objects keep their values, and are replaced in place.
    if (left.length === 1 && now.length === 1 && left[0] === now[0]) {
      const bucket = this.#buckets.get(now[0]!)
      if (bucket !== undefined) return void bucket.set(key, after!)
    }
    if (!(left.length === now.length && left.every((value, index) => value === now[index]))) {
      for (const value of left) {
        const bucket = this.#buckets.get(value)
        if (bucket?.delete(key) === true && bucket.size === 0) this.#buckets.delete(value)
      }
    }
    for (const value of now) {
      const bucket = this.#buckets.get(value)
      if (bucket === undefined) this.#buckets.set(value, new Map([[key, after!]]))
      else bucket.set(key, after!)
    }
  }

  #filed(key: string, object: A): ReadonlyArray<string> {
    try {
      return this.#valuesOf(object)
    } catch (fault) {
      this.#faults.set(key, fault)
      return none
    }
  }
}

const none: ReadonlyArray<string> = []
