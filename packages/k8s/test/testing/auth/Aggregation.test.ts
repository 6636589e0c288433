import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import * as Aggregation from "../../../src/testing/auth/Aggregation.ts"
import { collections } from "../../../src/testing/auth/Rbac.ts"
import { Storage } from "../../../src/api/Storage.ts"

const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] })

const put = (
  storage: Storage,
  name: string,
  fields: { readonly of?: string; readonly in?: string },
  ...resources: ReadonlyArray<string>
) =>
  storage.put(collections.clusterRoles, name, "", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, uid: name, ...(fields.in === undefined ? {} : { labels: { [fields.in]: "true" } }) },
    ...(fields.of === undefined ? {} : {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [fields.of]: "true" } }] }
    }),
    rules: resources.map(rule)
  } as unknown as KubeObject)

const resources = (storage: Storage, name: string) =>
  (storage.get(collections.clusterRoles, name) as any).rules.flatMap((entry: any) => entry.resources)

describe("Aggregation", () => {
  it("follows every change, through roles that are made of such roles", () => {
    const storage = new Storage(1000)
    Aggregation.run(storage)
    put(storage, "all", { of: "to-all" })
    put(storage, "some", { of: "to-some", in: "to-all" })
    put(storage, "b", { in: "to-some" }, "pods", "jobs")
    put(storage, "a", { in: "to-some" }, "configmaps", "pods")
    assert.deepStrictEqual(resources(storage, "some"), ["configmaps", "pods", "jobs"])
    assert.deepStrictEqual(resources(storage, "all"), ["configmaps", "pods", "jobs"])
    put(storage, "b", {}, "pods", "jobs")
    assert.deepStrictEqual(resources(storage, "all"), ["configmaps", "pods"])
    storage.remove(collections.clusterRoles, "a", "")
    assert.deepStrictEqual(resources(storage, "all"), [])
  })

  it("overwrites what others write there, and leaves other roles alone", () => {
    const storage = new Storage(1000)
    Aggregation.run(storage)
    put(storage, "a", { in: "x" }, "pods")
    put(storage, "all", { of: "x" }, "nodes")
    assert.deepStrictEqual(resources(storage, "all"), ["pods"])
    const before = storage.revision
    put(storage, "plain", {}, "nodes")
    assert.strictEqual(storage.revision, before + 1)
    assert.deepStrictEqual(resources(storage, "plain"), ["nodes"])
  })

  it("comes to rest where roles are made of each other", () => {
    const storage = new Storage(1000)
    Aggregation.run(storage)
    put(storage, "a", { of: "x", in: "y" })
    put(storage, "b", { of: "y", in: "x" })
    put(storage, "c", { in: "x" }, "pods")
    assert.deepStrictEqual(resources(storage, "a"), ["pods"])
    assert.deepStrictEqual(resources(storage, "b"), ["pods"])
  })
})
