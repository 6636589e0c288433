import type { KubeObject } from "@effect-operator/core/KubeObject"
import { unrest } from "@effect-operator/k8s/testing/simulation/oracles/Unrest"
import type { Entry, Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const map = (data: object, version: number, more: object = {}): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", namespace: "default", uid: "1", resourceVersion: String(version), ...more },
    data
  }) as never

const write = (object: KubeObject, index: number): Entry =>
  ({
    _tag: "Call",
    at: index,
    status: 200,
    request: { method: "PUT", path: "/api/v1/namespaces/default/configmaps/a", query: [] },
    object,
    before: index,
    after: index + 1
  }) as never

const run = (objects: ReadonlyArray<KubeObject>, there: ReadonlyArray<KubeObject> = []): Recording => ({
  ...blank,
  entries: objects.map(write),
  objects: there
})

describe("Unrest", () => {
  it("tells what is another thing each time, and what comes back", () => {
    const counted = [1, 2, 3, 4].map((count) => map({ count: String(count) }, count))
    assert.strictEqual(unrest(run(counted)), "ConfigMap a is written again and again: data.count is \"3\", then \"4\"")
    const fought = ["a", "b", "a", "b"].map((by, index) => map({ by, [by]: "yes" }, index))
    assert.strictEqual(
      unrest(run(fought)),
      "ConfigMap a is written again and again: data.by is \"a\", then \"b\", then \"a\" again, and likewise data.a, data.b"
    )
  })

  it("in a list by its place", () => {
    const owned = ["a", "b", "a", "b"].map((name, index) =>
      map({}, index, { ownerReferences: [{ kind: "Tool", name }] })
    )
    assert.strictEqual(
      unrest(run(owned)),
      "ConfigMap a is written again and again: metadata.ownerReferences[0].name is \"a\", then \"b\", then \"a\" again"
    )
  })

  it("in a Secret in words", () => {
    const drawn = [1, 2, 3, 4].map((count) => ({ ...map({ password: btoa(`pw-${count}`) }, count), kind: "Secret" }))
    assert.include(unrest(run(drawn)), "data.password is \"pw-3\", then \"pw-4\"")
  })

  it("and of what is made again and again, whose it is not", () => {
    const owner = { apiVersion: "v1", kind: "Cell", name: "c", uid: "old" }
    const made = [1, 2, 3, 4].map((uid) => map({}, uid, { uid: String(uid), ownerReferences: [owner] }))
    const cell = (uid: string) => ({ apiVersion: "v1", kind: "Cell", metadata: { name: "c", uid } }) as KubeObject
    assert.strictEqual(
      unrest(run(made, [cell("new")])),
      "ConfigMap a is created again and again: no Cell has the uid in its owner reference (Cell c has another), so " +
        "the garbage collector deletes the ConfigMap"
    )
    assert.strictEqual(unrest(run(made, [cell("old")])), "ConfigMap a is created again and again")
  })

  it("not what was written often, and is left alone while something else is asked for in vain", () => {
    const counted = run([1, 2, 3, 4].map((count) => map({ count: String(count) }, count)))
    const later = (minutes: number) => ({
      _tag: "Call",
      at: minutes * 60_000,
      status: 429,
      request: { method: "POST", path: "/api/v1/namespaces/default/pods/a/eviction", query: [] }
    })
    assert.isDefined(unrest({ ...counted, entries: [...counted.entries, later(4) as never] }))
    assert.isUndefined(unrest({ ...counted, entries: [...counted.entries, later(14) as never] }))
  })

  it("nothing where nothing is written often, or another thing", () => {
    assert.isUndefined(unrest(run([map({}, 1), map({ a: "b" }, 2)])))
    assert.isUndefined(unrest(run([1, 2, 3, 4].map((version) => map({}, version)))))
  })
})
