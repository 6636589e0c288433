import * as Chance from "@effect-operator/k8s/testing/simulation/world/Chance"
import { assert, describe, it } from "@effect/vitest"

const guarded = (act: () => void) => {
  const found: Array<{ readonly what: string; readonly where: string }> = []
  const release = Chance.guard({
    now: () => 1_000,
    random: () => 0.5,
    found: (what, where) => found.push({ what, where })
  })
  try {
    act()
  } finally {
    release()
  }
  return found
}

const snapshot = () => ({
  Date,
  random: Math.random,
  setTimeout,
  fetch,
  uuid: crypto.randomUUID,
  // oxlint-disable-next-line unbound-method
  promised: Promise.prototype.then,
  now: globalThis.performance.now
})

describe("Chance", () => {
  it("answers from the simulated world, and says who asked", () => {
    const found = guarded(() => {
      assert.strictEqual(Date.now(), 1_000)
      assert.strictEqual(new Date().getTime(), 1_000)
      assert.strictEqual(Math.random(), 0.5)
      assert.match(crypto.randomUUID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      setTimeout(() => assert.fail("a timer of the machine"), 0)
    })
    assert.deepStrictEqual(found.map(({ what }) => what), [
      "Date.now()",
      "new Date()",
      "Math.random()",
      "crypto.randomUUID()",
      "setTimeout()"
    ])
    for (const { where } of found) assert.match(where, /Chance\.test\.ts/)
  })

  it("says nothing of dates that are given", () => {
    const found = guarded(() => {
      assert.strictEqual(new Date(0).toISOString(), "1970-01-01T00:00:00.000Z")
      assert.strictEqual(Date.parse("1970-01-01T00:00:01Z"), 1_000)
      assert.isTrue(new Date(5) instanceof Date)
    })
    assert.deepStrictEqual(found, [])
  })

  it("puts everything back, also when the run dies", () => {
    const before = snapshot()
    guarded(() => {})
    assert.throws(() =>
      guarded(() => {
        throw new Error("dies")
      })
    )
    for (const [name, value] of Object.entries(snapshot())) {
      assert.strictEqual(value, before[name as keyof typeof before], name)
    }
  })
})
