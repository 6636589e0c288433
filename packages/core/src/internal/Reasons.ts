/**
 * `Reasons`: why a key is to be processed, each reason once, in order of arrival.
 *
 * Most keys have one reason, which is stored as it is. A few are compared one by one; from the ninth on they are
 * compared by identity. Of very many changed objects the first are kept: on a standby a key may wait for weeks, and
 * would otherwise remember every Pod that came and went meanwhile.
 */
import { id, type Reason, same } from "../Trigger.ts"

/** Up to this many are compared one by one. */
const few = 8

/** Maximum number of reasons; only changes of objects are left out, of the other reasons there are few. */
export const most = 100

export type Reasons = Reason | Several

class Several {
  readonly all: Array<Reason>
  #ids: Set<string> | undefined = undefined

  constructor(first: Reason, second: Reason) {
    this.all = [first, second]
  }

  add(reason: Reason): void {
    if ("kind" in reason && this.all.length >= most) return
    if (this.#has(reason)) return
    this.all.push(reason)
    if (this.#ids !== undefined) this.#ids.add(id(reason))
    else if (this.all.length > few) this.#ids = new Set(this.all.map(id))
  }

  #has(reason: Reason): boolean {
    if (this.#ids !== undefined) return this.#ids.has(id(reason))
    for (const known of this.all) if (same(known, reason)) return true
    return false
  }
}

/** The reasons with one more. May change its argument. */
export const and = (reasons: Reasons | undefined, reason: Reason): Reasons => {
  if (reasons === undefined) return reason
  if (!(reasons instanceof Several)) return same(reasons, reason) ? reasons : new Several(reasons, reason)
  reasons.add(reason)
  return reasons
}

/** In order of arrival. */
export const list = (reasons: Reasons | undefined): ReadonlyArray<Reason> =>
  reasons === undefined ? [] : reasons instanceof Several ? reasons.all : [reasons]
