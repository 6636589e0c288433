/**
 * `Reasons`: why a key is to be processed, each reason once, in the order they came.
 *
 * Most keys have one or two, so they are compared one by one; from the ninth on by their identities, because a key that
 * ten thousand objects are mapped to has as many.
 */
import { id, type Reason, same } from "../Trigger.ts"

/** So many are compared one by one. */
const few = 8

export class Reasons {
  readonly list: Array<Reason>
  #ids: Set<string> | undefined = undefined

  constructor(first: Reason) {
    this.list = [first]
  }

  add(reason: Reason): void {
    if (this.#has(reason)) return
    this.list.push(reason)
    if (this.#ids !== undefined) this.#ids.add(id(reason))
    else if (this.list.length > few) this.#ids = new Set(this.list.map(id))
  }

  #has(reason: Reason): boolean {
    if (this.#ids !== undefined) return this.#ids.has(id(reason))
    for (const known of this.list) if (same(known, reason)) return true
    return false
  }
}
