import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as StrategicMergePatch from "../../../src/api/patch/StrategicMergePatch.ts"
import { frozen } from "../../testing/support/RandomJson.ts"

const podSpec = "io.k8s.api.core.v1.PodSpec"
const deploymentSpec = "io.k8s.api.apps.v1.DeploymentSpec"
const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

const apply = (definition: string, object: unknown, patch: unknown) => {
  const result = StrategicMergePatch.apply(definition, frozen(object), frozen(patch))
  return Result.isSuccess(result) ? result.success : result.failure
}

const stored = frozen({
  containers: [
    { name: "one", image: "i1", env: [{ name: "A", value: "1" }, { name: "B", value: "2" }], args: ["x", "y"] },
    { name: "two", image: "i2" },
    { name: "three", image: "i3" }
  ],
  volumes: [{ name: "v", emptyDir: {} }],
  tolerations: [{ key: "a" }],
  nodeSelector: { x: "1", y: "2" }
})

const [one, two, three] = stored.containers
const containers = (patch: ReadonlyArray<unknown>, more: Record<string, unknown> = {}) => {
  const result = apply(podSpec, { containers: stored.containers }, { containers: patch, ...more })
  return "containers" in (result as object) ? (result as { readonly containers: unknown }).containers : result
}

describe("lists with a merge key", () => {
  it("merge item by item; new items come first", () => {
    assert.deepStrictEqual(containers([{ name: "two", image: "new" }, { name: "four" }]), [
      one,
      { name: "two", image: "new" },
      { name: "four" },
      three
    ])
    assert.deepStrictEqual(containers([{ name: "four" }]), [{ name: "four" }, one, two, three])
  })

  it("merge lists inside their items, and replace those without a key", () => {
    const patch = { name: "one", env: [{ name: "B", value: null }, { name: "C", value: "3" }], args: ["z"] }
    assert.deepStrictEqual((containers([patch]) as ReadonlyArray<unknown>)[0], {
      name: "one",
      image: "i1",
      env: [{ name: "A", value: "1" }, { name: "B" }, { name: "C", value: "3" }],
      args: ["z"]
    })
  })

  it("$patch: delete takes an item out, $patch: replace the list", () => {
    assert.deepStrictEqual(containers([{ name: "two", $patch: "delete" }]), [one, three])
    assert.deepStrictEqual(containers([{ name: "four" }, { $patch: "replace" }]), [{ name: "four" }])
    assert.deepStrictEqual(containers([{ name: "none", $patch: "delete" }]), [one, two, three])
  })

  it("$setElementOrder says where items go", () => {
    const order = ["three", "four", "one", "two"].map((name) => ({ name }))
    assert.deepStrictEqual(containers([{ name: "four" }], { "$setElementOrder/containers": order }), [
      three,
      { name: "four" },
      one,
      two
    ])
    assert.deepStrictEqual(
      apply(podSpec, { containers: stored.containers }, {
        "$setElementOrder/containers": [{ name: "two" }, { name: "one" }]
      }),
      { containers: [two, one, three] }
    )
  })

  it("an item put in for a deleted one gets a place among the old ones", () => {
    const order = ["five", "three", "four", "two"].map((name) => ({ name }))
    assert.deepStrictEqual(
      containers([{ name: "two", $patch: "delete" }, { name: "five" }], { "$setElementOrder/containers": order }),
      [one, { name: "five" }, three]
    )
  })

  it("directives inside a new item mean nothing", () => {
    const item = {
      name: "four",
      "$setElementOrder/env": [{ name: "A" }],
      env: [{ name: "A", $patch: "delete" }],
      args: null
    }
    assert.deepStrictEqual(containers([item]), [{ name: "four", env: [{ name: "A" }] }, one, two, three])
  })
})

