import { type KubeObject, Resource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

interface Pod extends KubeObject.KubeObject {
  readonly apiVersion: "v1"
  readonly kind: "Pod"
}
const Pod = Resource.make<Pod>()({ group: "", version: "v1", kind: "Pod", plural: "pods", scope: "Namespaced" })
const Web = Resource.make<KubeObject.KubeObject>()({
  group: "test.io",
  version: "v1beta1",
  kind: "Web",
  plural: "webs",
  scope: "Cluster",
  listKind: "Webs",
  singular: "site",
  shortNames: ["w"],
  categories: ["all"],
  subresources: ["status"],
  decode: () => Result.fail({ issues: ["spec: bad"] })
})

describe("Resource.make", () => {
  it("decodes and encodes without ever throwing, whatever functions it was given", () => {
    const thrown = () => {
      throw new Error("a bug")
    }
    const Bad = Resource.make<Pod>()({ ...Pod, decode: thrown, encode: thrown, encodeFields: thrown })
    const issues = [Bad.decode({}), Bad.encode({}), Bad.encodeFields({})].map((result) =>
      Result.isFailure(result) && result.failure.issues
    )
    assert.deepStrictEqual(issues, [
      ["the Pod could not be read: Error: a bug"],
      ["the Pod could not be written: Error: a bug"],
      ["the Pod could not be written: Error: a bug"]
    ])
  })

  it("fills in what follows from the conventions", () => {
    const { decode: _decode, encode: _encode, encodeFields: _fields, Type: _Type, ...pod } = Pod
    assert.deepStrictEqual(pod, {
      id: "Pod.v1",
      group: "",
      version: "v1",
      apiVersion: "v1",
      kind: "Pod",
      listKind: "PodList",
      plural: "pods",
      singular: "pod",
      shortNames: [],
      categories: [],
      scope: "Namespaced",
      subresources: []
    })
  })

  it("keeps what is given", () => {
    assert.deepStrictEqual(
      [Web.id, Web.apiVersion, Web.listKind, Web.singular, Web.shortNames, Web.categories, Web.subresources],
      ["Web.v1beta1.test.io", "test.io/v1beta1", "Webs", "site", ["w"], ["all"], ["status"]]
    )
    // The identity is in the type.
    const id: "Pod.v1" = Pod.id
    assert.strictEqual(id, "Pod.v1")
  })

  it("passes JSON through unchanged if there is no schema", () => {
    const json = { anything: [1] }
    assert.strictEqual(Result.getOrThrow(Pod.decode(json)), json as never)
    assert.strictEqual(Result.getOrThrow(Pod.encode(json)), json)
  })

  it("unstructured reads objects that do not decode", () => {
    assert.strictEqual(Web.decode({})._tag, "Failure")
    const raw = Resource.unstructured(Web)
    assert.strictEqual(raw.decode({})._tag, "Success")
    assert.strictEqual(raw.id, Web.id)
  })
})

describe("Resource.qualifiedName", () => {
  it("is the name in the server's messages", () => {
    assert.deepStrictEqual([Pod, Web].map(Resource.qualifiedName), ["pods", "webs.test.io"])
  })
})

describe("Resource.path", () => {
  it("is that of the API", () => {
    const pod = (target?: Parameters<typeof Resource.path>[1]) => Resource.path(Pod, target)
    assert.strictEqual(pod(), "/api/v1/pods")
    assert.strictEqual(pod({ namespace: "d" }), "/api/v1/namespaces/d/pods")
    assert.strictEqual(pod({ namespace: "d", name: "a" }), "/api/v1/namespaces/d/pods/a")
    assert.strictEqual(pod({ namespace: "d", name: "a", subresource: "status" }), "/api/v1/namespaces/d/pods/a/status")
    assert.strictEqual(Resource.path(Web), "/apis/test.io/v1beta1/webs")
    assert.strictEqual(Resource.path(Web, { name: "a" }), "/apis/test.io/v1beta1/webs/a")
    assert.strictEqual(Resource.path(Web, { namespace: "", name: "a" }), "/apis/test.io/v1beta1/webs/a")
  })

  it("never lets a name be more than one segment", () => {
    assert.strictEqual(
      Resource.path(Pod, { namespace: "a/b", name: "../x?y#z:ü" }),
      "/api/v1/namespaces/a%2Fb/pods/..%2Fx%3Fy%23z%3A%C3%BC"
    )
  })
})
