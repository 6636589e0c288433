/** Dry run, unknown fields, and warnings about versions: statements 95 to 97. */
import { assert } from "@effect/vitest"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

/** The object of an event, whichever it is. */
const of = (event: WireEvent | undefined) => event!.object as KubeObject & Readonly<Record<string, any>>

const dryRun = { dryRun: "All" }

export const dryrun = [
  statement("95a", "a dry-run create answers as if it had created, and stores nothing", {
    note: "the answer has uid and creationTimestamp, but no resourceVersion"
  }, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", widgets.path(ns))
    const watching = yield* watch(widgets.path(ns), { resourceVersion })
    const { object, status } = yield* request("POST", widgets.path(ns), { query: dryRun, body: widgets.object("a") })
    assert.strictEqual(status, 201)
    assert.match(object.metadata.uid, /^[0-9a-f-]{36}$/)
    assert.match(object.metadata.creationTimestamp, /Z$/)
    assert.strictEqual(object.metadata.generation, 1)
    assert.isUndefined(object.metadata.resourceVersion)
    const generated = yield* request("POST", widgets.path(ns), {
      query: dryRun,
      body: { ...widgets.object(""), metadata: { generateName: "g-" } }
    })
    assert.match(generated.object.metadata.name, /^g-[a-z0-9]{5}$/)
    assert.strictEqual((yield* request("GET", widgets.path(ns, "a"))).status, 404)
    yield* request("POST", widgets.path(ns), { body: widgets.object("b") })
    const [event] = yield* watching.take(1)
    assert.strictEqual(of(event).metadata.name, "b", "the first event is that of the first real create")
  }),

  statement("95b", "a dry-run update or patch answers with the new content and changes nothing", {
    note: "the answer keeps the stored resourceVersion"
  }, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({ status: true })
    const path = widgets.path(ns, "a")
    const { object: stored } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const { resourceVersion } = stored.metadata
    const watching = yield* watch(widgets.path(ns), { resourceVersion })
    const put = yield* request("PUT", path, { query: dryRun, body: { ...stored, spec: { x: 2 } } })
    assert.strictEqual(put.status, 200)
    assert.strictEqual(put.object.spec.x, 2)
    assert.strictEqual(put.object.metadata.generation, 2)
    assert.strictEqual(put.object.metadata.resourceVersion, resourceVersion)
    const patched = yield* request("PATCH", path, {
      query: dryRun,
      contentType: "application/merge-patch+json",
      body: { spec: { x: 3 } }
    })
    assert.strictEqual(patched.object.spec.x, 3)
    assert.strictEqual(patched.object.metadata.resourceVersion, resourceVersion)
    const status = yield* request("PUT", `${path}/status`, { query: dryRun, body: { ...stored, status: { n: 1 } } })
    assert.deepStrictEqual(status.object.status, { n: 1 })
    assert.deepStrictEqual((yield* request("GET", path)).object, stored)
    yield* request("PUT", path, { body: { ...stored, spec: { x: 9 } } })
    const [event] = yield* watching.take(1)
    assert.deepInclude(of(event), { spec: { x: 9 } })
  }),

  statement("95c", "a dry-run delete answers as if it had deleted", {}, function*() {
    const { namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const { object: plain } = yield* request("POST", path, { body: configMap("a") })
    yield* request("POST", path, { body: configMap("b", { metadata: { name: "b", finalizers: ["e.com/f"] } }) })
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", path)
    // A controller puts a ConfigMap of its own into every namespace.
    const ours = { fieldSelector: "metadata.name!=kube-root-ca.crt" }
    const watching = yield* watch(path, { resourceVersion, ...ours })
    const gone = yield* request("DELETE", `${path}/a`, { query: dryRun })
    assert.strictEqual(gone.status, 200)
    assert.deepInclude(gone.error, { kind: "Status", status: "Success" })
    assert.strictEqual(gone.error.details?.uid, plain.metadata.uid)
    const asked = yield* request("DELETE", `${path}/b`, {
      body: { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["All"] }
    })
    assert.match(asked.object.metadata.deletionTimestamp!, /Z$/)
    assert.strictEqual((yield* request("DELETE", path, { query: dryRun })).status, 200)
    const list = yield* request("GET", path, { query: ours })
    assert.lengthOf(list.object.items, 2)
    assert.isUndefined(list.object.items[1].metadata.deletionTimestamp)
    yield* request("DELETE", `${path}/a`)
    assert.deepEqual((yield* watching.take(1)).map(({ type }) => type), ["DELETED"])
  }),

  statement("95d", "a dry run is judged like the real thing", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = widgets.path(ns)
    const create = (name: string, fields?: Readonly<Record<string, unknown>>, at = path) =>
      request("POST", at, { query: dryRun, body: widgets.object(name, fields) })
    const { object } = yield* request("POST", path, { body: widgets.object("a") })
    assert.deepInclude((yield* create("b", { spec: { x: "no" } })).error, { code: 422, reason: "Invalid" })
    assert.deepInclude((yield* create("B")).error, { code: 422, reason: "Invalid" })
    assert.deepInclude((yield* create("a")).error, { code: 409, reason: "AlreadyExists" })
    assert.deepInclude((yield* create("b", {}, widgets.path("nowhere"))).error, { code: 404, reason: "NotFound" })
    const body = { ...object, metadata: { ...object.metadata, resourceVersion: "1" } }
    const stale = yield* request("PUT", widgets.path(ns, "a"), { query: dryRun, body })
    assert.deepInclude(stale.error, { code: 409, reason: "Conflict" })
    const missing = yield* request("DELETE", widgets.path(ns, "b"), { query: dryRun })
    assert.strictEqual(missing.status, 404)
  }),

  statement("95e", "dryRun knows no other value than All", {
    note: "1.20 prints the values as Go does, []string{\"x\"}"
  }, function*() {
    const { minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const value = minor >= 28 ? `["x"]` : `[]string{"x"}`
    const text = (options: string) =>
      `${options}.meta.k8s.io "" is invalid: dryRun: Unsupported value: ${value}: supported values: "All"`
    const { error, status } = yield* request("POST", path, { query: { dryRun: "x" }, body: configMap("a") })
    assert.strictEqual(status, 422)
    assert.strictEqual(error.message, text("CreateOptions"))
    assert.strictEqual(error.details?.causes?.[0]?.field, "dryRun")
    assert.strictEqual(error.details?.causes?.[0]?.reason, "FieldValueNotSupported")
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
    yield* request("POST", path, { body: configMap("a") })
    const put = yield* request("PUT", `${path}/a`, { query: { dryRun: "x" }, body: configMap("a") })
    assert.strictEqual(put.error.message, text("UpdateOptions"))
    const patch = yield* request("PATCH", `${path}/a`, {
      query: { dryRun: "x" },
      contentType: "application/merge-patch+json",
      body: { data: { k: "v" } }
    })
    assert.strictEqual(patch.error.message, text("PatchOptions"))
    const gone = yield* request("DELETE", `${path}/a`, {
      body: { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["x"] }
    })
    assert.strictEqual(gone.error.message, text("DeleteOptions"))
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 200)
  }),

  statement("96a", "unknown fields are dropped", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const config = yield* request("POST", `/api/v1/namespaces/${ns}/configmaps`, {
      query: { fieldValidation: "Ignore" },
      body: configMap("a", { data: { k: "v" }, nonsense: 1, metadata: { name: "a", extra: true } })
    })
    assert.strictEqual(config.status, 201)
    assert.isUndefined(config.headers["warning"])
    assert.notProperty(config.object, "nonsense")
    assert.notProperty(config.object.metadata, "extra")
    const custom = yield* request("POST", widgets.path(ns), {
      query: { fieldValidation: "Ignore" },
      body: widgets.object("a", { spec: { x: 1, y: 2 }, more: {} })
    })
    assert.strictEqual(custom.status, 201)
    assert.isUndefined(custom.headers["warning"])
    assert.deepStrictEqual(custom.object.spec, { x: 1 })
    assert.notProperty(custom.object, "more")
    assert.deepStrictEqual((yield* request("GET", widgets.path(ns, "a"))).object.spec, { x: 1 })
  }),

  statement("96b", "unknown fields cause warnings by default", { since: 25 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const config = yield* request("POST", `/api/v1/namespaces/${ns}/configmaps`, {
      body: configMap("a", { nonsense: 1 })
    })
    assert.strictEqual(config.status, 201)
    assert.strictEqual(config.headers["warning"], `299 - "unknown field \\"nonsense\\""`)
    const custom = yield* request("POST", widgets.path(ns), {
      query: { fieldValidation: "Warn" },
      body: widgets.object("a", { spec: { x: 1, y: 2, z: 3 } })
    })
    assert.strictEqual(
      custom.headers["warning"],
      `299 - "unknown field \\"spec.y\\"", 299 - "unknown field \\"spec.z\\""`
    )
    const { headers, object } = yield* request("PATCH", widgets.path(ns, "a"), {
      contentType: "application/merge-patch+json",
      body: { spec: { w: 4 } }
    })
    assert.strictEqual(headers["warning"], `299 - "unknown field \\"spec.w\\""`)
    assert.deepStrictEqual(object.spec, { x: 1 })
  }),

  statement("96c", "unknown fields are an error under Strict", {
    since: 25,
    note: "a PATCH is refused with 422 on the field `patch`"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const strict = { fieldValidation: "Strict" }
    const config = yield* request("POST", `/api/v1/namespaces/${ns}/configmaps`, {
      query: strict,
      body: configMap("a", { nonsense: 1 })
    })
    assert.strictEqual(config.status, 400)
    assert.strictEqual(
      config.error.message,
      `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "nonsense"`
    )
    const custom = yield* request("POST", widgets.path(ns), {
      query: strict,
      body: widgets.object("a", { spec: { x: 1, y: 2 } })
    })
    assert.strictEqual(custom.status, 400)
    assert.strictEqual(custom.error.reason, "BadRequest")
    assert.match(custom.error.message!, /strict decoding error: unknown field "spec\.y"$/)
    yield* request("POST", widgets.path(ns), { query: strict, body: widgets.object("a") })
    const patch = yield* request("PATCH", widgets.path(ns, "a"), {
      query: strict,
      contentType: "application/merge-patch+json",
      body: { spec: { y: 2 } }
    })
    assert.strictEqual(patch.status, 422)
    assert.match(patch.error.message!, /patch: Invalid value: .*strict decoding error: unknown field "spec\.y"$/)
  }),

  statement("96d", "fieldValidation knows three values", { since: 25 }, function*() {
    const { namespace, request } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const { error, status } = yield* request("POST", path, {
      query: { fieldValidation: "Loose" },
      body: configMap("a")
    })
    assert.strictEqual(status, 422)
    assert.strictEqual(
      error.message,
      `CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": ` +
        `supported values: "", "Ignore", "Strict", "Warn"`
    )
    assert.strictEqual(error.details?.causes?.[0]?.field, "fieldValidation")
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
  }),

  statement("97", "a deprecated version warns with every answer", {
    note: "deprecationWarning replaces the text"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const old = yield* kind({ version: { deprecated: true } })
    const text = `299 - "${old.group}/v1 Widget is deprecated"`
    const created = yield* request("POST", old.path(ns), { body: old.object("a") })
    assert.strictEqual(created.status, 201)
    assert.strictEqual(created.headers["warning"], text)
    assert.strictEqual((yield* request("GET", old.path(ns, "a"))).headers["warning"], text)
    assert.strictEqual((yield* request("GET", old.path(ns))).headers["warning"], text)
    assert.strictEqual((yield* request("GET", old.path(ns, "b"))).headers["warning"], text, "also with a refusal")
    const own = yield* kind({ version: { deprecated: true, deprecationWarning: `use "gadgets"` } })
    assert.strictEqual((yield* request("GET", own.path(ns))).headers["warning"], `299 - "use \\"gadgets\\""`)
    const fresh = yield* kind()
    assert.isUndefined((yield* request("GET", fresh.path(ns))).headers["warning"])
  })
]
