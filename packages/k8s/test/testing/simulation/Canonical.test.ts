import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import * as Canonical from "../../../src/testing/simulation/Canonical.ts"
import type { Entry } from "../../../src/testing/simulation/Recording.ts"

const object = (kind: string, name: string, uid: string, data: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, namespace: "default", uid, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
  ...data
})

const gone = (deleted: KubeObject): Entry => ({
  _tag: "Change",
  at: 0,
  change: {
    revision: 1,
    type: "DELETED",
    collection: "all",
    key: deleted.metadata.name,
    namespace: "default",
    object: deleted,
    event: { type: "DELETED", object: deleted }
  }
})

/** A parent that is gone, and what it left, whose name speaks of its uid. */
const run = (uid: string, own: string, data = "x") => ({
  entries: [gone(object("Parent", "a", uid))],
  objects: [object("ConfigMap", `a-${uid.slice(0, 8)}-last`, own, { data: { parent: uid, data } })]
})

const one = run("f256713f-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000001")
const other = run("484b514b-0000-4000-8000-000000000002", "22222222-0000-4000-8000-000000000002")

describe("Canonical", () => {
  it("ends are the same where only what chance has drawn differs, also of what is gone", () => {
    const mask = Canonical.mask(one, other)
    assert.deepStrictEqual([...mask], [])
    assert.deepStrictEqual(Canonical.compare(Canonical.state(one, mask), Canonical.state(other, mask)), [])
  })

  it("what else differs is told by its path", () => {
    const wrong = run("484b514b-0000-4000-8000-000000000002", "22222222-0000-4000-8000-000000000002", "y")
    assert.deepStrictEqual(Canonical.compare(Canonical.state(one, new Set()), Canonical.state(wrong, new Set())), [
      "ConfigMap default/a-(uid)-last: ConfigMap.data.data: \"y\" instead of \"x\""
    ])
  })
})
