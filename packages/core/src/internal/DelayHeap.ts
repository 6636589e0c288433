/** A binary heap of values by time: the earliest first, equal times in order of insertion. */
export class DelayHeap<A> {
  readonly #slots: Array<Slot<A>> = []
  #order = 0

  get size(): number {
    return this.#slots.length
  }

  peek(): { readonly at: number; readonly value: A } | undefined {
    return this.#slots[0]
  }

  /** Adds a value; what is answered takes it out again. */
  push(at: number, value: A): Slot<A> {
    const slot = { at, order: this.#order++, value, index: this.#slots.length }
    this.#slots.push(slot)
    this.#up(slot)
    return slot
  }

  pop(): A | undefined {
    const first = this.#slots[0]
    if (first !== undefined) this.remove(first)
    return first?.value
  }

  /** Takes a value out, wherever it is. One that is out already stays so. */
  remove(slot: Slot<A>): void {
    const { index } = slot
    if (this.#slots[index] !== slot) return
    const last = this.#slots.pop()!
    if (last === slot) return
    this.#put(last, index)
    this.#up(last)
    this.#down(last)
  }

  #put(slot: Slot<A>, index: number): void {
    this.#slots[index] = slot
    slot.index = index
  }

  #up(slot: Slot<A>): void {
    let i = slot.index
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!before(slot, this.#slots[parent]!)) break
      this.#put(this.#slots[parent]!, i)
      i = parent
    }
    this.#put(slot, i)
  }

  #down(slot: Slot<A>): void {
    let i = slot.index
    while (true) {
      let child = 2 * i + 1
      if (child >= this.#slots.length) break
      if (child + 1 < this.#slots.length && before(this.#slots[child + 1]!, this.#slots[child]!)) child += 1
      if (!before(this.#slots[child]!, slot)) break
      this.#put(this.#slots[child]!, i)
      i = child
    }
    this.#put(slot, i)
  }
}

/** A value in a heap. */
export interface Slot<out A> {
  readonly at: number
  readonly order: number
  readonly value: A
  /** Where it is; the heap keeps it up to date. */
  index: number
}

const before = (a: Slot<unknown>, b: Slot<unknown>): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
