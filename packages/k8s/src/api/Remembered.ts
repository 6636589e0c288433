/**
 * `Remembered`: what pure functions of JSON came to, for as long as it is likely to be asked again.
 *
 * By text, where the same content comes as ever new objects (bodies of requests, runs of a simulation), and by identity,
 * where it is one frozen object. Tables of texts are bounded: a full one begins anew.
 */
import { freeze } from "./Plain.ts"

export const defaults = {
  /** Characters of the texts in a table, together. */
  size: 1_000_000,
  /** Characters of a text that is remembered. */
  length: 16_384,
  /** Characters of a text that `ofText` remembers. */
  short: 256
} as const

/** Results by the text of what they were made of. */
export class ByText<A extends object> {
  private readonly known = new Map<string, A>()
  private size = 0

  /** The result for a value of JSON: a former one, or what `make` says of it and its text. */
  get<V>(value: V, make: (value: V, text: string | undefined) => A | undefined): A | undefined {
    const text = JSON.stringify(value)
    if (text === undefined || text.length > defaults.length) return make(value, text)
    const found = this.known.get(text)
    if (found !== undefined) return found
    const made = make(value, text)
    if (made === undefined) return undefined
    if (this.size > defaults.size) {
      this.known.clear()
      this.size = 0
    }
    this.size += text.length
    this.known.set(text, made)
    return made
  }
}

/** One frozen object for all of the same text. */
export const interning = (): (value: unknown) => unknown => {
  const known = new ByText<object>()
  return (value) =>
    typeof value !== "object" || value === null || Object.isFrozen(value)
      ? value
      : known.get(value, freeze) ?? value
}

/** Results of a function of short texts, the last few thousand; of longer ones it is asked each time. */
export const ofText = <A>(of: (text: string) => A, most = 4_000): (text: string) => A => {
  const known = new Map<string, A>()
  return (text) => {
    if (text.length > defaults.short) return of(text)
    let found = known.get(text)
    if (found === undefined) {
      found = of(text)
      if (known.size >= most) known.clear()
      known.set(text, found)
    }
    return found
  }
}

const nothing: ReadonlyArray<never> = []

/**
 * What is wrong with an object, which for most is nothing: that is remembered of a frozen one, and not found out again.
 * `of` must depend on the object alone.
 */
export const faultless = <A>(): (object: object, of: () => ReadonlyArray<A>) => ReadonlyArray<A> => {
  const known = new WeakSet<object>()
  return (object, of) => {
    if (known.has(object)) return nothing
    const found = of()
    if (found.length === 0 && Object.isFrozen(object)) known.add(object)
    return found
  }
}
