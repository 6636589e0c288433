/**
 * `FairOrder`: decides what is next, where lanes take turns, a priority is a head start, and nothing starves.
 *
 * Each value is tagged with the turn in which it would be served if all lanes were served evenly. The lowest tag minus
 * priority is next; of equal ones, the one that entered first. Within a lane tags only grow, so a lane is a list, and
 * the next value is the first of some lane. The cost per value does not grow with the number of values.
 *
 * Source: start-time fair queueing (Goyal, Vin, Cheng 1996), with every value of the same length.
 */
import { Heap, type Indexed } from "./Heap.ts"

/** A value in the order. It stores its own position, which only the order writes. */
export interface Standing<A> {
  /** Undefined while it is not in the order. */
  lane: Lane<A> | undefined
  tag: number
  /** Its serial number among all that ever entered. */
  entered: number
  before: A | undefined
  after: A | undefined
}

/** The waiting values of one name and priority, from first to last. */
interface Lane<A> extends Indexed {
  readonly name: string
  readonly priority: number
  first: A
  last: A
  /** The tag given last, maybe to a value that has left since. */
  given: number
  waiting: number
}

export class FairOrder<A extends Standing<A>> {
  #turn = 0
  #entered = 0
  #size = 0
  readonly #byPriority = new Map<number, Map<string, Lane<A>>>()
  /** The lane with the next value is first. */
  readonly #lanes = new Heap<Lane<A>>(isNext)

  get size(): number {
    return this.#size
  }

  /** Number of values that wait at a priority. */
  waiting(priority: number): number {
    let count = 0
    for (const lane of this.#byPriority.get(priority)?.values() ?? []) count += lane.waiting
    return count
  }

  /** Appends a value, which must not be in the order, to a lane. */
  enter(value: A, name: string, priority: number): void {
    this.#size += 1
    value.entered = this.#entered++
    let lanes = this.#byPriority.get(priority)
    if (lanes === undefined) this.#byPriority.set(priority, lanes = new Map())
    const lane = lanes.get(name)
    if (lane === undefined) {
      const tag = this.#turn + 1
      value.tag = tag
      value.lane = { name, priority, first: value, last: value, given: tag, waiting: 1, index: 0 }
      lanes.set(name, value.lane)
      return this.#lanes.push(value.lane)
    }
    const { last } = lane
    value.tag = lane.given = Math.max(this.#turn, lane.given) + 1
    value.lane = lane
    value.before = last
    last.after = value
    lane.last = value
    lane.waiting += 1
  }

  /** Removes and returns the next value. */
  take(): A | undefined {
    const value = this.#lanes.peek()?.first
    if (value === undefined) return undefined
    this.#turn = Math.max(this.#turn, value.tag)
    this.leave(value)
    return value
  }

  /** Removes a value from any position. */
  leave(value: A): void {
    const { after, before, lane } = value
    if (lane === undefined) return
    value.lane = undefined
    value.before = undefined
    value.after = undefined
    this.#size -= 1
    lane.waiting -= 1
    if (after !== undefined) after.before = before
    else if (before !== undefined) lane.last = before
    if (before !== undefined) before.after = after
    else if (after !== undefined) {
      lane.first = after
      this.#lanes.moved(lane)
    } else this.#close(lane)
  }

  #close(lane: Lane<A>): void {
    const lanes = this.#byPriority.get(lane.priority)!
    lanes.delete(lane.name)
    if (lanes.size === 0) this.#byPriority.delete(lane.priority)
    this.#lanes.remove(lane)
  }
}

const isNext = <A extends Standing<A>>(lane: Lane<A>, other: Lane<A>): boolean => {
  const a = lane.first
  const b = other.first
  const difference = (a.tag - lane.priority) - (b.tag - other.priority)
  return difference < 0 || difference === 0 && a.entered < b.entered
}
