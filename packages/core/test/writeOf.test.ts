import { type KubeObject, KubeObject as Objects } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Node, Pod, pod, podList, scale, sent, success, Web, web } from "./support/Client.ts"

const eviction = (more: object = {}) => ({
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name: "a", namespace: "d" },
  ...more
})
const evict = (more: object = {}, options: object = {}) =>
  sent(
    [{ status: 201, ...success({}) }],
    (c) => c.create(Pod, eviction(more) as never, { subresource: "eviction", ...options })
  )
const about = { resource: Pod, key: { namespace: "d", name: "a" } }

describe("what a write tells the cache", () => {
  it.effect("scale: only the object's resourceVersion", () =>
    Effect.gen(function*() {
      const answer = { ...scale, metadata: { ...scale.metadata, resourceVersion: "77" } }
      const change = { _tag: "Changed", resource: Web, key: Objects.key(web), uid: "uid-w", resourceVersion: "77" }
      const { writes } = yield* sent(
        [{ body: answer }],
        (c) => c.replace(Web, scale as never, { subresource: "scale" })
      )
      assert.deepStrictEqual(writes as unknown, [{ ...change, subresource: "scale", answer }])
      const dry = yield* sent(
        [{ body: answer }],
        (c) => c.replace(Web, scale as never, { subresource: "scale", dryRun: true })
      )
      assert.deepStrictEqual(dry.writes, [])
      // Nothing was stored of a token.
      const token = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: { name: "w" } }
      const request = yield* sent(
        [{ body: token }],
        (c) => c.create(Web, { ...token, metadata: Objects.key(web) } as never, { subresource: "token" })
      )
      assert.deepStrictEqual(request.writes, [])
    }))

  it.effect("status, like any subresource of the same kind: the object itself", () =>
    Effect.gen(function*() {
      const { writes } = yield* sent([{ body: pod("a") }], (c) => c.replace(Pod, pod("a"), { subresource: "status" }))
      assert.deepStrictEqual(writes, [{ _tag: "Written", resource: Pod, object: pod("a"), subresource: "status" }])
    }))

  it.effect("an eviction: that the Pod is being deleted, with its uid if given", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* evict()).writes, [{ _tag: "Deleting", ...about, uid: undefined }])
      const named = yield* evict({ deleteOptions: { preconditions: { uid: "u" } } })
      assert.deepStrictEqual(named.writes, [{ _tag: "Deleting", ...about, uid: "u" }])
      assert.deepStrictEqual((yield* evict({ deleteOptions: { dryRun: ["All"] } })).writes, [])
      assert.deepStrictEqual((yield* evict({}, { dryRun: true })).writes, [])
    }))

  it.effect("the deletion of a collection: each returned object that was not terminating", () =>
    Effect.gen(function*() {
      const { apiVersion: _, kind: __, ...item } = pod("a")
      const terminating = pod("b", { deletionTimestamp: "2026-01-01T00:00:00Z" })
      const remove = (options = {}) =>
        sent([podList([item, terminating])], (c) => c.deleteCollection(Pod, { namespace: "d" }, options))
      assert.deepStrictEqual((yield* remove()).writes, [{ _tag: "Deleting", ...about, uid: "uid-a" }])
      assert.deepStrictEqual((yield* remove({ dryRun: true })).writes, [])
      // An aggregated server may answer whatever it likes.
      for (const body of [success({}).body, podList(null).body, podList([{}, { metadata: {} }]).body]) {
        const odd = yield* sent([{ body }], (c) => c.deleteCollection(Node, {}))
        assert.deepStrictEqual(odd.writes, [])
      }
    }))

  it.effect("create by generateName: the object under its generated name", () =>
    Effect.gen(function*() {
      const { writes } = yield* sent([{ status: 201, body: pod("a-x7") }], (c) =>
        c.create(Pod, { metadata: { generateName: "a-", namespace: "d" } }))
      const [write] = writes as ReadonlyArray<{ readonly object: KubeObject.KubeObject }>
      assert.strictEqual(write!.object.metadata.name, "a-x7")
    }))
})