describe("objects", () => {
  it("merge; null deletes", () => {
    assert.deepStrictEqual(apply(podSpec, stored, { nodeSelector: { x: null, z: "3" } }), {
      ...stored,
      nodeSelector: { y: "2", z: "3" }
    })
  })

  it("$patch replaces or empties", () => {
    const patched = (directive: string) =>
      apply(podSpec, { nodeSelector: { x: "1" } }, { nodeSelector: { $patch: directive, z: "3" } })
    assert.deepStrictEqual(patched("replace"), { nodeSelector: { z: "3" } })
    assert.deepStrictEqual(patched("delete"), { nodeSelector: {} })
    assert.deepStrictEqual(patched("merge"), {
      reason: "Internal",
      message: "unknown patch type: merge in map: map[$patch:merge z:3]"
    })
    assert.deepStrictEqual(apply(podSpec, {}, { nodeSelector: { $patch: "replace", z: "3" } }), {})
  })

  it("$retainKeys deletes the rest", () => {
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } }
    const patched = (patch: unknown) => apply(deploymentSpec, { strategy }, { strategy: patch })
    assert.deepStrictEqual(patched({ $retainKeys: ["type"], type: "Recreate" }), { strategy: { type: "Recreate" } })
    const malformed = { reason: "Malformed", message: "invalid patch format of retainKeys" }
    assert.deepStrictEqual(patched({ $retainKeys: ["rollingUpdate"], type: "Recreate" }), malformed)
    assert.deepStrictEqual(patched({ $retainKeys: "type" }), malformed)
  })
})

describe("other lists", () => {
  it("of a replace strategy are replaced", () => {
    assert.deepStrictEqual(apply(podSpec, { tolerations: stored.tolerations }, { tolerations: [{ key: "b" }] }), {
      tolerations: [{ key: "b" }]
    })
  })

  it("of scalars that merge are sets", () => {
    const finalizers = ["a/b", "c/d", "e/f"]
    const patched = (patch: unknown) => apply(objectMeta, { finalizers }, patch)
    assert.deepStrictEqual(patched({ finalizers: ["c/d", "g/h"] }), { finalizers: ["a/b", "c/d", "g/h", "e/f"] })
    assert.deepStrictEqual(patched({ "$deleteFromPrimitiveList/finalizers": ["a/b", "x/y"] }), {
      finalizers: ["c/d", "e/f"]
    })
    assert.deepStrictEqual(apply(objectMeta, {}, { "$deleteFromPrimitiveList/finalizers": ["a/b"] }), {})
    assert.deepStrictEqual(patched({ "$setElementOrder/finalizers": ["e/f", "a/b"] }), {
      finalizers: ["c/d", "e/f", "a/b"]
    })
  })
})

describe("refused", () => {
  const cases: ReadonlyArray<readonly [unknown, string, string]> = [
    [[{ image: "x" }], "Internal", "map: map[image:x] does not contain declared merge key: name"],
    [[{ $patch: "bogus" }], "Internal", "unknown patch type: bogus in map: map[$patch:bogus]"],
    [[{ $patch: "merge" }], "Internal", "merging lists cannot yet be specified in the patch"],
    [[{ name: "a" }, "x"], "Internal", "list element types are not identical: "],
    [[["a"]], "Internal", "list element types are not identical: "]
  ]
  for (const [patch, reason, message] of cases) {
    it(`${JSON.stringify(patch)}: ${message}`, () => {
      const failure = containers(patch as ReadonlyArray<unknown>) as {
        readonly reason: string
        readonly message: string
      }
      assert.strictEqual(failure.reason, reason)
      assert.strictEqual(failure.message.slice(0, message.length), message)
    })
  }

  it("an order that lacks an item of the patch", () => {
    assert.deepStrictEqual(containers([{ name: "four" }], { "$setElementOrder/containers": [{ name: "one" }] }), {
      reason: "Internal",
      message: "The order in patch list:\n[map[name:four]]\n doesn't match $setElementOrder list:\n[map[name:one]]\n"
    })
  })

  it("a directive without a field", () => {
    assert.deepStrictEqual(apply(podSpec, {}, { $deleteFromPrimitiveList: ["a"] }), {
      reason: "Malformed",
      message: "invalid patch format of primitive list"
    })
    assert.deepStrictEqual(apply(podSpec, {}, { $setElementOrder: [] }), {
      reason: "Malformed",
      message: "invalid patch format of setElementOrder list"
    })
  })

  it("a patch that is no object", () => {
    assert.deepStrictEqual(apply(podSpec, {}, [1]), {
      reason: "Malformed",
      message: "json: cannot unmarshal array into Go value of type map[string]interface {}"
    })
  })
})
