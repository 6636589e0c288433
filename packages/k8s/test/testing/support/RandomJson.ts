/** Random JSON from a seed, for laws over documents. The seed of a failing case is all that is needed to see it again. */
export class RandomJson {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<A>(items: ReadonlyArray<A>): A {
    return items[Math.floor(this.next() * items.length)]!
  }

  /** A document at most `depth` levels deep, with few keys, so that documents have much in common. */
  value(depth: number, nulls = true): unknown {
    const kinds = [
      "text",
      "number",
      "boolean",
      ...(nulls ? ["null"] : []),
      ...(depth > 0 ? ["array", "object", "object"] : [])
    ]
    switch (this.pick(kinds)) {
      case "text":
        return this.pick(["", "a", "b", "é"])
      case "number":
        return this.pick([0, 1, -1, 1.5])
      case "boolean":
        return this.chance(0.5)
      case "null":
        return null
      case "array":
        return Array.from({ length: Math.floor(this.next() * 4) }, () => this.value(depth - 1, nulls))
      default:
        return this.object(depth, nulls)
    }
  }

  object(depth: number, nulls = true): Record<string, unknown> {
    const keys = ["a", "b", "c", "x/y", "m~n", "__proto__", ""].filter(() => this.chance(0.4))
    return Object.fromEntries(keys.map((key) => [key, this.value(depth - 1, nulls)]))
  }
}

/** Runs a law on many seeds; a failure names the seed. */
export const forAll = (runs: number, law: (random: RandomJson) => void): void => {
  for (let seed = 1; seed <= runs; seed++) {
    try {
      law(new RandomJson(seed))
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error })
    }
  }
}

/** Freezes a document, so that changing an input fails the test. */
export const frozen = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value)
    for (const inner of Object.values(value)) frozen(inner)
  }
  return value
}
