/**
 * `SystemRandom`: Effect's `Random` from the operating system's source of randomness.
 *
 * Reconcilers draw passwords and tokens with `Random`, because tests and simulations can repeat it. Effect's own default
 * is `Math.random`, whose values can be computed from a few others. `runMain` provides this one instead.
 */
import * as Random from "effect/Random"
import * as Crypto from "node:crypto"

/** Bytes that are drawn from the operating system at once. */
const pooled = 4096

/** The service. Doubles have all 53 bits; integers are uniform over the safe ones. */
export const make = (): Random.Random => {
  const pool = Buffer.alloc(pooled)
  let next = pooled
  /** 53 random bits. */
  const bits = (): number => {
    if (next === pooled) {
      Crypto.randomFillSync(pool)
      next = 0
    }
    const value = pool.readUInt32BE(next) * 2 ** 21 + (pool.readUInt32BE(next + 4) >>> 11)
    // Nobody who reads this memory later learns what was drawn.
    pool.fill(0, next, next + 8)
    next += 8
    return value
  }
  return {
    nextDoubleUnsafe: () => bits() / 2 ** 53,
    nextIntUnsafe: () => bits() * (bits() % 2 === 0 ? 1 : -1)
  }
}
