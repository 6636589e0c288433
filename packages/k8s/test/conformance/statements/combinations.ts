/** What features do that hold each alone, where they meet. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { contentType, merge as mergeType, owned, owners } from "../Applying.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"
import { allow, patching, scene } from "../WebhookScene.ts"

const merge = Effect.fnUntraced(function*(path: string, body: unknown, fieldManager = "merger") {
  const { request } = yield* Target
  return yield* request("PATCH", path, { body, contentType: mergeType, query: { fieldManager } })
})

const apply = Effect.fnUntraced(function*(path: string, body: unknown, fieldManager: string, query: object = {}) {
  const { request } = yield* Target
  return yield* request("PATCH", path, { body, contentType, query: { fieldManager, ...query } })
})

const pod = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i:1" }], ...spec }
})

const preserving = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

export const combinations = [
  statement("5p", "the OpenAPI paths of a custom kind are those its own builder makes", {
    since: 35,
    note: "the in-memory server called directly has no documents: they are its HTTP side's"
  }, function*() {
    const { kind, request, server, until } = yield* Target
    if (server === "memory") return
    const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" }
    const { group } = yield* kind({ schema: preserving, version: { subresources: { scale } } })
    const { object } = yield* until(
      request("GET", `/openapi/v3/apis/${group}/v1`),
      ({ object, status }) => status === 200 && object["paths"] !== undefined
    )
    const root = `/apis/${group}/v1`
    const path = (of: string) => object["paths"][`${root}${of}`]
    const names = ({ parameters = [] }: { readonly parameters?: ReadonlyArray<{ readonly name: string }> }) =>
      parameters.map(({ name }) => name)
    const list = [
      "allowWatchBookmarks",
      "continue",
      "fieldSelector",
      "labelSelector",
      "limit",
      "resourceVersion",
      "resourceVersionMatch",
      "sendInitialEvents",
      "timeoutSeconds",
      "watch"
    ]
    const everywhere = path("/widgets")
    // What all operations of a path have in common, the path lists.
    assert.deepStrictEqual(names(everywhere), [...list, "pretty"].sort())
    assert.deepStrictEqual(names(everywhere.get), [])
    const collection = path("/namespaces/{namespace}/widgets")
    assert.deepStrictEqual(names(collection), ["namespace", "pretty"])
    assert.deepStrictEqual(names(collection.delete), list)
    assert.notProperty(collection.delete, "requestBody")
    const one = path("/namespaces/{namespace}/widgets/{name}")
    assert.deepStrictEqual(names(one), ["name", "namespace", "pretty"])
    assert.deepStrictEqual(names(one.get), ["resourceVersion"])
    assert.deepStrictEqual(Object.keys(one.patch.responses), ["200", "401"])
    const scaled = path("/namespaces/{namespace}/widgets/{name}/scale")
    assert.deepStrictEqual(scaled.get["x-kubernetes-group-version-kind"], { group, kind: "Widget", version: "v1" })
    const builtin = (yield* request("GET", "/openapi/v3/apis/apps/v1")).object["paths"]
    assert.deepStrictEqual(Object.keys(builtin["/apis/apps/v1/deployments"].get.responses["200"].content).sort(), [
      "application/json",
      "application/json;stream=watch",
      "application/vnd.kubernetes.protobuf",
      "application/vnd.kubernetes.protobuf;stream=watch",
      "application/yaml"
    ])
  }),

  statement("45b", "through the Scale of a custom resource an apply changes owners, but never the replicas", {
    since: 35,
    note: "the result of a merge is converted like a custom resource, which fails"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({
      schema: preserving,
      version: {
        subresources: { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } }
      }
    })
    const path = widgets.path(ns, "a")
    yield* apply(path, widgets.object("a", { spec: { replicas: 2 } }), "owner")
    const scale = (replicas: number) => ({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a", namespace: ns },
      spec: { replicas }
    })
    const conflict = yield* apply(`${path}/scale`, scale(3), "scaler")
    assert.strictEqual(conflict.error.message, `Apply failed with 1 conflict: conflict with "owner": .spec.replicas`)
    for (const query of [{ force: "true" }, { force: "true", dryRun: "All" }]) {
      const refused = yield* apply(`${path}/scale`, scale(3), "scaler", query)
      assert.strictEqual(refused.status, 500)
      assert.strictEqual(
        refused.error.message,
        `failed to convert new object (${ns}/a; autoscaling/v1, Kind=Scale) to proper version: request to convert CR ` +
          "to an invalid group/version: autoscaling/v1"
      )
    }
    assert.strictEqual((yield* apply(`${path}/scale`, scale(2), "scaler")).status, 200)
    const now = yield* request("GET", path)
    assert.deepStrictEqual(now.object["spec"], { replicas: 2 })
    assert.deepStrictEqual(owned(now, "scaler"), { "f:spec": { "f:replicas": {} } })
  }),

  statement("46b", "who resizes a Pod, or adds to it, owns all that was sent, whether it is kept or not", {
    since: 35,
    note: "these endpoints reset no fields for managedFields"
  }, function*() {
    const { namespace, request } = yield* Target
    const pods = `/api/v1/namespaces/${yield* namespace}/pods`
    yield* request("POST", pods, { body: pod("a"), query: { fieldManager: "maker" } })
    const send = (subresource: string, body: object) =>
      request("PATCH", `${pods}/a/${subresource}`, {
        body,
        contentType: "application/strategic-merge-patch+json",
        query: { fieldManager: subresource }
      })
    const containers = [{ name: "c", image: "other" }]
    for (const subresource of ["resize", "ephemeralcontainers"]) {
      const { object, status } = yield* send(subresource, { spec: { containers } })
      assert.strictEqual(status, 200)
      assert.strictEqual(object["spec"].containers[0].image, "i:1")
    }
    const now = yield* request("GET", `${pods}/a`)
    const image = { "f:spec": { "f:containers": { "k:{\"name\":\"c\"}": { "f:image": {} } } } }
    assert.deepStrictEqual(owned(now, "ephemeralcontainers", "Update"), image)
    assert.isUndefined(owned(now, "resize", "Update"))
  }),

  statement("89k", "who writes metadata through the status of an APIService owns none of it", {
    since: 35
  }, function*() {
    const { request, unique } = yield* Target
    const group = `${unique("g")}.example.com`
    const all = "/apis/apiregistration.k8s.io/v1/apiservices"
    const path = `${all}/v1.${group}`
    yield* request("POST", all, {
      body: {
        apiVersion: "apiregistration.k8s.io/v1",
        kind: "APIService",
        metadata: { name: `v1.${group}` },
        spec: {
          group,
          version: "v1",
          groupPriorityMinimum: 10,
          versionPriority: 10,
          insecureSkipTLSVerify: true,
          service: { name: "none", namespace: "default" }
        }
      },
      query: { fieldManager: "maker" }
    })
    const written = yield* merge(`${path}/status`, { metadata: { labels: { a: "b" } } }, "status")
    yield* request("DELETE", path)
    assert.strictEqual(written.status, 200)
    assert.isUndefined(owned(written, "status", "Update"))
  }),

  statement("71b", "a watch from before a definition changed is too old, since its kind got a new store", {
    since: 35
  }, function*() {
    const { kind, namespace, request, until, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const all = widgets.path(ns)
    const before = yield* request("GET", all)
    const { resourceVersion } = before.object.metadata as { readonly resourceVersion: string }
    const open = yield* watch(all, { resourceVersion })
    const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${widgets.group}`
    yield* request("PATCH", definition, {
      contentType: "application/json-patch+json",
      body: [{ op: "add", path: "/spec/versions/0/additionalPrinterColumns", value: [] }, {
        op: "add",
        path: "/spec/versions/0/schema/openAPIV3Schema/properties/more",
        value: { type: "string" }
      }]
    })
    yield* open.ended
    yield* until(
      request("POST", all, {
        query: { dryRun: "All", fieldValidation: "Strict" },
        body: widgets.object("a", { more: "" })
      }),
      ({ status }) => status === 201
    )
    yield* until(request("GET", all, { query: { resourceVersion: "0" } }), ({ status }) => status === 200)
    const late = yield* watch(all, { resourceVersion })
    const [event] = yield* late.take(1)
    assert.strictEqual(event?.type, "ERROR")
    assert.deepInclude(event?.object, { code: 410, reason: "Expired" })
    yield* late.ended
  }),

  statement("41c", "a patch that names another version of its kind is read by the schema of that", {
    since: 35,
    note: "and stored in its own: of the object nothing changes, of a status what was sent"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const spec = { type: "object", properties: { x: { type: "integer" } } }
    const openAPIV3Schema = { type: "object", properties: { spec, status: preserving } }
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema },
      subresources: { status: {} }
    })
    const widgets = yield* kind({ definition: { versions: [version("v1", true), version("v2", false)] } })
    const path = widgets.path(ns, "a")
    yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    yield* merge(`${path}/status`, { status: { y: 1 } })
    for (const subresource of ["", "/status"]) {
      const patched = yield* merge(`${path}${subresource}`, { apiVersion: `${widgets.group}/v2` })
      assert.isUndefined(patched.headers["warning"])
    }
    const { object } = yield* request("GET", path)
    assert.deepStrictEqual([object["spec"], object["status"]], [{ x: 1 }, { y: 1 }])
    const nameless = yield* request("POST", widgets.path(ns), { body: { ...widgets.object("b"), apiVersion: null } })
    assert.strictEqual(
      nameless.error.message,
      `Widget in version "" cannot be handled as a Widget: .apiVersion accessor error: <nil> is of the type <nil>, ` +
        "expected string"
    )
  }),

  statement("97b", "a DaemonSet warns of its template again when that changes, a Deployment with every change", {
    since: 35
  }, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const env = ["1", "2"].map((value) => ({ name: "A", value }))
    const warned = (image: string, minReadySeconds: number) => (plural: string, kind: string) =>
      Effect.map(
        request("PATCH", `/apis/apps/v1/namespaces/${ns}/${plural}/a`, {
          body: { spec: { minReadySeconds, template: { spec: { containers: [{ name: "c", image, env }] } } } },
          contentType: mergeType
        }),
        (
          { headers, object }
        ) => [object.kind === kind, headers["warning"]?.includes("hides previous definition") === true]
      )
    for (
      const [plural, kind, again] of [["daemonsets", "DaemonSet", false], ["deployments", "Deployment", true]] as const
    ) {
      yield* request("POST", `/apis/apps/v1/namespaces/${ns}/${plural}`, {
        body: {
          apiVersion: "apps/v1",
          kind,
          metadata: { name: "a" },
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i", env }] } }
          }
        }
      })
      assert.deepStrictEqual(yield* warned("i", 3)(plural, kind), [true, again])
      assert.deepStrictEqual(yield* warned("j", 3)(plural, kind), [true, true])
    }
  }),

  statement("89l", "who owned what is forgotten if the object cannot be had in another version that has owners", {
    since: 35,
    note: "a list may have duplicates in the version of the request, not in others; an apply then fails"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const text = { type: "string" }
    const version = (name: string, type: string) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: {
              type: "object",
              properties: { list: { type: "array", "x-kubernetes-list-type": type, items: text }, s: text }
            }
          }
        }
      }
    })
    const widgets = yield* kind({ definition: { versions: [version("v1", "set"), version("v2", "atomic")] } })
    const path = (version: string) => widgets.path(ns, "a").replace("/v1/", `/${version}/`)
    const object = (version: string, spec: object) => ({
      apiVersion: `${widgets.group}/${version}`,
      kind: "Widget",
      metadata: { name: "a" },
      spec
    })
    yield* apply(path("v1"), object("v1", { s: "a" }), "one")
    const refused = yield* apply(path("v2"), object("v2", { list: ["x", "x"] }), "two")
    assert.strictEqual(refused.status, 500)
    assert.strictEqual(
      refused.error.message,
      `failed to convert new object: .spec.list: duplicate entries for key [="x"]`
    )
    const merged = yield* merge(path("v2"), { spec: { list: ["x", "x"] } })
    assert.strictEqual(merged.status, 200)
    assert.isUndefined(merged.object.metadata.managedFields)
    assert.deepStrictEqual((yield* request("GET", path("v1"))).object["spec"], { s: "a", list: ["x", "x"] })
  }),

  statement("151x", "a Service keeps the policy of its address families if an update does not name one", {
    since: 35,
    note: "a headless Service without a selector has both families, whichever the cluster has"
  }, function*() {
    const { namespace, request } = yield* Target
    const services = `/api/v1/namespaces/${yield* namespace}/services`
    const service = (name: string, spec: object = {}) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name },
      spec: { clusterIP: "None", ports: [{ port: 80 }], ...spec }
    })
    const families = ({ object }: Answer) => [object["spec"].ipFamilyPolicy, object["spec"].ipFamilies]
    const selector = { a: "b" }
    yield* request("POST", services, { body: service("selecting", { selector }) })
    const put = (name: string, spec?: object) => request("PUT", `${services}/${name}`, { body: service(name, spec) })
    assert.deepStrictEqual(families(yield* put("selecting")), ["SingleStack", ["IPv4"]])
    const both = yield* request("POST", services, { body: service("both") })
    assert.deepStrictEqual(families(both), ["RequireDualStack", ["IPv4", "IPv6"]])
    const refused = yield* put("both", { selector })
    assert.strictEqual(
      refused.error.message,
      `Service "both" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not ` +
        "configured for dual-stack services"
    )
    const single = yield* merge(`${services}/both`, { spec: { ipFamilyPolicy: "SingleStack" } })
    assert.deepStrictEqual(families(single), ["SingleStack", ["IPv4"]])
  }),

  statement("93c", "an apply to an object that has no owners and violates its schema says that it cannot get any", {
    since: 35
  }, function*() {
    const { kind, namespace, request, until } = yield* Target
    const ns = yield* namespace
    const old = { openAPIV3Schema: preserving }
    const widgets = yield* kind({ schema: preserving })
    const path = widgets.path(ns, "a")
    const manager = { "user-agent": "maker" }
    yield* request("POST", widgets.path(ns), { body: widgets.object("a", { spec: { x: "text" } }), headers: manager })
    yield* merge(path, { metadata: { managedFields: [{}] } })
    const spec = { type: "object", properties: { x: { type: "integer" } } }
    const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${widgets.group}`
    yield* request("PATCH", definition, {
      contentType: "application/json-patch+json",
      body: [{
        op: "replace",
        path: "/spec/versions/0/schema/openAPIV3Schema",
        value: { type: "object", properties: { spec } }
      }]
    })
    const applied = request("PATCH", path, {
      body: { apiVersion: `${widgets.group}/v1`, kind: "Widget", metadata: { name: "a" } },
      contentType,
      query: { fieldManager: "m", dryRun: "All" }
    })
    const refused = yield* until(applied, ({ status }) => status === 500)
    assert.strictEqual(
      refused.error.message,
      `failed to create manager for existing fields: failed to convert new object (${ns}/a; ${widgets.group}/v1, ` +
        "Kind=Widget) to smd typed: .spec.x: expected numeric (int or float), got string"
    )
    // With owners, what is wrong with the configuration comes first.
    const config = (fields: object) => ({
      apiVersion: `${widgets.group}/v1`,
      kind: "Widget",
      metadata: { name: "b" },
      ...fields
    })
    const other = widgets.path(ns, "b")
    yield* merge(definition, { spec: { versions: [{ name: "v1", served: true, storage: true, schema: old }] } })
    yield* until(
      request("PATCH", other, { body: config({ spec: { x: "text" } }), contentType, query: { fieldManager: "m" } }),
      ({ status }) => status === 201
    )
    yield* merge(definition, {
      spec: {
        versions: [{
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } }
        }]
      }
    })
    const live = yield* until(
      request("PATCH", other, { body: config({}), contentType, query: { fieldManager: "n", dryRun: "All" } }),
      ({ status }) => status === 500
    )
    assert.include(live.error.message, "failed to create typed live object")
    const both = yield* apply(other, config({ spec: { y: 1 } }), "m")
    assert.include(both.error.message, "failed to create typed patch object")
    assert.include(both.error.message, ".spec.y: field not declared in schema")
  }),

  statement("103s", "wrong types in embedded metadata are reported in order of the names", { since: 35 }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const template = { ...preserving, "x-kubernetes-embedded-resource": true }
    const widgets = yield* kind({ spec: { type: "object", properties: { template } } })
    const metadata = { labels: { a: 1 }, annotations: { b: 2 } }
    const { error, status } = yield* request("POST", widgets.path(ns), {
      body: widgets.object("a", { spec: { template: { apiVersion: "v1", kind: "Pod", metadata } } })
    })
    assert.strictEqual(status, 400)
    assert.include(error.message, "cannot unmarshal number into Go struct field ObjectMeta.annotations of type string")
  }),

  statement("113c", "the grace period of a pending deletion cannot be changed by a write", { since: 35 }, function*() {
    const { namespace, request } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const metadata = { name: "a", finalizers: ["a.b/c"] }
    yield* request("POST", path, { body: { apiVersion: "v1", kind: "ConfigMap", metadata } })
    yield* request("DELETE", `${path}/a`)
    const refused = yield* merge(`${path}/a`, { metadata: { deletionGracePeriodSeconds: 50 } })
    assert.strictEqual(refused.status, 422)
    assert.strictEqual(
      refused.error.message,
      `ConfigMap "a" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 50: field is immutable`
    )
    const kept = yield* merge(`${path}/a`, { metadata: { deletionGracePeriodSeconds: null } })
    assert.strictEqual(kept.status, 200)
    assert.strictEqual(kept.object.metadata.deletionGracePeriodSeconds, 0)
    yield* merge(`${path}/a`, { metadata: { finalizers: null } })
  }),

  statement("113d", "a negative grace period of a Pod is read as one second, without a warning", {
    since: 35
  }, function*() {
    const { namespace, request } = yield* Target
    const pods = `/api/v1/namespaces/${yield* namespace}/pods`
    const made = yield* request("POST", pods, { body: pod("a", { terminationGracePeriodSeconds: -3 }) })
    assert.strictEqual(made.object["spec"].terminationGracePeriodSeconds, 1)
    assert.isUndefined(made.headers["warning"])
  }),

  statement("125f", "owners of an Event in one API group are not known in the other", { since: 35 }, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const [core, events] = ["/api/v1", "/apis/events.k8s.io/v1"].map((api) => `${api}/namespaces/${ns}/events`)
    yield* request("POST", core!, {
      body: {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "e" },
        involvedObject: { namespace: ns },
        reason: "r"
      },
      query: { fieldManager: "core" }
    })
    yield* merge(`${events}/e`, { metadata: { labels: { a: "b" } } }, "events")
    const labelled = yield* request("GET", `${core}/e`)
    assert.deepStrictEqual(owners(labelled), [
      ["events", "Update", { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } }]
    ])
    yield* merge(`${core}/e`, { count: 3 }, "core")
    assert.deepStrictEqual(owners(yield* request("GET", `${events}/e`)), [["core", "Update", { "f:count": {} }]])
  }),

  statement("125g", "annotations of an autoscaler that stand for fields and cannot be read have no owner", {
    since: 35
  }, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const path = (version: string) => `/apis/autoscaling/${version}/namespaces/${ns}/horizontalpodautoscalers`
    const body = {
      apiVersion: "autoscaling/v1",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "a" },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } }
    }
    const made = yield* request("POST", path("v1"), { body, query: { fieldManager: "maker" } })
    const metadata = { annotations: { "autoscaling.alpha.kubernetes.io/metrics": "{bad" } }
    const same = yield* merge(`${path("v1")}/a`, { metadata })
    assert.deepStrictEqual(same.object, made.object)
    const conditions = [{ type: "AbleToScale", status: "True", reason: "r", message: "m" }]
    yield* merge(`${path("v2")}/a/status`, { status: { desiredReplicas: 1, conditions } })
    const { object } = yield* request("GET", `${path("v1")}/a`)
    assert.strictEqual(
      object.metadata.annotations?.["autoscaling.alpha.kubernetes.io/conditions"],
      `[{"type":"AbleToScale","status":"True","lastTransitionTime":null,"reason":"r","message":"m"}]`
    )
  }),

  statement("132s", "what a mutating webhook adds to a custom object is pruned when it is read, not before", {
    since: 35,
    note: "nulls stay as well, for validation to refuse; wrong metadata is dropped"
  }, function*() {
    const { kind, request } = yield* Target
    const { answer, asked, hook, install, ns } = yield* scene
    const spec = { type: "object", properties: { x: { type: "integer", default: 7 } } }
    const widgets = yield* kind({ spec })
    const all = widgets.path(ns)
    const rules = [{ apiGroups: [widgets.group], apiVersions: ["v1"], operations: ["CREATE"], resources: ["widgets"] }]
    const configMaps = hook("probed").rules
    yield* install("Mutating", [hook("m", { rules: [...configMaps, ...rules] })])
    yield* install("Validating", [hook("v", { rules: [...configMaps, ...rules] })])
    const post = (name: string, ...operations: ReadonlyArray<object>) => {
      answer(({ path }) => path === "/m" ? patching(...operations) : allow)
      return request("POST", all, { body: { apiVersion: `${widgets.group}/v1`, kind: "Widget", metadata: { name } } })
    }
    const made = yield* post("a", { op: "add", path: "/spec", value: { unknown: 1 } })
    assert.deepStrictEqual(made.object["spec"], { x: 7 })
    assert.deepStrictEqual(
      asked.find(({ path }) => path === "/v")?.["object"].spec,
      { unknown: 1, x: 7 },
      "with defaults"
    )
    const nulls = yield* post("b", { op: "add", path: "/spec", value: null })
    assert.strictEqual(nulls.status, 422)
    const labelled = yield* post("c", { op: "add", path: "/metadata/labels", value: { a: 1 } })
    assert.strictEqual(labelled.status, 201)
    assert.isUndefined(labelled.object.metadata.labels)
    const other = yield* post("d", { op: "replace", path: "/apiVersion", value: "v1" })
    assert.strictEqual(
      other.error.message,
      `/v1, Kind=Widget is unstructured and is not suitable for converting to "${widgets.group}/v1"`
    )
  })
]
