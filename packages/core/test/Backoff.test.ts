import { Backoff } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Prng } from "./support/Prng.ts"

describe("Backoff", () => {
  const figures: Backoff.Backoff = { initial: 800, factor: 2, max: 30_000, jitter: 1 }

  it("doubles from the first delay to the longest", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => Backoff.delay(figures, attempt, 0)),
      [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]
    )
  })

  it("adds jitter as a random share of the capped delay", () => {
    assert.strictEqual(Backoff.delay(figures, 1, 0.5), 1200)
    assert.strictEqual(Backoff.delay(figures, 20, 0.5), 45_000)
    assert.strictEqual(Backoff.delay({ ...figures, jitter: 0 }, 3, 0.9), 3200)
    assert.strictEqual(Backoff.delay({ ...figures, jitter: 0.1 }, 1, 0.5), 840)
  })

  it("an attempt before the first gets the first delay", () => {
    assert.strictEqual(Backoff.delay(figures, 0, 0), 800)
    assert.strictEqual(Backoff.delay(figures, -1, 0), 800)
  })

  it("stays finite and within its bounds for any attempt (10,000 random, seed 1)", () => {
    const random = new Prng(1)
    for (let i = 0; i < 10_000; i++) {
      const attempt = random.int(1, 5000)
      const delay = Backoff.delay(figures, attempt, random.next())
      assert.isTrue(delay >= figures.initial && delay < 2 * figures.max, `attempt ${attempt}: ${delay}`)
    }
  })
})
