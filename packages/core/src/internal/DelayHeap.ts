/** Values by time: earliest first, equal times in insertion order. */
import { Heap, type Indexed } from "./Heap.ts"

export class DelayHeap<A> {
  readonly #slots = new Heap<Slot<A>>(isBefore)
  #order = 0

  get size(): number {
    return this.#slots.size
  }

  peek(): { readonly at: number; readonly value: A } | undefined {
    return this.#slots.peek()
  }

  /** Adds a value; the returned slot removes it. */
  push(at: number, value: A): Slot<A> {
    const slot = { at, order: this.#order++, value, index: 0 }
    this.#slots.push(slot)
    return slot
  }

  pop(): A | undefined {
    const first = this.#slots.peek()
    if (first !== undefined) this.remove(first)
    return first?.value
  }

  /** Removes a value from any position. Removing it again has no effect. */
  remove(slot: Slot<A>): void {
    this.#slots.remove(slot)
  }
}

/** A value in a heap. */
export interface Slot<out A> extends Indexed {
  readonly at: number
  readonly order: number
  readonly value: A
}

const isBefore = (a: Slot<unknown>, b: Slot<unknown>): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
