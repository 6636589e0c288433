import { KubeClient, type KubeError, type KubeObject, type Resource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import {
  failureOf,
  gone,
  Node,
  node,
  over,
  Pod,
  pod,
  podList,
  scale,
  sent,
  status,
  success,
  Web,
  web
} from "./support/Client.ts"

describe("writes", () => {
  const json = { accept: "application/json", "content-type": "application/json" }

  it.effect("create posts to the collection, with apiVersion and kind filled in", () =>
    Effect.gen(function*() {
      const named = yield* sent([{ status: 201, body: pod("a") }], (c) =>
        c.create(Pod, { metadata: { name: "a", namespace: "d" }, spec: { nodeName: "n" } }))
      assert.strictEqual(named.line, "POST /api/v1/namespaces/d/pods?fieldManager=effect-operator")
      assert.deepStrictEqual(named.headers, json)
      assert.deepStrictEqual(named.body, {
        metadata: { name: "a", namespace: "d" },
        spec: { nodeName: "n" },
        apiVersion: "v1",
        kind: "Pod"
      })
      assert.deepStrictEqual(named.result, pod("a"))
      assert.deepStrictEqual(named.writes, [{
        _tag: "Written",
        subresource: undefined,
        resource: Pod,
        object: pod("a")
      }])
      const generated = yield* sent(
        [{ status: 201, body: pod("a-x") }],
        (c) =>
          c.create(Pod, { metadata: { generateName: "a-", namespace: "d" } })
      )
      assert.strictEqual(generated.line, "POST /api/v1/namespaces/d/pods?fieldManager=effect-operator")
      const cluster = yield* sent([{ status: 201, body: node }], (c) => c.create(Node, { metadata: { name: "n" } }))
      assert.strictEqual(cluster.line, "POST /api/v1/nodes?fieldManager=effect-operator")
    }))

  it.effect("replace sends the whole object, including unknown fields", () =>
    Effect.gen(function*() {
      const { client, requests } = over([{ body: web }, { body: web }])
      const read = yield* client.get(Web, { namespace: "d", name: "w" })
      yield* client.replace(Web, { ...read, spec: { ...read.spec, size: 4 } })
      const [, put] = requests
      assert.strictEqual(`${put!.method} ${put!.path}`, "PUT /apis/test.io/v1/namespaces/d/webs/w")
      assert.deepStrictEqual(put!.headers, json)
      assert.deepStrictEqual(put!.body, { ...web, spec: { size: 4, extra: true } })
    }))

  it.effect("patch sends each format with its content type", () =>
    Effect.gen(function*() {
      const { merge, strategic } = KubeClient.Patch
      const operations = [{ op: "test", path: "/metadata/uid", value: "u" }] as const
      for (
        const [patch, type, body] of [
          [merge({ a: null }), "application/merge-patch+json", { a: null }],
          [strategic({ a: 1 }), "application/strategic-merge-patch+json", { a: 1 }],
          [KubeClient.Patch.json(operations), "application/json-patch+json", operations]
        ] as const
      ) {
        const one = yield* sent([{ body: pod("a") }], (c) => c.patch(Pod, pod("a"), patch))
        assert.strictEqual(one.line, "PATCH /api/v1/namespaces/d/pods/a?fieldManager=effect-operator")
        assert.deepStrictEqual(one.headers, { accept: "application/json", "content-type": type })
        assert.deepStrictEqual(one.body, body)
      }
    }))

  it.effect("apply sends the given fields, and forces conflicts only on request", () =>
    Effect.gen(function*() {
      const partial = { metadata: { name: "a", namespace: "d" }, spec: { nodeName: "n" } }
      const one = yield* sent([{ body: pod("a") }], (c) => c.apply(Pod, partial))
      assert.strictEqual(one.line, "PATCH /api/v1/namespaces/d/pods/a?fieldManager=effect-operator")
      assert.strictEqual(one.headers["content-type"], "application/apply-patch+yaml")
      assert.deepStrictEqual(one.body, { ...partial, apiVersion: "v1", kind: "Pod" })
      const forced = yield* sent([{ body: pod("a") }], (c) => c.apply(Pod, partial, { force: true }))
      assert.strictEqual(forced.line, "PATCH /api/v1/namespaces/d/pods/a?fieldManager=effect-operator&force=true")
    }))

  it.effect("support subresources, dry run, a field manager and validation", () =>
    Effect.gen(function*() {
      const options = {
        subresource: "status",
        dryRun: true,
        fieldManager: "me",
        fieldValidation: "Strict"
      } as const
      const query = "?dryRun=All&fieldManager=me&fieldValidation=Strict"
      const status = `/api/v1/namespaces/d/pods/a/status${query}`
      const script = [{ body: pod("a") }]
      const replace = yield* sent(script, (c) => c.replace(Pod, pod("a"), options))
      const patch = yield* sent(script, (c) => c.patch(Pod, pod("a"), KubeClient.Patch.merge({}), options))
      const apply = yield* sent(script, (c) => c.apply(Pod, pod("a"), { ...options, force: true }))
      const create = yield* sent(script, (c) => c.create(Pod, pod("a"), options))
      assert.deepStrictEqual([replace, patch, apply, create].map(({ line }) => line), [
        `PUT ${status}`,
        `PATCH ${status}`,
        `PATCH ${status}&force=true`,
        `POST ${status}`
      ])
      // Nothing happened, so nobody may be told that something did.
      assert.deepStrictEqual([replace, patch, apply, create].flatMap(({ writes }) => writes), [])
    }))

  it.effect("use the field manager of the context, unless the call names one", () =>
    Effect.gen(function*() {
      const line = (options?: KubeClient.WriteOptions) =>
        Effect.map(sent([{ body: pod("a") }], (c) => c.replace(Pod, pod("a"), options)), ({ line }) => line)
      const inContext = line().pipe(Effect.provideService(KubeClient.FieldManager, "controller"))
      assert.match(yield* inContext, /\?fieldManager=controller$/)
      const named = line({ fieldManager: "me" }).pipe(Effect.provideService(KubeClient.FieldManager, "controller"))
      assert.match(yield* named, /\?fieldManager=me$/)
    }))

  it.effect("pass through subresources of other kinds", () =>
    Effect.gen(function*() {
      const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "a", namespace: "d" } }
      const evict = yield* sent([{ status: 201, ...success({}) }], (c) =>
        c.create(Pod as Resource.Resource<KubeObject.KubeObject>, eviction, { subresource: "eviction" }))
      assert.strictEqual(evict.line, "POST /api/v1/namespaces/d/pods/a/eviction?fieldManager=effect-operator")
      assert.deepStrictEqual(evict.body, eviction)
      const resource = Web as Resource.Resource<KubeObject.KubeObject>
      const put = yield* sent([{ body: scale }], (c) =>
        c.replace(resource, scale, { subresource: "scale" }))
      assert.deepStrictEqual([put.body, put.result], [scale, scale])
      const patched = yield* sent([{ body: scale }], (c) =>
        c.patch(Web, web, KubeClient.Patch.merge({ spec: { replicas: 3 } }), { subresource: "scale" }))
      assert.deepStrictEqual(patched.result as unknown, scale)
      // The overlay of the cache must not take a Scale for a Web.
      const written = [evict, put, patched].flatMap(({ writes }) =>
        writes.map(({ _tag }) =>
          _tag
        )
      )
      assert.deepStrictEqual(written, ["Deleting", "Changed", "Changed"])
    }))

  it.effect("send nothing that does not fit the schema", () =>
    Effect.gen(function*() {
      const { client, requests, writes } = over([])
      const bad = { metadata: { name: "w", namespace: "d" }, spec: { size: 1.5 } }
      for (const call of [client.create(Web, bad), client.replace(Web, bad)]) {
        const error = yield* failureOf(call)
        assert.match(
          error.message,
          /^(create|replace) webs\.test\.io d\/w: Decode: the object is not a valid Web: spec\.size: /
        )
      }
      assert.deepStrictEqual([requests, writes], [[], []])
    }))

  it.effect("that were rejected or not answered are not observed", () =>
    Effect.gen(function*() {
      const { client, writes } = over([status(409, "AlreadyExists"), status(409, "Conflict"), { down: "reset" }])
      assert.strictEqual((yield* failureOf(client.create(Pod, pod("a")))).reason._tag, "AlreadyExists")
      assert.strictEqual((yield* failureOf(client.replace(Pod, pod("a")))).reason._tag, "Conflict")
      assert.strictEqual((yield* failureOf(client.delete(Pod, pod("a")))).reason._tag, "Transport")
      assert.deepStrictEqual(writes, [])
    }))
})

