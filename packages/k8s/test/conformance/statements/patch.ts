import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const json = "application/json-patch+json"
const merge = "application/merge-patch+json"
const strategic = "application/strategic-merge-patch+json"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

/** A ConfigMap in a new namespace, and how to patch it. */
const patched = Effect.fnUntraced(function*(data: Readonly<Record<string, string>>) {
  const { namespace, request } = yield* Target
  const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
  yield* request("POST", path, { body: configMap("a", { data }) })
  return {
    collection: path,
    get: request("GET", `${path}/a`),
    send: (contentType: string, body: unknown) => request("PATCH", `${path}/a`, { body, contentType })
  }
})

/** An object of a kind that takes any spec, and how to patch it. */
const widget = Effect.fnUntraced(function*(spec: object) {
  const { kind, namespace, request } = yield* Target
  const ns = yield* namespace
  const widgets = yield* kind({ spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } })
  yield* request("POST", widgets.path(ns), { body: widgets.object("a", { spec }) })
  return {
    ns,
    widgets,
    send: (contentType: string, body: unknown) => request("PATCH", widgets.path(ns, "a"), { body, contentType })
  }
})

/** A PodTemplate, which no controller touches, and how to patch its template. */
const template = Effect.fnUntraced(function*(spec: object) {
  const { namespace, request } = yield* Target
  const path = `/api/v1/namespaces/${yield* namespace}/podtemplates`
  const created = yield* request("POST", path, {
    body: {
      apiVersion: "v1",
      kind: "PodTemplate",
      metadata: { name: "a" },
      template: { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "c", image: "i" }], ...spec } }
    }
  })
  assert.strictEqual(created.status, 201)
  return (spec: object) => request("PATCH", `${path}/a`, { body: { template: { spec } }, contentType: strategic })
})

const add = (path: string, value: unknown) => ({ op: "add", path, value })

