import { assert } from "@effect/vitest"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

export const create = [
  statement("8", "POST answers 201 with what the server filled in, and a watch sees it", {}, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", widgets.path(ns))
    const watching = yield* watch(widgets.path(ns), { resourceVersion })
    const { object, status } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    assert.strictEqual(status, 201)
    assert.match(object.metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.match(object.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.strictEqual(object.metadata.generation, 1)
    assert.strictEqual(object.metadata.namespace, ns)
    const [event] = yield* watching.take(1)
    assert.strictEqual(event!.type, "ADDED")
    assert.deepInclude(event!.object, { kind: "Widget" })
    const config = yield* request("POST", `/api/v1/namespaces/${ns}/configmaps`, { body: configMap("a") })
    assert.strictEqual(config.status, 201)
    assert.isUndefined(config.object.metadata.generation, "only kinds that have one")
  }),

  statement("13", "a name that is taken is 409 AlreadyExists, and says whose", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    yield* request("POST", path, { body: configMap("a") })
    const { error, status } = yield* request("POST", path, { body: configMap("a") })
    assert.strictEqual(status, 409)
    assert.strictEqual(error.reason, "AlreadyExists")
    assert.strictEqual(error.message, `configmaps "a" already exists`)
    assert.deepStrictEqual(error.details, { name: "a", kind: "configmaps" })
    assert.strictEqual(error.code, 409)
  })
]
