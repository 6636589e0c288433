import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { type Change, Storage } from "../../src/api/Storage.ts"

const object = (
  name: string,
  data = ""
): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "n" },
  data
} as unknown as KubeObject)

const put = (storage: Storage, name: string, data = "", namespace = "n") =>
  storage.put("configmaps", `${namespace}/${name}`, namespace, object(name, data))

const names = (listing: { readonly keys: ReadonlyArray<string> }) => listing.keys

describe("Storage", () => {
  it("counts one revision per change and stamps it on the object", () => {
    const storage = new Storage(100)
    const first = put(storage, "a")
    const second = put(storage, "a", "x")
    const third = storage.remove("configmaps", "n/a", "n")
    assert.deepStrictEqual([first, second, third].map((change) => change?.type), ["ADDED", "MODIFIED", "DELETED"])
    assert.deepStrictEqual(
      [first, second, third].map((change) => Number(change?.object.metadata.resourceVersion)),
      [2, 3, 4]
    )
    assert.strictEqual(storage.revision, 4)
    assert.strictEqual(storage.get("configmaps", "n/a"), undefined)
  })

  it("lists by the bytes of the key", () => {
    const storage = new Storage(100)
    for (const [name, namespace] of [["b", "a"], ["a", "a"], ["x", "a-b"]] as const) put(storage, name, "", namespace)
    assert.deepStrictEqual(names(storage.list("configmaps")), ["a-b/x", "a/a", "a/b"])
    assert.deepStrictEqual(names(storage.list("configmaps", "a")), ["a/a", "a/b"])
    storage.remove("configmaps", "a/a", "a")
    assert.deepStrictEqual(names(storage.list("configmaps", "a")), ["a/b"])
    assert.strictEqual(storage.count("configmaps", "a"), 1)
  })

  it("gives the state at any revision that is not compacted", () => {
    const storage = new Storage(100)
    const states: Array<Record<string, string>> = []
    const state = (revision: number) => {
      const { get, keys } = storage.listAt("configmaps", revision)
      return Object.fromEntries(keys.map((key) => [key, (get(key) as unknown as { data: string }).data]))
    }
    const steps = [
      () => put(storage, "a", "1"),
      () => put(storage, "b", "1"),
      () => put(storage, "a", "2"),
      () => storage.remove("configmaps", "n/b", "n"),
      () => put(storage, "b", "3"),
      () => storage.remove("configmaps", "n/a", "n")
    ]
    for (const step of steps) {
      step()
      states.push(state(storage.revision))
    }
    assert.deepStrictEqual(states.map((_, index) => state(index + 2)), states)
    assert.deepStrictEqual(names(storage.listAt("configmaps", 3, "other")), [])
  })

  it("tells every change after a revision", () => {
    const storage = new Storage(100)
    put(storage, "a")
    storage.put("secrets", "n/s", "n", object("s"))
    put(storage, "b")
    const keys = (changes: ReadonlyArray<Change>) => changes.map(({ key }) => key)
    assert.deepStrictEqual(keys(storage.changesAfter(0)), ["n/a", "n/s", "n/b"])
    assert.deepStrictEqual(keys(storage.changesAfter(2)), ["n/s", "n/b"])
    assert.deepStrictEqual(keys(storage.changesAfter(2, "configmaps")), ["n/b"])
    assert.deepStrictEqual(keys(storage.changesAfter(4)), [])
  })

  it("compaction forgets history, not objects", () => {
    const storage = new Storage(100)
    put(storage, "a")
    put(storage, "b")
    storage.compact(2)
    assert.strictEqual(storage.compacted, 2)
    assert.deepStrictEqual(storage.changesAfter(2).map(({ key }) => key), ["n/b"])
    assert.strictEqual(storage.count("configmaps"), 2)
    storage.compact(1)
    assert.strictEqual(storage.compacted, 2)
  })

  it("keeps a bounded history", () => {
    const storage = new Storage(10)
    for (let i = 0; i < 1000; i++) put(storage, "a", String(i))
    assert.isAtMost(storage.changesAfter(storage.compacted).length, 20)
    assert.isAtLeast(storage.changesAfter(storage.compacted).length, 10)
  })

  it("tells changes made within a listener after the one they follow", () => {
    const storage = new Storage(100)
    const seen: Array<string> = []
    storage.listen(({ key }) => {
      if (key === "n/a") put(storage, "b")
    })
    const stop = storage.listen(({ key, revision }) => seen.push(`${key}@${revision}`))
    put(storage, "a")
    stop()
    put(storage, "c")
    assert.deepStrictEqual(seen, ["n/a@2", "n/b@3"])
  })

  it("freezes what it stores", () => {
    const stored = put(new Storage(100), "a").object
    assert.isTrue(Object.isFrozen(stored.metadata))
  })
})
