/** A binary heap of values by time: the earliest first, equal times in order of insertion. */
export class DelayHeap<A> {
  readonly #items: Array<{ readonly at: number; readonly order: number; readonly value: A }> = []
  #order = 0

  get size(): number {
    return this.#items.length
  }

  peek(): { readonly at: number; readonly value: A } | undefined {
    return this.#items[0]
  }

  push(at: number, value: A): void {
    const item = { at, order: this.#order++, value }
    let i = this.#items.length
    this.#items.push(item)
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!before(item, this.#items[parent]!)) break
      this.#items[i] = this.#items[parent]!
      i = parent
    }
    this.#items[i] = item
  }

  pop(): A | undefined {
    const first = this.#items[0]
    const last = this.#items.pop()
    if (first === undefined || last === undefined) return undefined
    const { length } = this.#items
    if (length > 0) {
      let i = 0
      while (true) {
        let child = 2 * i + 1
        if (child >= length) break
        if (child + 1 < length && before(this.#items[child + 1]!, this.#items[child]!)) child += 1
        if (!before(this.#items[child]!, last)) break
        this.#items[i] = this.#items[child]!
        i = child
      }
      this.#items[i] = last
    }
    return first.value
  }
}

interface Ordered {
  readonly at: number
  readonly order: number
}

const before = (a: Ordered, b: Ordered): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
