import { assert, describe, it } from "@effect/vitest"
import { defaults, digest, HotLoop } from "../src/internal/HotLoop.ts"
import { Part } from "./support/Kinds.ts"

const part = (fields: object, metadata: object = {}) => ({
  _tag: "Written" as const,
  resource: Part,
  object: {
    apiVersion: "v1",
    kind: "Part",
    metadata: { name: "a", namespace: "n", uid: "u", resourceVersion: "1", creationTimestamp: "t", ...metadata },
    ...fields
  }
})

describe("HotLoop", () => {
  it("holds back a key that repeats its writes, after a number of times, twice as long each time", () => {
    const loops = new HotLoop()
    const holds: Array<number> = []
    let now = 0
    for (let i = 0; i < defaults.threshold + 12; i++) {
      const hold = loops.judge("a", [i % 2 === 0 ? "on" : "off"], now += 5)
      now += hold
      holds.push(hold)
    }
    assert.deepStrictEqual(
      holds.filter((hold) => hold > 0),
      [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 60000]
    )
    assert.strictEqual(holds.findIndex((hold) => hold > 0), defaults.threshold + 1)
  })

  it("does not hold back a key that makes progress, pauses, or is slow", () => {
    const loops = new HotLoop()
    for (let i = 0; i < 500; i++) assert.strictEqual(loops.judge("progress", [`step ${i}`], i), 0)
    let now = 500
    for (let i = 0; i < 500; i++) {
      if (i % 5 === 0) now += defaults.gap
      assert.strictEqual(loops.judge("rests", ["same"], now += 1), 0)
    }
    for (let i = 0; i < 500; i++) assert.strictEqual(loops.judge("slow", ["same"], now += 2_000), 0)
    loops.judge("slow", [], now += 2_000)
    assert.strictEqual(loops.size, 0)
  })

  it("a key that is woken by its own write, and writes nothing now and then, is still in a loop", () => {
    const loops = new HotLoop()
    let held = 0
    for (let now = 0; now < 100; now += 2) {
      if (loops.judge("a", ["same"], now) > 0) held += 1
      assert.strictEqual(loops.judge("a", [], now + 1), 0)
    }
    assert.isAbove(held, 20)
  })

  it("forgets a key's writes as soon as repeating them would be no loop, whichever key writes next", () => {
    const loops = new HotLoop()
    for (let i = 0; i < 500; i++) loops.judge(`key ${i}`, ["same"], i)
    assert.strictEqual(loops.size, 500)
    loops.judge("another", ["same"], 499 + defaults.gap)
    assert.strictEqual(loops.size, 2)
    loops.judge("another", [], 500 + 2 * defaults.gap)
    assert.strictEqual(loops.size, 0)
  })

  it("compares a key's writes only if it writes again soon", () => {
    const loops = new HotLoop()
    let looks = 0
    const spec = {
      toJSON: () => {
        looks += 1
        return "same"
      }
    }
    const write = part({ spec })
    for (let i = 0; i < 20; i++) loops.judge(`key ${i}`, [write], 0)
    assert.strictEqual(looks, 0)
    loops.judge("key 0", [write], 1)
    assert.isAbove(looks, 0)
  })

  it("ends a hold with the first reconcile that writes something else", () => {
    const loops = new HotLoop()
    let now = 0
    for (let i = 0; i < 20; i++) now += 1 + loops.judge("a", ["same"], now)
    assert.strictEqual(loops.judge("a", ["new"], now), 0)
    assert.strictEqual(loops.judge("a", ["newer"], now), 0)
  })

  it("ignores what differs each time: versions, times, and generated names", () => {
    const one = part({ status: { at: "2026-01-01T00:00:00Z" } })
    const two = part({ status: { at: "2026-01-01T00:00:05.123456Z" } }, { resourceVersion: "9", generation: 4 })
    assert.strictEqual(digest(one), digest(two))
    const created = (name: string) => digest(part({}, { name, generateName: "a-" }))
    assert.strictEqual(created("a-x7k2p"), created("a-99bcd"))
    assert.notStrictEqual(digest(part({ spec: 1 })), digest(part({ spec: 2 })))
    assert.notStrictEqual(digest(part({}, { name: "a" })), digest(part({}, { name: "b" })))
    assert.strictEqual(
      digest({ _tag: "Deleted", resource: Part, key: { namespace: "n", name: "a" }, uid: "u" }),
      "delete Part.v1 n/a"
    )
  })
})
