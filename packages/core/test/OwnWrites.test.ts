import type { KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { OwnWrites } from "../src/internal/OwnWrites.ts"

const key = "d/a"

const object = (version: number, fields: object = {}, metadata: object = {}): KubeObject.KubeObject => ({
  apiVersion: "test.io/v1",
  kind: "Thing",
  metadata: {
    name: "a",
    namespace: "d",
    uid: "1",
    resourceVersion: String(version),
    creationTimestamp: "",
    generation: 1,
    ...metadata
  },
  ...fields
})

/** The versions that pass, at once or later. */
const watching = (own: OwnWrites) => {
  const passed: Array<number> = []
  const see = (version: number, fields: object = {}, metadata: object = {}) => {
    const pass = () => void passed.push(version)
    const delta = { _tag: "Updated", old: object(version - 1), object: object(version, fields, metadata) } as const
    if (!own.echoes(delta, pass)) pass()
  }
  return { passed, see }
}

describe("OwnWrites", () => {
  it("are skipped, whether the response comes before the event or after it", () => {
    const own = new OwnWrites()
    const { passed, see } = watching(own)
    own.began(key)
    own.wrote(key, "2")
    see(2, { status: { ready: true } })
    see(3, { status: { ready: false } })
    own.wrote(key, "3")
    own.ended(key)
    own.began(key)
    own.wrote(key, "4")
    own.ended(key)
    see(4, {}, { finalizers: ["x"] })
    assert.deepStrictEqual(passed, [])
  })

  it("a version from a write's response counts as another's if its status differs in what the write did not set", () => {
    const own = new OwnWrites()
    const { passed, see } = watching(own)
    const fields = { status: { ready: true, parts: { a: 1 } } }
    own.began(key)
    // Before the event, and after it.
    own.wrote(key, "2", fields)
    see(2, { status: { by: "others" } })
    see(3, { status: { ready: true, parts: { b: 1 } } })
    own.wrote(key, "3", fields)
    see(4, { status: { ready: true, parts: { a: 1 } } })
    own.wrote(key, "4", fields)
    own.wrote(key, "5", { status: { parts: null } })
    see(5, { status: { parts: { c: 1 } } })
    // A list may stand for two own writes.
    own.wrote(key, "6", { status: { one: 1 } })
    own.wrote(key, "7", { status: { two: [2] } })
    see(7, { status: { one: 1, two: [2] } })
    assert.deepStrictEqual(passed, [2])
    own.ended(key)
    assert.deepStrictEqual(passed, [2, 3])
  })

  it("each condition belongs to its writer, though all are in one list", () => {
    const own = new OwnWrites()
    const [ready, unready, synced] = [["Ready", "True"], ["Ready", "False"], ["Synced", "True"]].map(
      ([type, status]) => ({ type, status })
    )
    const passed: Array<number> = []
    const see = (version: number, before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>) => {
      const states = [before, after].map((conditions, i) => object(version - 1 + i, { status: { conditions } }))
      const delta = { _tag: "Updated", old: states[0]!, object: states[1]! } as const
      const pass = () => void passed.push(version)
      if (!own.echoes(delta, pass)) pass()
    }
    own.began(key)
    for (const version of [2, 3, 4]) {
      own.wrote(key, String(version), { status: { conditions: [version === 4 ? unready : ready] } })
    }
    see(2, [], [ready])
    see(3, [ready], [ready, synced])
    see(4, [ready, synced], [unready, synced])
    own.ended(key)
    assert.deepStrictEqual(passed, [3])
  })

  it("others' concurrent writes pass when the work ends, and at once if none is running", () => {
    const own = new OwnWrites()
    const { passed, see } = watching(own)
    own.began(key)
    own.began(key)
    see(2, { status: { by: "others" } })
    own.wrote(key, "3")
    own.ended(key)
    assert.deepStrictEqual(passed, [])
    own.ended(key)
    assert.deepStrictEqual(passed, [2])
    see(4, { status: { by: "others" } })
    assert.deepStrictEqual(passed, [2, 4])
  })

  it("a change of anything but status and finalizers passes at once, whatever its version", () => {
    const own = new OwnWrites()
    const { passed, see } = watching(own)
    own.began(key)
    see(2, { spec: { size: 1 } })
    see(3, {}, { labels: { a: "b" } })
    see(4, {}, { generation: 2 })
    own.wrote(key, "5")
    see(5, { spec: { size: 2 }, status: {} })
    assert.deepStrictEqual(passed, [2, 3, 4, 5])
  })

  it("of a key that others write constantly, only a few wait", () => {
    const own = new OwnWrites()
    const { passed, see } = watching(own)
    own.began(key)
    for (let version = 2; version < 102; version++) see(version, { status: { version } })
    assert.lengthOf(passed, 92)
    own.ended(key)
    assert.lengthOf(passed, 100)
  })

  it("nothing waits any more for an object that is gone", () => {
    const own = new OwnWrites()
    const { passed, see } = watching(own)
    own.began(key)
    see(2, { status: {} })
    assert.isFalse(own.echoes({ _tag: "Deleted", object: object(3) }, () => {}))
    own.ended(key)
    assert.deepStrictEqual(passed, [])
  })
})
