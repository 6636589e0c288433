import type { OwnerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { ConfigMap, Namespace } from "../../../src/kinds/core.v1.ts"
import * as OwnerGraph from "../../../src/testing/sim/OwnerGraph.ts"

const refer = (name: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name,
  uid: name,
  ...more
})

/** A ConfigMap whose uid is its name. */
const node = (name: string, more: Partial<OwnerGraph.Node> = {}): OwnerGraph.Node => ({
  uid: name,
  resource: ConfigMap,
  namespace: "default",
  name,
  resourceVersion: "1",
  owners: [],
  finalizers: [],
  deleting: false,
  ...more
})

const foreground = { deleting: true, finalizers: [OwnerGraph.foregroundFinalizer] }

const graphOf = (...nodes: ReadonlyArray<OwnerGraph.Node>): OwnerGraph.OwnerGraph => {
  const graph = new OwnerGraph.OwnerGraph()
  for (const one of nodes) graph.set(one)
  return graph
}

const names = (nodes: ReadonlyArray<OwnerGraph.Node>) => nodes.map(({ name }) => name)

describe("OwnerGraph", () => {
  it("reads a node off an object", () => {
    const metadata = {
      name: "a",
      namespace: "ns",
      uid: "u",
      resourceVersion: "7",
      creationTimestamp: "2026-01-01T00:00:00Z",
      deletionTimestamp: "2026-01-01T00:00:01Z",
      finalizers: ["x"],
      ownerReferences: [refer("b")]
    }
    assert.deepStrictEqual(OwnerGraph.nodeOf(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata }), {
      uid: "u",
      resource: ConfigMap,
      namespace: "ns",
      name: "a",
      resourceVersion: "7",
      owners: [refer("b")],
      finalizers: ["x"],
      deleting: true
    })
  })

  it("a reference means the object that agrees with it in uid, name, kind and group, within reach", () => {
    const owner = node("a")
    assert.isTrue(OwnerGraph.isMeant(owner, refer("a"), "default"))
    assert.isFalse(OwnerGraph.isMeant(owner, refer("a", { uid: "other" }), "default"))
    assert.isFalse(OwnerGraph.isMeant(owner, refer("a", { name: "other" }), "default"))
    assert.isFalse(OwnerGraph.isMeant(owner, refer("a", { kind: "Secret" }), "default"))
    assert.isFalse(OwnerGraph.isMeant(owner, refer("a", { apiVersion: "apps/v1" }), "default"))
    assert.isTrue(OwnerGraph.isMeant(owner, refer("a", { apiVersion: "v2" }), "default"), "the version is no matter")
    assert.isFalse(OwnerGraph.isMeant(owner, refer("a"), "elsewhere"))
    const wide = node("n", { resource: Namespace, namespace: "" })
    assert.isTrue(OwnerGraph.isMeant(wide, refer("n", { kind: "Namespace" }), "elsewhere"))
  })

  it("knows an owner's dependents, whichever came first, and forgets them as references go", () => {
    const graph = graphOf(node("early", { owners: [refer("a")] }), node("a"), node("late", { owners: [refer("a")] }))
    assert.deepStrictEqual(names(graph.dependents("a")), ["early", "late"])
    graph.set(node("early"))
    assert.deepStrictEqual(names(graph.dependents("a")), ["late"])
    graph.remove("late")
    assert.deepStrictEqual(names(graph.dependents("a")), [])
    assert.isUndefined(graph.get("late"))
  })

  it("an object deserves a look when an owner is missing, is not the one meant, or awaits its dependents", () => {
    const graph = graphOf(node("a"), node("waiting", foreground))
    assert.deepStrictEqual(graph.set(node("b", { owners: [refer("a")] })), [])
    assert.deepStrictEqual(graph.set(node("c", { owners: [refer("a"), refer("gone")] })), ["c"])
    assert.deepStrictEqual(graph.set(node("d", { owners: [refer("a")], namespace: "elsewhere" })), ["d"])
    assert.deepStrictEqual(graph.set(node("e", { owners: [refer("waiting")] })), ["e"])
  })

  it("an object being deleted deserves a look only where a finalizer asks something of the collector", () => {
    const orphan = { deleting: true, finalizers: [OwnerGraph.orphanFinalizer] }
    const graph = graphOf()
    assert.deepStrictEqual(graph.set(node("a", { deleting: true, owners: [refer("gone")] })), [])
    assert.deepStrictEqual(graph.set(node("b", foreground)), ["b"])
    assert.deepStrictEqual(graph.set(node("c", orphan)), ["c"])
    assert.isTrue(OwnerGraph.orphansDependents(node("c", orphan)))
    assert.isFalse(OwnerGraph.orphansDependents(node("c", { ...orphan, deleting: false })))
  })

  it("an owner's end has its dependents looked at", () => {
    const graph = graphOf(node("a"), node("b", { owners: [refer("a")] }), node("c", { owners: [refer("a")] }))
    assert.deepStrictEqual(graph.remove("a"), ["b", "c"])
    assert.deepStrictEqual(graph.remove("a"), [])
  })

  it("an owner that begins to await its dependents has them looked at, once", () => {
    const graph = graphOf(node("a"), node("b", { owners: [refer("a")] }))
    assert.deepStrictEqual(graph.set(node("a", foreground)), ["a", "b"])
    assert.deepStrictEqual(graph.set(node("a", { ...foreground, resourceVersion: "2" })), ["a"])
  })

  it("an owner that awaits its dependents is looked at as they go or let go", () => {
    const blocking = node("b", { owners: [refer("a", { blockOwnerDeletion: true })] })
    const graph = graphOf(node("a", foreground), blocking, node("c", { owners: [refer("a")] }))
    assert.isTrue(graph.isBlocked("a"))
    assert.deepStrictEqual(graph.set(node("b")), ["a"])
    assert.isFalse(graph.isBlocked("a"), "c is a dependent, but does not block")
    assert.deepStrictEqual(graph.remove("c"), ["a"])
  })
})
