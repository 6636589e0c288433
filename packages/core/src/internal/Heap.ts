/** `Heap`: a binary heap whose values know their positions, so that each can be moved or removed. */

export interface Indexed {
  /** Its position, which the heap maintains. */
  index: number
}

export class Heap<A extends Indexed> {
  readonly #values: Array<A> = []
  readonly #isBefore: (a: A, b: A) => boolean

  constructor(isBefore: (a: A, b: A) => boolean) {
    this.#isBefore = isBefore
  }

  get size(): number {
    return this.#values.length
  }

  /** In no order, except that the next value is first. */
  [Symbol.iterator](): IterableIterator<A> {
    return this.#values.values()
  }

  peek(): A | undefined {
    return this.#values[0]
  }

  /** Adds a value that is in no heap. */
  push(value: A): void {
    value.index = this.#values.length
    this.#values.push(value)
    this.#up(value)
  }

  /** Removes a value from any position. Removing it again has no effect. */
  remove(value: A): void {
    const { index } = value
    if (this.#values[index] !== value) return
    const last = this.#values.pop()!
    if (last === value) return
    this.#put(last, index)
    this.moved(last)
  }

  /** Moves a value to its place after its order has changed. */
  moved(value: A): void {
    this.#up(value)
    this.#down(value)
  }

  #put(value: A, index: number): void {
    this.#values[index] = value
    value.index = index
  }

  #up(value: A): void {
    let at = value.index
    while (at > 0) {
      const parent = this.#values[(at - 1) >> 1]!
      if (!this.#isBefore(value, parent)) break
      this.#put(parent, at)
      at = (at - 1) >> 1
    }
    this.#put(value, at)
  }

  #down(value: A): void {
    let at = value.index
    while (true) {
      let child = 2 * at + 1
      if (child >= this.#values.length) break
      if (child + 1 < this.#values.length && this.#isBefore(this.#values[child + 1]!, this.#values[child]!)) child += 1
      if (!this.#isBefore(this.#values[child]!, value)) break
      this.#put(this.#values[child]!, at)
      at = child
    }
    this.#put(value, at)
  }
}
