/** Values by time: the earliest first, equal times in order of insertion. */
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

  /** Adds a value; what is answered takes it out again. */
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

  /** Takes a value out, wherever it is. One that is out already stays so. */
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
