import { Buckets } from "@effect-operator/core/internal/Buckets"
import type { KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"

const object = (name: string, labels: Record<string, string> = {}): KubeObject.KubeObject => ({
  apiVersion: "v1",
  kind: "Part",
  metadata: { name, uid: name, resourceVersion: "1", creationTimestamp: "", labels }
})

describe("Buckets", () => {
  it("files an object once under each of its values, and leaves nothing behind", () => {
    const buckets = new Buckets<KubeObject.KubeObject>("i", ({ metadata }) => Object.values(metadata.labels ?? {}))
    const before = object("a", { x: "1", y: "1", z: "2" })
    const after = object("a", { x: "2" })
    buckets.update("a", undefined, before)
    assert.deepStrictEqual([...buckets.get("1").values()], [before])
    buckets.update("a", before, after)
    assert.strictEqual(buckets.get("1").size, 0)
    assert.deepStrictEqual([...buckets.get("2").values()], [after])
    assert.strictEqual(buckets.size, 1, "a value without objects is forgotten")
    buckets.update("a", after, undefined)
    assert.strictEqual(buckets.get("2").size, 0)
    assert.strictEqual(buckets.size, 0)
  })

  it("an object on which the function throws fails every read until it changes or is deleted", () => {
    const buckets = new Buckets<KubeObject.KubeObject>("i", ({ metadata }) => [metadata.labels!["must"]!.toString()])
    const [good, bad] = [object("a", { must: "x" }), object("b")]
    buckets.update("a", undefined, good)
    buckets.update("b", undefined, bad)
    assert.throws(() => buckets.get("x"), /^index i: b: /)
    buckets.update("b", bad, undefined)
    assert.deepStrictEqual([...buckets.get("x").keys()], ["a"])
    buckets.update("b", undefined, bad)
    buckets.update("b", bad, object("b", { must: "x" }))
    assert.deepStrictEqual([...buckets.get("x").keys()], ["a", "b"])
  })
})
