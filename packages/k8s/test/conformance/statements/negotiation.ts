/** Content types and tables: statements 134 and 135. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
const partial = (kind: string) => `application/json;as=${kind};v=v1;g=meta.k8s.io`

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels: { app: "x" } },
  ...fields
})

const names = ({ object }: Answer): ReadonlyArray<string> =>
  object["columnDefinitions"].map(({ name }: { readonly name: string }) => name)

export const negotiation = [
  statement("134a", "what nobody can read is refused with 406, before anything is done", {
    note: "built-in resources list them since some release after 1.20, those of a list with the forms of its watches"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const headers = { accept: "text/html" }
    const types = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    const streams = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    const unavailable = (types: string) =>
      `406: Not Acceptable${minor < 34 ? "" : `\n\nAvailable representations: ${types}`}`
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const builtIn = yield* request("GET", path, { headers })
    assert.strictEqual(builtIn.status, 406)
    assert.deepInclude(builtIn.error, {
      code: 406,
      reason: "NotAcceptable",
      message: unavailable(types + streams),
      details: {}
    })
    const one = yield* request("GET", `${path}/a`, { headers })
    assert.deepStrictEqual([one.status, one.error.message], [406, unavailable(types)])
    const version = yield* request("GET", "/version", { headers })
    assert.deepStrictEqual([version.status, version.error.message], [406, unavailable("application/json")])
    const custom = yield* request("GET", widgets.path(ns), { headers })
    assert.strictEqual(custom.status, 406)
    assert.strictEqual(
      custom.error.message,
      `only the following media types are accepted: ${types}`
    )
    assert.strictEqual((yield* request("POST", path, { headers, body: configMap("a") })).status, 406)
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
  }),

  statement("134b", "the first form of the Accept header that can be given is given", {
    note: "application/* alone is understood by custom resources only"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const widgets = yield* kind()
    yield* request("POST", path, { body: configMap("a") })
    const kindOf = function*(accept: string) {
      const { headers, object, status } = yield* request("GET", `${path}/a`, { headers: { accept } })
      assert.strictEqual(status, 200, accept)
      assert.match(headers["content-type"]!, /^application\/json/)
      return object.kind
    }
    assert.strictEqual(yield* kindOf("*/*"), "ConfigMap")
    assert.strictEqual(yield* kindOf("application/*, application/json"), "ConfigMap")
    const headers = { accept: "application/*" }
    assert.strictEqual((yield* request("GET", path, { headers })).status, 406)
    assert.strictEqual((yield* request("GET", widgets.path(ns), { headers })).status, 200)
    assert.strictEqual(yield* kindOf(`text/html, ${table}, application/json`), "Table")
    assert.strictEqual(yield* kindOf(`application/json;as=Nonsense;v=v1;g=meta.k8s.io, application/json`), "ConfigMap")
    assert.strictEqual(
      yield* kindOf(`${table.replace("v=v1", "v=v9")}, ${partial("PartialObjectMetadata")}`),
      "PartialObjectMetadata"
    )
  }),

  statement("134c", "PartialObjectMetadata is an object's metadata", {
    note: "an empty PartialObjectMetadataList has items null"
  }, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const { object } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const accept = partial("PartialObjectMetadata")
    const single = yield* request("GET", widgets.path(ns, "a"), { headers: { accept } })
    const metadataOnly = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata }
    assert.deepStrictEqual(single.object as object, metadataOnly)
    const list = yield* request("GET", widgets.path(ns), { headers: { accept: partial("PartialObjectMetadataList") } })
    assert.deepInclude(list.object, { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" })
    assert.deepStrictEqual(list.object.items[0].metadata, object.metadata)
    assert.notProperty(list.object.items[0], "spec")
    const empty = yield* request("GET", widgets.path(yield* namespace), {
      headers: { accept: partial("PartialObjectMetadataList") }
    })
    assert.isNull(empty.object.items)
    const { resourceVersion } = list.object.metadata
    const watching = yield* watch(widgets.path(ns), { resourceVersion }, { accept })
    const { object: b } = yield* request("POST", widgets.path(ns), { body: widgets.object("b") })
    const [event] = yield* watching.take(1)
    assert.deepStrictEqual(event!.object as object, { ...metadataOnly, metadata: b.metadata })
    const wrong = yield* request("GET", `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`, { headers: { accept } })
    assert.strictEqual(wrong.status, 406)
    assert.strictEqual(
      wrong.error.message,
      "you requested PartialObjectMetadata, but the requested object is a list (*coordination.LeaseList)"
    )
  }),

  statement("134d", "YAML is written and read, and errors are written as asked", {
    note: "the in-memory server called directly has no encodings, and is asked for values only"
  }, function*() {
    const { namespace, request, server } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const headers = { accept: "application/yaml" }
    const posted = yield* request("POST", path, {
      contentType: "application/yaml",
      body: configMap("a", { data: { k: "v" } })
    })
    assert.strictEqual(posted.status, 201)
    assert.deepStrictEqual(posted.object.data, { k: "v" })
    const read = yield* request("GET", `${path}/a`, { headers })
    assert.strictEqual(read.status, 200)
    const missing = yield* request("GET", `${path}/b`, { headers })
    assert.strictEqual(missing.status, 404)
    const watched = yield* request("GET", path, { query: { watch: "true" }, headers })
    assert.strictEqual(watched.status, 406, "a watch is not to be had in YAML")
    if (server === "memory") return
    assert.match(read.headers["content-type"]!, /^application\/yaml/)
    assert.match(String(read.body), /^apiVersion: v1\ndata:\n {2}k: v\nkind: ConfigMap\nmetadata:\n/)
    assert.match(missing.headers["content-type"]!, /^application\/yaml/)
    assert.match(
      String(missing.body),
      /^apiVersion: v1\ncode: 404\ndetails:\n {2}kind: configmaps\n {2}name: b\nkind: Status\n/
    )
  }),

  statement("134e", "a body in an unknown type is refused with 415", {
    note: "the in-memory server called directly is given values, not bytes; patches have statement 83"
  }, function*() {
    const { kind, namespace, request, server } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const given = { contentType: "text/plain", body: configMap("a") }
    if (server !== "memory") {
      const { error, status } = yield* request("POST", path, given)
      assert.strictEqual(status, 415)
      assert.strictEqual(error.reason, "UnsupportedMediaType")
      assert.strictEqual(
        error.message,
        "the body of the request was in an unknown format - accepted media types include: " +
          "application/json, application/yaml, application/vnd.kubernetes.protobuf"
      )
      const put = yield* request("PUT", `${path}/a`, given)
      assert.strictEqual(put.status, 415)
      const custom = yield* request("POST", widgets.path(ns), { contentType: "text/plain", body: widgets.object("a") })
      assert.strictEqual(custom.status, 415)
    }
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
    const parameters = yield* request("POST", path, {
      contentType: "application/json; charset=utf-8",
      body: configMap("a")
    })
    assert.strictEqual(parameters.status, 201)
    assert.strictEqual(parameters.object.metadata.name, "a")
  }),

  statement("134f", "answers above 128 KiB are compressed for those who accept it", {
    note: "the in-memory server called directly has no bytes to compress"
  }, function*() {
    const { namespace, request } = yield* Target
    const { server } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    yield* request("POST", path, { body: configMap("small") })
    yield* request("POST", path, { body: configMap("big", { data: { k: "x".repeat(200_000) } }) })
    const read = (name: string, more: object = {}) =>
      request("GET", `${path}/${name}`, { headers: { accept: "application/yaml", ...more } })
    const gzip = { "accept-encoding": "gzip" }
    const zipped = yield* read("big", gzip)
    assert.strictEqual(zipped.status, 200)
    if (server !== "memory") {
      assert.strictEqual(zipped.headers["content-encoding"], "gzip")
      assert.isBelow(String(zipped.body).length, 100_000)
    }
    assert.isUndefined((yield* read("big")).headers["content-encoding"])
    assert.isUndefined((yield* read("small", gzip)).headers["content-encoding"])
  }),

  statement("135a", "rows of a table hold their objects' metadata, or what includeObject says", {
    note: "None gives object null"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const { object } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const headers = { accept: table }
    const rows = (query: Readonly<Record<string, string>>) => request("GET", widgets.path(ns), { headers, query })
    const plain = yield* rows({})
    assert.strictEqual(plain.status, 200)
    assert.deepInclude(plain.object, { kind: "Table", apiVersion: "meta.k8s.io/v1" })
    assert.match(plain.object.metadata.resourceVersion!, /^\d+$/)
    assert.lengthOf(plain.object.rows, 1)
    assert.strictEqual(plain.object.rows[0].cells[0], "a")
    const metadataOnly = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata }
    assert.deepStrictEqual(plain.object.rows[0].object, metadataOnly)
    assert.deepStrictEqual((yield* rows({ includeObject: "Metadata" })).object.rows[0].object, metadataOnly)
    assert.deepStrictEqual((yield* rows({ includeObject: "Object" })).object.rows[0].object, object)
    assert.isNull((yield* rows({ includeObject: "None" })).object.rows[0].object)
    const bad = yield* rows({ includeObject: "Some" })
    assert.strictEqual(bad.status, 400)
    assert.match(bad.error.message!, /^Unable to convert to Table as requested: includeObject: Invalid value: /)
    assert.deepStrictEqual((yield* request("GET", widgets.path(yield* namespace), { headers })).object.rows, [])
  }),

  statement("135b", "built-in kinds have columns of their own", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const headers = { accept: table }
    const configMaps = `/api/v1/namespaces/${ns}/configmaps`
    yield* request("POST", configMaps, { body: configMap("a", { data: { k: "v", l: "w" } }) })
    const single = yield* request("GET", `${configMaps}/a`, { headers })
    assert.deepStrictEqual(names(single), ["Name", "Data", "Age"])
    assert.deepStrictEqual(single.object.rows[0].cells.slice(0, 2), ["a", 2])
    assert.match(single.object.rows[0].cells[2], /^\d+s$/)
    assert.strictEqual(single.object.metadata.resourceVersion, single.object.rows[0].object.metadata.resourceVersion)
    const deployments = yield* request("GET", `/apis/apps/v1/namespaces/${ns}/deployments`, { headers })
    assert.deepStrictEqual(names(deployments), [
      "Name",
      "Ready",
      "Up-to-date",
      "Available",
      "Age",
      "Containers",
      "Images",
      "Selector"
    ])
    assert.deepStrictEqual(
      deployments.object.columnDefinitions.map(({ priority }: { readonly priority: number }) => priority),
      [0, 0, 0, 0, 0, 1, 1, 1]
    )
  }),

  statement("135c", "a watch in tables says once what its columns are", {}, function*() {
    const { namespace, request, watch } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", path)
    const watching = yield* watch(path, { resourceVersion, labelSelector: "app=x" }, { accept: table })
    yield* request("POST", path, { body: configMap("a") })
    yield* request("DELETE", `${path}/a`)
    const [added, deleted] = (yield* watching.take(2)) as ReadonlyArray<{ readonly type: string; readonly object: any }>
    assert.strictEqual(added!.type, "ADDED")
    assert.strictEqual(added!.object.kind, "Table")
    assert.lengthOf(added!.object.columnDefinitions, 3)
    assert.strictEqual(added!.object.rows[0].cells[0], "a")
    assert.strictEqual(added!.object.rows[0].object.kind, "PartialObjectMetadata")
    assert.strictEqual(deleted!.type, "DELETED")
    assert.isNull(deleted!.object.columnDefinitions)
    assert.lengthOf(deleted!.object.rows, 1)
  }),

  statement("135f", "what is not stored is no Table: reviews, tokens, bindings", {}, function*() {
    const { minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const message = "only the following media types are accepted: application/json, application/yaml, " +
      "application/vnd.kubernetes.protobuf"
    const body = { spec: { nonResourceAttributes: { path: "/", verb: "get" } } }
    const refused = (path: string, sent: object) =>
      Effect.gen(function*() {
        const { error, status } = yield* request("POST", path, { headers: { accept: table }, body: sent })
        assert.strictEqual(status, 406)
        assert.include(error.message!, message.slice(0, 60))
        assert.strictEqual(error.reason, "NotAcceptable")
      })
    const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    yield* refused(reviews, { kind: "SelfSubjectAccessReview", apiVersion: "authorization.k8s.io/v1", ...body })
    yield* refused("/apis/authentication.k8s.io/v1/tokenreviews", {
      kind: "TokenReview",
      apiVersion: "authentication.k8s.io/v1",
      spec: { token: "x" }
    })
    const pods = `/api/v1/namespaces/${ns}/pods`
    yield* request("POST", pods, {
      body: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a" },
        spec: { containers: [{ name: "c", image: "x" }] }
      }
    })
    yield* refused(`${pods}/a/binding`, { target: { kind: "Node", name: "n" } })
    yield* refused(`${pods}/a/eviction`, { metadata: { name: "a" } })
    const other = yield* request("POST", reviews, {
      headers: { accept: `${table}, application/json` },
      body: { kind: "SelfSubjectAccessReview", apiVersion: "authorization.k8s.io/v1", ...body }
    })
    assert.strictEqual(other.status, 201)
    assert.strictEqual(other.object.kind, "SelfSubjectAccessReview", "the next form that the client takes")
    if (minor < 34) return
    const asked = yield* request("GET", `${pods}/a/status`, { headers: { accept: table } })
    assert.strictEqual(asked.object.kind, "Table", "a status is one")
  }),

  statement("135d", "a Status is never a table", {}, function*() {
    const { namespace, request } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const headers = { accept: table }
    const created = yield* request("POST", path, { headers, body: configMap("a") })
    assert.strictEqual(created.status, 201)
    assert.strictEqual(created.object.kind, "Table", "what was created is one, too")
    const missing = yield* request("GET", `${path}/b`, { headers })
    assert.deepInclude(missing.error, { kind: "Status", code: 404, reason: "NotFound" })
    const gone = yield* request("DELETE", `${path}/a`, { headers })
    assert.strictEqual(gone.status, 200)
    assert.deepInclude(gone.error, { kind: "Status", status: "Success" })
  })
]
