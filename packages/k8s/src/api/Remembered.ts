/**
 * `Remembered`: caches results of pure functions of JSON, for as long as they are likely to be needed again.
 *
 * Results are cached by text if equal content keeps arriving in new objects (request bodies, runs of a simulation), and
 * by identity if it is one frozen object. Tables of texts are bounded: a full one is cleared.
 */
import { freeze } from "./Plain.ts"

export const defaults = {
  /** The total number of characters of the texts in a table. */
  size: 1_000_000,
  /** The longest text that is cached, in characters. */
  length: 16_384,
  /** The longest text that `ofText` caches, in characters. */
  short: 256
} as const

/** Results by the JSON text of their input. */
export class ByText<A extends object> {
  private readonly known = new Map<string, A>()
  private size = 0

  /** The cached result for a JSON value, or what `make` returns for it and its text. */
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

/** Returns one frozen object for all values with the same text. */
export const interning = (): (value: unknown) => unknown => {
  const known = new ByText<object>()
  return (value) =>
    typeof value !== "object" || value === null || Object.isFrozen(value)
      ? value
      : known.get(value, freeze) ?? value
}

/** Caches a function of short texts, for the last few thousand. For longer texts the function is called each time. */
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
 * Caches that a frozen object has no faults, which holds for most, so that it is not checked again. `of` must depend on
 * the object alone.
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
