import { ObjectStatus } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Prng } from "./support/Prng.ts"

/** RFC 7386, as the server has it. */
const apply = (target: unknown, patch: unknown): unknown => {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch
  const out: Record<string, unknown> = typeof target === "object" && target !== null && !Array.isArray(target)
    ? { ...target }
    : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key]
    else out[key] = apply(out[key], value)
  }
  return out
}

const value = (random: Prng, depth: number): unknown => {
  const kind = random.int(0, depth > 0 ? 5 : 3)
  if (kind <= 1) return random.int(0, 3)
  if (kind === 2) return random.pick(["a", "b"])
  if (kind === 3) return Array.from({ length: random.int(0, 2) }, () => random.int(0, 2))
  return Object.fromEntries(
    ["x", "y", "z"].filter(() => random.chance(0.6)).map((key) => [key, value(random, depth - 1)])
  )
}

describe("ObjectStatus.mergePatch", () => {
  it("brings one status to the other, and is nothing where they are equal", () => {
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = new Prng(seed)
      const from = { s: value(random, 3), t: value(random, 2) }
      const to = random.chance(0.3) ? structuredClone(from) : { s: value(random, 3), t: value(random, 2) }
      const patch = ObjectStatus.mergePatch(from, to)
      const result = patch === undefined ? from : apply(from, patch)
      assert.deepStrictEqual(result, to, `seed ${seed}`)
      assert.strictEqual(patch === undefined, JSON.stringify(from) === JSON.stringify(to), `seed ${seed}`)
    }
  })

  it("leaves out what is undefined, and takes away what is not there any more", () => {
    assert.deepStrictEqual(ObjectStatus.mergePatch({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 }, e: undefined }), {
      a: null,
      b: { d: null }
    })
    assert.isUndefined(ObjectStatus.mergePatch({ a: { c: 1, b: 2 } }, { a: { b: 2, c: 1 } }), "the order of keys")
  })
})
