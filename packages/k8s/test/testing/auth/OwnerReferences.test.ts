import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as OwnerReferences from "../../../src/testing/auth/OwnerReferences.ts"
import { call, configMaps, pod, pods, post } from "../support/server.ts"

const as = { "impersonate-user": "jane" }

const owner = (more: object = {}) => ({ apiVersion: "v1", kind: "Node", name: "n", uid: "u", ...more })

const allow = (...rules: ReadonlyArray<object>) =>
  Effect.gen(function*() {
    const rbac = "/apis/rbac.authorization.k8s.io/v1"
    yield* post(`${rbac}/clusterroles`, { metadata: { name: "jane" }, rules })
    yield* post(`${rbac}/clusterrolebindings`, {
      metadata: { name: "jane" },
      roleRef: { kind: "ClusterRole", name: "jane" },
      subjects: [{ kind: "User", name: "jane" }]
    })
  })

const write = {
  apiGroups: [""],
  resources: ["configmaps", "pods", "pods/status"],
  verbs: ["create", "update", "patch"]
}

const create = (name: string, ownerReferences: ReadonlyArray<object>) =>
  call("POST", configMaps, { metadata: { name, ownerReferences } }, as)

const patch = (path: string, metadata: object) =>
  call("PATCH", path, { metadata }, { ...as, "content-type": "application/merge-patch+json" })

describe("OwnerReferences", () => {
  it.effect("asks about finalizers of owners that are made to wait, cluster-wide ones too", () =>
    Effect.gen(function*() {
      yield* allow(write, {
        apiGroups: [""],
        resources: ["nodes/finalizers"],
        resourceNames: ["n"],
        verbs: ["update"]
      })
      const blocks = { blockOwnerDeletion: true }
      assert.strictEqual((yield* create("a", [owner()])).status, 201)
      assert.strictEqual((yield* create("b", [owner(blocks)])).status, 201)
      assert.strictEqual((yield* create("c", [owner({ ...blocks, name: "m" })])).status, 403)
      assert.strictEqual((yield* create("d", [owner({ ...blocks, kind: "Pod" })])).status, 403)
    }).pipe(Effect.provide(ApiServer.layerOptions({ admission: [OwnerReferences.plugin] }))))

  it.effect("who may update any finalizer is not asked about owners nobody knows", () =>
    Effect.gen(function*() {
      yield* allow(write, { apiGroups: ["*"], resources: ["*/finalizers"], verbs: ["update"] })
      const strange = owner({ apiVersion: "x.example/v1", kind: "Foo", blockOwnerDeletion: true })
      assert.strictEqual((yield* create("a", [strange])).status, 201)
    }).pipe(Effect.provide(ApiServer.layerOptions({ admission: [OwnerReferences.plugin] }))))

  it.effect("asks about deletion where owners change, but not through the status of a Pod", () =>
    Effect.gen(function*() {
      yield* allow(write)
      yield* post(configMaps, { metadata: { name: "a" } })
      yield* post(pods, pod("p"))
      assert.strictEqual((yield* patch(`${configMaps}/a`, { labels: { a: "b" } })).status, 200)
      const refused = yield* patch(`${configMaps}/a`, { ownerReferences: [owner()] })
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(
        refused.body.message,
        "configmaps \"a\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>"
      )
      assert.strictEqual((yield* patch(`${pods}/p/status`, { ownerReferences: [owner()] })).status, 200)
      assert.strictEqual((yield* patch(`${pods}/p`, { ownerReferences: [owner()] })).status, 403)
    }).pipe(Effect.provide(ApiServer.layerOptions({ admission: [OwnerReferences.plugin] }))))

  it.effect("is not there unless it is asked for", () =>
    Effect.gen(function*() {
      yield* allow(write)
      assert.strictEqual((yield* create("a", [owner({ blockOwnerDeletion: true })])).status, 201)
    }).pipe(Effect.provide(ApiServer.layer)))
})
