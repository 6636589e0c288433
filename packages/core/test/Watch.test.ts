import { type KubeObject, OwnerLabel, Projection, Resource, Selector, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"

const declare = <S extends Resource.Scope>(group: string, version: string, kind: string, scope: S) =>
  Resource.make<KubeObject.KubeObject>()({ group, version, kind, plural: `${kind.toLowerCase()}s`, scope })
const Pod = declare("", "v1", "Pod", "Namespaced")
const Web = declare("test.io", "v1", "Web", "Namespaced")
const Cluster = declare("test.io", "v1", "Cluster", "Cluster")
const Node = declare("", "v1", "Node", "Cluster")

const pod = (metadata: Partial<KubeObject.ObjectMeta>): KubeObject.KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "d", uid: "u", resourceVersion: "1", creationTimestamp: "", ...metadata }
})
const ref = (apiVersion: string, kind: string, name: string, controller?: boolean): KubeObject.OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid: `uid-${name}`,
  ...(controller === undefined ? {} : { controller })
})
const owners = (...ownerReferences: ReadonlyArray<KubeObject.OwnerReference>) => pod({ ownerReferences })

describe("Watch.labelled", () => {
  it("refuses a projection without the annotation that names the owner: nothing would be woken", () => {
    const label = OwnerLabel.make("test.io/web")
    const without = (...paths: ReadonlyArray<string>) => Projection.without(Pod, "less", paths)
    const only = (resource: typeof Pod, annotation: string) =>
      Projection.metadata(resource, { annotations: (key) => key === annotation })
    for (
      const resource of [
        only(Pod, "other"),
        without("metadata.annotations"),
        Projection.lazy(without("status.x", "metadata.annotations")),
        Projection.make(without("metadata.annotations"), "more", () => ({}))
      ]
    ) assert.throws(() => Watch.labelled(resource, label), /drops the annotation test\.io\/web/)
    for (const resource of [Pod, only(Pod, "test.io/web"), without("metadata.annotations.other"), without("spec.x")]) {
      assert.strictEqual(Watch.labelled(resource, label).resource, resource)
    }
  })
})

describe("Watch.owned", () => {
  const { map } = Watch.owned(Pod, Web)

  it("finds the controlling owner in the dependent's namespace, in any version of its group", () => {
    assert.deepStrictEqual(map(owners(ref("test.io/v1", "Web", "w", true))), [{ namespace: "d", name: "w" }])
    assert.deepStrictEqual(map(owners(ref("test.io/v2beta1", "Web", "w", true))), [{ namespace: "d", name: "w" }])
  })

  it("ignores owners that do not control, of another kind, or of another group", () => {
    assert.deepStrictEqual(map(owners(ref("test.io/v1", "Web", "w"))), [])
    assert.deepStrictEqual(map(owners(ref("test.io/v1", "Web", "w", false))), [])
    assert.deepStrictEqual(map(owners(ref("test.io/v1", "Other", "w", true))), [])
    assert.deepStrictEqual(map(owners(ref("other.io/v1", "Web", "w", true))), [])
    assert.deepStrictEqual(map(owners(ref("v1", "Web", "w", true))), [])
    assert.deepStrictEqual(map(pod({})), [])
    assert.deepStrictEqual(
      map(owners(ref("test.io/v1", "Web", "a"), ref("test.io/v1", "Web", "b", true))),
      [{ namespace: "d", name: "b" }]
    )
  })

  it("handles cluster-scoped owners without a namespace, and the core group without a name", () => {
    assert.deepStrictEqual(
      Watch.owned(Pod, Cluster).map(owners(ref("test.io/v1", "Cluster", "c", true))),
      [{ name: "c" }]
    )
    assert.deepStrictEqual(Watch.owned(Pod, Node).map(owners(ref("v1", "Node", "n", true))), [{ name: "n" }])
    assert.deepStrictEqual(Watch.owned(Pod, Node).map(owners(ref("test.io/v1", "Node", "n", true))), [])
  })
})

describe("Watch.labelled", () => {
  const label = OwnerLabel.make("test.io/web")
  const watch = Watch.labelled(Pod, label, { namespaces: ["d", "e"], fields: "status.phase=Running" })

  it("selects exactly what carries the label, and indexes it", () => {
    assert.strictEqual(Selector.labelsText(watch.labels), "test.io/web")
    assert.deepStrictEqual(watch.indexedLabels, ["test.io/web"])
    assert.deepStrictEqual([watch.namespaces, watch.fields], [["d", "e"], "status.phase=Running"])
  })

  it("finds the owner in any namespace", () => {
    const owner = { ...pod({ name: "w", namespace: "elsewhere", uid: "1" }), kind: "Web", apiVersion: "test.io/v1" }
    assert.deepStrictEqual(watch.map(pod(OwnerLabel.metadata(label, owner))), [{ namespace: "elsewhere", name: "w" }])
    assert.deepStrictEqual(watch.map(pod({ labels: { "test.io/web": "1" } })), [])
  })
})

describe("Watch.make and Watch.cached", () => {
  it("keep the scope; a cached kind wakes nothing", () => {
    const predicate = () => false
    const watch = Watch.make(Pod, {
      namespaces: ["d"],
      labels: { a: "1" },
      predicate,
      indexedLabels: ["a"],
      map: ({ metadata }) => [{ name: metadata.name }]
    })
    assert.strictEqual(watch.predicate, predicate)
    assert.deepStrictEqual([watch.namespaces, watch.labels, watch.indexedLabels], [["d"], { a: "1" }, ["a"]])
    assert.deepStrictEqual(watch.map(pod({})), [{ name: "p" }])
    const cached = Watch.cached(Pod, { labels: "a" })
    assert.deepStrictEqual([cached.labels, cached.map(pod({}))], ["a", []])
  })
})
