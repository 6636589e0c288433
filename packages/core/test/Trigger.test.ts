import { Cache, Delta, type KubeObject, Resource, Trigger, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"

const Pod = Resource.make<KubeObject.KubeObject>()({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  scope: "Namespaced"
})

const pod = (name: string, ...owners: ReadonlyArray<string>): KubeObject.KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "d",
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "",
    annotations: { owners: owners.join() }
  }
})
const byOwners = Watch.make(Pod, {
  map: ({ metadata }) =>
    (metadata.annotations?.["owners"] ?? "").split(",").filter((name) => name !== "").map((name) => ({
      namespace: "o",
      name
    }))
})

const nothing = Cache.view(Cache.makeReader([]))

const triggered = (watch: Watch.Watch, ...deltas: ReadonlyArray<Delta.Delta>) => {
  const found: Array<string> = []
  Trigger.keys(
    watch,
    deltas,
    (key, reason) => found.push(`${key}: ${Trigger.format(reason)}`),
    nothing,
    (what) => found.push(`${what} failed`)
  )
  return found
}

describe("Trigger.keys", () => {
  it("returns the keys that each delta concerns, with the reasons", () => {
    assert.deepStrictEqual(
      triggered(
        byOwners,
        { _tag: "Added", object: pod("a", "x", "y") },
        { _tag: "Deleted", object: pod("b", "x") },
        { _tag: "Added", object: pod("c") }
      ),
      ["o/x: Pod d/a added", "o/y: Pod d/a added", "o/x: Pod d/b deleted"]
    )
  })

  it("maps an update for its former and its present owners, each once", () => {
    assert.deepStrictEqual(
      triggered(byOwners, { _tag: "Updated", old: pod("a", "x", "y"), object: pod("a", "y", "z", "z") }),
      ["o/x: Pod d/a updated", "o/y: Pod d/a updated", "o/z: Pod d/a updated"]
    )
  })

  it("skips what a predicate drops and what does not decode", () => {
    const picky = Watch.make(Pod, { map: byOwners.map, predicate: ({ _tag }) => _tag === "Deleted" })
    assert.deepStrictEqual(
      triggered(
        picky,
        { _tag: "Added", object: pod("a", "x") },
        { _tag: "Updated", old: pod("a", "x"), object: pod("a", "y") },
        { _tag: "Invalid", raw: pod("a", "x"), issues: ["bad"] },
        { _tag: "Deleted", object: pod("a", "x") }
      ),
      ["o/x: Pod d/a deleted"]
    )
    assert.deepStrictEqual(triggered(byOwners, { _tag: "Invalid", raw: pod("a", "x"), issues: [] }), [])
  })
})

describe("Reason", () => {
  it("has an identity and a text", () => {
    const reasons: ReadonlyArray<Trigger.Reason> = [
      { _tag: "Added", kind: "Pod", object: "d/a" },
      { _tag: "Updated", kind: "Pod", object: "d/a" },
      { _tag: "Deleted", kind: "Pod", object: "d/b" },
      { _tag: "Added", kind: "Job", object: "d/a" },
      { _tag: "Requeue" },
      { _tag: "Retry" },
      { _tag: "Resync" }
    ]
    assert.strictEqual(new Set(reasons.map(Trigger.id)).size, reasons.length)
    assert.strictEqual(Trigger.id(reasons[0]!), Trigger.id({ ...reasons[0]! }))
    assert.deepStrictEqual(reasons.slice(3).map(Trigger.format), ["Job d/a added", "requeue", "retry", "resync"])
  })
})

describe("Delta.objects", () => {
  it("are those whose relations may have changed", () => {
    const [a, b] = [pod("a", "x"), pod("a", "y")]
    assert.deepStrictEqual(Delta.objects({ _tag: "Updated", old: a, object: b }), [a, b])
    assert.deepStrictEqual(Delta.objects({ _tag: "Added", object: a }), [a])
    assert.deepStrictEqual(Delta.objects({ _tag: "Deleted", object: a }), [a])
    assert.deepStrictEqual(Delta.objects({ _tag: "Invalid", raw: a, issues: [] }), [])
  })
})