export const patch = [
  statement("78", "a JSON Patch adds, removes, replaces, moves, copies and tests, all or nothing", {
    note: "`replace` of a missing key adds it, and negative indices count from the end"
  }, function*() {
    const { send } = yield* widget({ l: ["a", "b", "c"], m: { k: "v" }, "a/b": 1 })
    const { object, status } = yield* send(json, [
      { op: "test", path: "/spec/m/k", value: "v" },
      add("/spec/l/1", "x"),
      { op: "remove", path: "/spec/l/0" },
      add("/spec/l/-", "end"),
      { op: "replace", path: "/spec/m/k", value: { deep: [1, true, null] } },
      { op: "copy", from: "/spec/m/k/deep/0", path: "/spec/copied" },
      { op: "move", from: "/spec/a~1b", path: "/spec/moved~0" },
      { op: "replace", path: "/spec/absent", value: "added" }
    ])
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(object["spec"], {
      l: ["x", "b", "c", "end"],
      m: { k: { deep: [1, true, null] } },
      copied: 1,
      "moved~": 1,
      absent: "added"
    })
    assert.strictEqual(object.metadata.generation, 2, "one change")
    const { object: last } = yield* send(json, [{ op: "remove", path: "/spec/l/-1" }])
    assert.deepStrictEqual(last["spec"].l, ["x", "b", "c"])
  }),

  statement("78a", "a JSON Patch that does not fit is 422 without saying why, and changes nothing", {}, function*() {
    const { get, send } = yield* patched({ k: "v" })
    const { object: before } = yield* get
    const misfits = [
      { op: "test", path: "/data/k", value: "other" },
      { op: "remove", path: "/data/absent" },
      { op: "move", from: "/data/absent", path: "/data/x" },
      { op: "test", path: "/data/absent", value: "v" },
      { op: "add", path: "/absent/deep/k", value: "v" },
      { op: "frobnicate", path: "/data/k" }
    ]
    for (const misfit of misfits) {
      const { body, status } = yield* send(json, [add("/data/new", "n"), misfit])
      assert.strictEqual(status, 422, JSON.stringify(misfit))
      assert.deepStrictEqual(body, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "the server rejected our request due to an error in our request",
        reason: "Invalid",
        details: {},
        code: 422
      })
    }
    assert.deepStrictEqual((yield* get).object, before)
  }),

  statement("78b", "a JSON Patch is a list of at most 10,000 operations", {}, function*() {
    const { get, send } = yield* patched({ k: "v" })
    const { object: before } = yield* get
    const test = { op: "test", path: "/kind", value: "ConfigMap" }
    const many = yield* send(json, Array.from({ length: 10_001 }, () => test))
    assert.strictEqual(many.status, 413)
    assert.strictEqual(many.error.reason, "RequestEntityTooLarge")
    assert.strictEqual(
      many.error.message,
      "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )
    const enough = yield* send(json, Array.from({ length: 10_000 }, () => test))
    assert.strictEqual(enough.status, 200)
    assert.strictEqual(enough.object.metadata.resourceVersion, before.metadata.resourceVersion, "nothing changed")
    const noList = yield* send(json, { op: "remove", path: "/data/k" })
    assert.strictEqual(noList.status, 400)
    assert.strictEqual(noList.error.reason, "BadRequest")
    assert.match(noList.error.message ?? "", /^(?:error decoding patch: )?json: cannot unmarshal object into Go value/)
  }),

  statement("78c", "a JSON patch may have fields that no operation has, which are told or refused", {
    since: 27
  }, function*() {
    const { namespace, request } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    yield* request("POST", path, { body: { metadata: { name: "a" } } })
    const patched = (query: Readonly<Record<string, string>> = {}) =>
      request("PATCH", `${path}/a`, {
        body: [{ op: "add", path: "/data", value: { z: "1" }, foo: 2 }],
        contentType: "application/json-patch+json",
        query
      })
    const said = `json patch unknown field "[0].foo"`
    const warned = yield* patched()
    assert.deepStrictEqual(
      [warned.status, warned.headers["warning"]],
      [200, `299 - "${said.replaceAll("\"", "\\\"")}"`]
    )
    assert.isUndefined((yield* patched({ fieldValidation: "Ignore" })).headers["warning"])
    const { error, status } = yield* patched({ fieldValidation: "Strict" })
    assert.deepStrictEqual([status, error.details?.causes?.[0]?.field], [422, "patch"])
    assert.match(error.message!, /: strict decoding error: json patch unknown field "\[0\]\.foo"$/)
  }),

  statement("79", "a merge patch merges objects, deletes by null and replaces lists whole", {}, function*() {
    const { request, watch } = yield* Target
    const { ns, send, widgets } = yield* widget({ m: { a: 1, b: { c: 1, d: 2 } }, l: [1, 2, 3], s: "s" })
    const path = widgets.path(ns)
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", path)
    const watching = yield* watch(path, { resourceVersion })
    const { object, status } = yield* send(merge, {
      metadata: { labels: { app: "web" } },
      spec: { m: { a: null, b: { d: null, e: { f: null, g: 1 } }, absent: null }, l: [{ x: 1 }], s: { now: "object" } }
    })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(object["spec"], { m: { b: { c: 1, e: { g: 1 } } }, l: [{ x: 1 }], s: { now: "object" } })
    assert.deepStrictEqual(object.metadata.labels, { app: "web" })
    assert.deepStrictEqual(yield* watching.take(1), [{ type: "MODIFIED", object }])
    const { object: unlabelled } = yield* send(merge, { metadata: { labels: { app: null } } })
    assert.deepStrictEqual(unlabelled.metadata.labels ?? {}, {})
    assert.strictEqual(unlabelled.metadata.generation, object.metadata.generation)
  }),

  statement("79a", "nulls that are items of a list stay, since 1.21", {
    note: "in objects inside of a list they are dropped"
  }, function*() {
    const { minor } = yield* Target
    const { send } = yield* widget({ l: [1] })
    const { object, status } = yield* send(merge, { spec: { l: [null, 1, null] } })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(object["spec"].l, minor < 21 ? [1] : [null, 1, null])
    const inner = yield* send(merge, { spec: { l: [{ a: null, b: 1 }] } })
    assert.deepStrictEqual(inner.object["spec"].l, [{ b: 1 }])
  }),

  statement("79b", "a merge patch is an object; what is none changes nothing", {
    note: "a list as a merge patch is 422 in 1.20, 400 since; it was put as 500"
  }, function*() {
    const { minor } = yield* Target
    const { get, send } = yield* patched({ k: "v" })
    const { object: before } = yield* get
    for (const type of [merge, strategic]) {
      const { error, status } = yield* send(type, ["data"])
      assert.strictEqual(status, type === merge && minor < 25 ? 422 : 400, type)
      assert.strictEqual(error.status, "Failure")
      assert.include(error.message ?? "", "json: cannot unmarshal array into Go value of type")
    }
    assert.deepStrictEqual((yield* get).object, before)
    const wrong = yield* send(merge, { data: "text" })
    assert.oneOf(wrong.status, [400, 422])
    assert.deepStrictEqual((yield* get).object, before)
  }),

  statement("80", "a strategic merge patch merges the lists that have keys, and replaces the others", {
    note: "new items go before the old ones"
  }, function*() {
    const send = yield* template({
      containers: [{ name: "c", image: "i", args: ["a", "b"], env: [{ name: "X", value: "1" }] }],
      tolerations: [{ key: "old", operator: "Exists" }]
    })
    const { object, status } = yield* send({
      containers: [
        { name: "c", args: ["z"], env: [{ name: "Y", value: "2" }, { name: "X", value: "3" }] },
        { name: "d", image: "j" }
      ],
      tolerations: [{ key: "new", operator: "Exists" }]
    })
    assert.strictEqual(status, 200)
    const { containers, tolerations } = object["template"].spec
    assert.deepStrictEqual(containers.map(({ name }: { name: string }) => name), ["c", "d"])
    assert.strictEqual(containers[0].image, "i")
    assert.deepStrictEqual(containers[0].args, ["z"])
    assert.deepStrictEqual(containers[0].env, [{ name: "Y", value: "2" }, { name: "X", value: "3" }])
    assert.deepStrictEqual(tolerations, [{ key: "new", operator: "Exists" }])
    const first = yield* send({ containers: [{ name: "b", image: "k" }] })
    assert.deepStrictEqual(
      first.object["template"].spec.containers.map(({ name }: { name: string }) => name),
      ["b", "c", "d"]
    )
  }),

  statement("80a", "$patch deletes an item or replaces the list, $retainKeys and null clear keys", {}, function*() {
    const send = yield* template({
      containers: [{ name: "c", image: "i" }, { name: "d", image: "j" }],
      volumes: [{ name: "v", emptyDir: { medium: "Memory" } }],
      nodeSelector: { a: "1", b: "2" }
    })
    const deleted = yield* send({ containers: [{ name: "c", $patch: "delete" }] })
    const names = ({ template }: { readonly [key: string]: any }) =>
      template.spec.containers.map(({ name }: { name: string }) => name)
    assert.deepStrictEqual(names(deleted.object), ["d"])
    const replaced = yield* send({ containers: [{ name: "e", image: "k" }, { $patch: "replace" }] })
    assert.deepStrictEqual(names(replaced.object), ["e"])
    const retained = yield* send({
      volumes: [{ name: "v", hostPath: { path: "/tmp" }, $retainKeys: ["name", "hostPath"] }],
      nodeSelector: { $patch: "replace", c: "3" }
    })
    assert.strictEqual(retained.status, 200)
    assert.deepStrictEqual(retained.object["template"].spec.volumes, [
      { name: "v", hostPath: { path: "/tmp", type: "" } }
    ])
    assert.deepStrictEqual(retained.object["template"].spec.nodeSelector, { c: "3" })
    const cleared = yield* send({ nodeSelector: null })
    assert.notProperty(cleared.object["template"].spec, "nodeSelector")
  }),

  statement("80b", "$setElementOrder orders a list, $deleteFromPrimitiveList takes from a set", {}, function*() {
    const { namespace, request } = yield* Target
    const send = yield* template({ containers: [{ name: "c", image: "i" }, { name: "d", image: "j" }] })
    const { object, status } = yield* send({
      "$setElementOrder/containers": [{ name: "d" }, { name: "e" }, { name: "c" }],
      containers: [{ name: "e", image: "k" }]
    })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(
      object["template"].spec.containers.map(({ name }: { name: string }) => name),
      ["d", "e", "c"]
    )
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    yield* request("POST", path, {
      body: { ...configMap("a"), metadata: { name: "a", finalizers: ["example.com/a", "example.com/b"] } }
    })
    const patch = (metadata: object) => request("PATCH", `${path}/a`, { body: { metadata }, contentType: strategic })
    const added = yield* patch({ finalizers: ["example.com/c"] })
    assert.sameMembers(added.object.metadata.finalizers as Array<string>, [
      "example.com/a",
      "example.com/b",
      "example.com/c"
    ])
    const removed = yield* patch({ "$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/c"] })
    assert.deepStrictEqual(removed.object.metadata.finalizers, ["example.com/b"])
  }),

  statement("80c", "a strategic merge patch that breaks its own rules is refused", {
    note: "mostly as a 500 without a reason"
  }, function*() {
    const send = yield* template({})
    const unkeyed = yield* send({ containers: [{ image: "j" }] })
    assert.strictEqual(unkeyed.status, 500)
    assert.include(unkeyed.error.message ?? "", "does not contain declared merge key: name")
    assert.notProperty(unkeyed.error, "reason")
    const unknown = yield* send({ containers: [{ name: "c", $patch: "frobnicate" }] })
    assert.strictEqual(unknown.status, 500)
    assert.include(unknown.error.message ?? "", "unknown patch type")
    const order = yield* send({ "$setElementOrder/containers": [{ name: "c" }], containers: [{ name: "d" }] })
    assert.strictEqual(order.status, 500)
    const retain = yield* send({ volumes: [{ name: "v", emptyDir: {} }], $retainKeys: ["containers"] })
    assert.strictEqual(retain.status, 400)
    assert.strictEqual(retain.error.message, "invalid patch format of retainKeys")
  }),

  statement("80d", "custom resources have no strategic merge: 415 with what they take", {}, function*() {
    const { request } = yield* Target
    const { ns, send, widgets } = yield* widget({ l: [1] })
    const { error, status } = yield* send(strategic, { spec: { l: [2] } })
    assert.strictEqual(status, 415)
    assert.strictEqual(error.reason, "UnsupportedMediaType")
    assert.match(
      error.message ?? "",
      /accepted media types include: application\/json-patch\+json, application\/merge-patch\+json, application\/apply/
    )
    const { object } = yield* request("GET", widgets.path(ns, "a"))
    assert.deepStrictEqual(object["spec"], { l: [1] })
  }),

  statement("81", "a patch with a stale version is a Conflict; one without is tried until it fits", {}, function*() {
    const { request } = yield* Target
    const { get, send } = yield* patched({ k: "v" })
    const { object: before } = yield* get
    const at = (resourceVersion: string | undefined, data: object) => ({ metadata: { resourceVersion }, data })
    const current = yield* send(merge, at(before.metadata.resourceVersion, { k: "w" }))
    assert.strictEqual(current.status, 200)
    for (const type of [merge, strategic]) {
      const { error, status } = yield* send(type, at(before.metadata.resourceVersion, { k: "x" }))
      assert.strictEqual(status, 409)
      assert.strictEqual(error.reason, "Conflict")
      assert.strictEqual(
        error.message,
        `Operation cannot be fulfilled on configmaps "a": the object has been modified; ` +
          "please apply your changes to the latest version and try again"
      )
      assert.deepStrictEqual(error.details, { name: "a", kind: "configmaps" })
    }
    const keys = ["a", "b", "c", "d", "e"]
    const all = yield* Effect.forEach(keys, (key) => send(merge, { data: { [key]: "1" } }), {
      concurrency: "unbounded"
    })
    assert.isTrue(all.every(({ status }) => status === 200))
    const { object } = yield* get
    assert.deepStrictEqual(object["data"], { a: "1", b: "1", c: "1", d: "1", e: "1", k: "w" })
    // Custom resources, which a PUT must give a version, need none in a patch either.
    const { ns, send: patchWidget, widgets } = yield* widget({ x: 1 })
    assert.strictEqual((yield* patchWidget(merge, { spec: { x: 2 } })).status, 200)
    const { object: changed } = yield* request("GET", widgets.path(ns, "a"))
    assert.deepStrictEqual(changed["spec"], { x: 2 })
  }),

  statement("82", "a patch of what is not there is 404, and creates nothing", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({ status: true })
    const collection = `/api/v1/namespaces/${ns}/configmaps`
    for (const [contentType, body] of [[json, []], [merge, {}], [strategic, {}]] as const) {
      const { error, status } = yield* request("PATCH", `${collection}/absent`, { body, contentType })
      assert.strictEqual(status, 404, contentType)
      assert.strictEqual(error.reason, "NotFound")
      assert.strictEqual(error.message, `configmaps "absent" not found`)
      assert.deepStrictEqual(error.details, { name: "absent", kind: "configmaps" })
    }
    for (const path of [widgets.path(ns, "absent"), `${widgets.path(ns, "absent")}/status`]) {
      const { error, status } = yield* request("PATCH", path, { body: { spec: { x: 1 } }, contentType: merge })
      assert.strictEqual(status, 404)
      assert.strictEqual(error.message, `widgets.${widgets.group} "absent" not found`)
    }
    assert.strictEqual((yield* request("GET", `${collection}/absent`)).status, 404)
  }),

  statement("83", "an unknown kind of patch is 415; custom resources list those they know", {
    note: "built-in kinds only say that they do not know it"
  }, function*() {
    const { get, send } = yield* patched({ k: "v" })
    const { object: before } = yield* get
    const { send: patchWidget } = yield* widget({ x: 1 })
    for (const type of ["application/json", "text/plain"]) {
      const builtIn = yield* send(type, { data: { k: "w" } })
      assert.strictEqual(builtIn.status, 415, type)
      assert.deepStrictEqual(builtIn.body, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "415: Unsupported Media Type",
        reason: "UnsupportedMediaType",
        details: {},
        code: 415
      })
      const custom = yield* patchWidget(type, { spec: { x: 2 } })
      assert.strictEqual(custom.status, 415, type)
      assert.strictEqual(custom.error.reason, "UnsupportedMediaType")
      assert.strictEqual(
        custom.error.message,
        "the body of the request was in an unknown format - accepted media types include: " +
          "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
      )
    }
    assert.deepStrictEqual((yield* get).object, before)
    const parameters = yield* send(`${merge}; charset=utf-8`, { data: { k: "w" } })
    assert.strictEqual(parameters.status, 200, "parameters of the type are no part of it")
  })
]
