import { KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Prng } from "./support/Prng.ts"

const object: KubeObject.KubeObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "a", namespace: "d", uid: "u", resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z" }
}
const { namespace: _, ...metadata } = object.metadata
const clusterScoped = { ...object, metadata }

describe("KubeObject", () => {
  it("formats objects and keys alike", () => {
    assert.deepStrictEqual(KubeObject.key(object), { namespace: "d", name: "a" })
    assert.deepStrictEqual(KubeObject.key({ namespace: "d", name: "a" }), { namespace: "d", name: "a" })
    assert.strictEqual(KubeObject.keyString(object), "d/a")
    assert.strictEqual(KubeObject.keyString({ namespace: "d", name: "a" }), "d/a")
    assert.strictEqual(KubeObject.keyString(clusterScoped), "a")
    assert.strictEqual(KubeObject.keyString({ namespace: "", name: "a" }), "a")
  })

  it("parses a key", () => {
    for (const key of [{ name: "a" }, { namespace: "d", name: "a" }, { name: "system:node:x" }]) {
      assert.deepStrictEqual(KubeObject.parseKey(KubeObject.keyString(key)), key)
    }
  })

  it("has the uid of an object, and none of a key", () => {
    assert.strictEqual(KubeObject.uid(object), "u")
    assert.isUndefined(KubeObject.uid({ namespace: "d", name: "a" }))
  })

  it("compares resource versions as decimals of any length", () => {
    for (let seed = 1; seed <= 2_000; seed++) {
      const random = new Prng(seed)
      const one = () => BigInt(random.int(0, 999)) * 10n ** BigInt(random.int(0, 25)) + BigInt(random.int(0, 99))
      const [a, b] = [one(), random.chance(0.2) ? 5n : one()]
      const expected = a < b ? -1 : a > b ? 1 : 0
      assert.strictEqual(
        Math.sign(KubeObject.compareResourceVersions(String(a), String(b))),
        expected,
        `seed ${seed}: ${a} ${b}`
      )
    }
  })

  it("recognizes terminating objects, and the controlling owner", () => {
    assert.isFalse(KubeObject.isTerminating(object))
    assert.isTrue(KubeObject.isTerminating({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }))
    const owner = { apiVersion: "v1", kind: "K", name: "o", uid: "1" }
    const manager = { ...owner, uid: "2", controller: true }
    assert.strictEqual(KubeObject.controllerOf({ metadata: { ownerReferences: [owner, manager] } }), manager)
    assert.isUndefined(KubeObject.controllerOf({ metadata: { ownerReferences: [{ ...owner, controller: false }] } }))
    assert.isUndefined(KubeObject.controllerOf({ metadata: {} }))
  })

  it("makes the same owner reference as client-go", () => {
    assert.deepStrictEqual(KubeObject.controllerReference(object), {
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: "a",
      uid: "u",
      controller: true,
      blockOwnerDeletion: true
    })
  })

  it("makes an owner reference that leaves control to others", () => {
    const reference = KubeObject.ownerReference(object)
    assert.deepStrictEqual(reference, { apiVersion: "apps/v1", kind: "Deployment", name: "a", uid: "u" })
    assert.isUndefined(KubeObject.controllerOf({ metadata: { ownerReferences: [reference] } }))
  })
})