describe("delete", () => {
  const options = (more: object) => ({ apiVersion: "v1", kind: "DeleteOptions", ...more })

  it.effect("with an object deletes only that one; with a key, whatever is there", () =>
    Effect.gen(function*() {
      const script = [success({ name: "a", kind: "pods", uid: "uid-a" })]
      const object = yield* sent(script, (c) => c.delete(Pod, pod("a")))
      assert.strictEqual(object.line, "DELETE /api/v1/namespaces/d/pods/a")
      assert.deepStrictEqual(object.body, options({ preconditions: { uid: "uid-a" } }))
      assert.deepStrictEqual(object.result, { _tag: "Deleted", uid: "uid-a" })
      assert.deepStrictEqual(object.writes, [{ _tag: "Deleted", resource: Pod, key: gone, uid: "uid-a" }])
      const key = yield* sent(script, (c) => c.delete(Pod, gone))
      assert.deepStrictEqual(key.body, options({}))
      const cluster = yield* sent([success({})], (c) => c.delete(Node, { name: "n" }))
      assert.strictEqual(cluster.line, "DELETE /api/v1/nodes/n")
      assert.deepStrictEqual(cluster.writes, [
        { _tag: "Deleted", resource: Node, key: { name: "n", namespace: undefined }, uid: undefined }
      ])
    }))

  it.effect("passes its options on, and further preconditions beside the uid", () =>
    Effect.gen(function*() {
      const one = yield* sent([{ body: pod("a") }], (c) =>
        c.delete(Pod, pod("a"), {
          dryRun: true,
          gracePeriodSeconds: 0,
          propagationPolicy: "Foreground",
          preconditions: { resourceVersion: "5" }
        }))
      assert.deepStrictEqual(
        one.body,
        options({
          gracePeriodSeconds: 0,
          propagationPolicy: "Foreground",
          dryRun: ["All"],
          preconditions: { uid: "uid-a", resourceVersion: "5" }
        })
      )
      assert.deepStrictEqual([one.result, one.writes], [{ _tag: "Deleted", uid: "uid-a" }, []])
    }))

  it.effect("says whether the object is gone or still terminating", () =>
    Effect.gen(function*() {
      const deletionTimestamp = "2026-01-01T00:00:00Z"
      const answered = (body: unknown) => sent([{ body }], (c) => c.delete(Pod, pod("a")))
      const waiting = [
        pod("a", { deletionTimestamp, finalizers: ["a/b"] }),
        pod("a", { deletionTimestamp, deletionGracePeriodSeconds: 30 }),
        // A Namespace has its finalizers elsewhere.
        { ...pod("a", { deletionTimestamp }), spec: { finalizers: ["kubernetes"] } }
      ]
      for (const object of waiting) {
        const { result, writes } = yield* answered(object)
        assert.deepStrictEqual(result, { _tag: "Terminating", object } as never)
        assert.deepStrictEqual(writes, [{ _tag: "Written", resource: Pod, object } as never])
      }
      // What it would come to is nothing that has happened.
      const dry = yield* sent([{ body: waiting[1] }], (c) => c.delete(Pod, pod("a"), { dryRun: true }))
      assert.deepStrictEqual([dry.result._tag, dry.writes], ["Terminating", []])
      const went = [pod("a"), pod("a", { deletionTimestamp, deletionGracePeriodSeconds: 0, finalizers: [] })]
      for (const object of went) {
        const { result, writes } = yield* answered(object)
        assert.deepStrictEqual(result, { _tag: "Deleted", uid: "uid-a" })
        assert.deepStrictEqual(writes.map(({ _tag }) => _tag), ["Deleted"])
      }
    }))
})

