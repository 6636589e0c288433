/** Choices from a seed, on top of the generator that the tests of patches use. */
import { RandomJson } from "../testing/support/RandomJson.ts"

export class Chance extends RandomJson {
  /** A whole number from 0 to `below - 1`. */
  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  /** One of the entries, by weight. */
  weighted<A>(entries: ReadonlyArray<readonly [weight: number, value: A]>): A {
    let left = this.next() * entries.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, value] of entries) {
      left -= weight
      if (left < 0) return value
    }
    return entries[entries.length - 1]![1]
  }

  /** Each item with the same probability. */
  some<A>(items: ReadonlyArray<A>, probability = 0.5): ReadonlyArray<A> {
    return items.filter(() => this.chance(probability))
  }

  /** The value, or nothing to spread. */
  maybe<A extends object>(probability: number, value: () => A): A | Record<string, never> {
    return this.chance(probability) ? value() : {}
  }
}