describe("deleteCollection", () => {
  it.effect("deletes the selected objects", () =>
    Effect.gen(function*() {
      const one = yield* sent([podList([])], (c) =>
        c.deleteCollection(Pod, { namespace: "d", labels: "a=b", fields: "metadata.name=x" }, {
          propagationPolicy: "Background"
        }))
      assert.strictEqual(
        one.line,
        "DELETE /api/v1/namespaces/d/pods?labelSelector=a=b&fieldSelector=metadata.name=x"
      )
      assert.deepStrictEqual(one.body, { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" })
      const cluster = yield* sent([podList([])], (c) =>
        c.deleteCollection(Node, {}))
      assert.strictEqual(cluster.line, "DELETE /api/v1/nodes")
    }))
})

describe("what must not be sent", () => {
  const calls = (c: KubeClient.Client, key: { readonly namespace?: string; readonly name: string }) => ({
    get: c.get(Pod, key),
    replace: c.replace(Pod, { metadata: key }),
    patch: c.patch(Pod, key, KubeClient.Patch.merge({})),
    apply: c.apply(Pod, { metadata: key }),
    delete: c.delete(Pod, key),
    evict: c.create(Pod, { metadata: key }, { subresource: "eviction" })
  })

  it.effect("is a request for a namespaced object without its namespace", () =>
    Effect.gen(function*() {
      const { client, requests } = over([])
      for (const key of [{ name: "a" }, { namespace: "", name: "a" }]) {
        const all = { ...calls(client, key), create: client.create(Pod, { metadata: key }) }
        for (const call of Object.values(all)) {
          const error = yield* failureOf(call as Effect.Effect<unknown, KubeError.KubeError>)
          assert.strictEqual(error.reason._tag, "BadRequest")
          assert.match(error.message, /: metadata\.namespace: missing: Pod is namespaced; give a namespace$/)
        }
      }
      const error = yield* failureOf(client.deleteCollection(Pod, { labels: "a" }))
      assert.match(error.message, /^deletecollection pods: BadRequest: metadata\.namespace: missing/)
      assert.deepStrictEqual(requests, [])
    }))

  // A real server takes DELETE …/pods/ for the deletion of all Pods of the namespace.
  it.effect("is a request for one object without its name: the path would be the collection's", () =>
    Effect.gen(function*() {
      const { client, requests } = over([])
      for (const [verb, call] of Object.entries(calls(client, { namespace: "d", name: "" }))) {
        const error = yield* failureOf(call as Effect.Effect<unknown, KubeError.KubeError>)
        assert.match(error.message, /BadRequest: metadata\.name: missing: give the name of the Pod$/, verb)
      }
      for (const call of [client.replace(Pod, { metadata: { namespace: "d" } }), client.delete(Node, { name: "" })]) {
        assert.match(
          (yield* failureOf(call as Effect.Effect<unknown, KubeError.KubeError>)).message,
          /metadata\.name: mis/
        )
      }
      assert.deepStrictEqual(requests, [])
    }))

  it.effect("is a name with a special meaning in a URL: it would lead to the namespace itself", () =>
    Effect.gen(function*() {
      const { client, requests } = over([])
      for (const dots of [".", ".."]) {
        for (const key of [{ namespace: "d", name: dots }, { namespace: dots, name: "a" }]) {
          for (const [verb, call] of Object.entries(calls(client, key))) {
            const error = yield* failureOf(call as Effect.Effect<unknown, KubeError.KubeError>)
            assert.strictEqual(error.reason._tag, "BadRequest", verb)
          }
        }
        yield* failureOf(client.deleteCollection(Pod, { namespace: dots }))
        yield* failureOf(client.listPage(Pod, { namespace: dots }))
        yield* failureOf(Stream.runDrain(client.watch(Pod, { namespace: dots })))
      }
      assert.deepStrictEqual(requests, [])
    }))
})
