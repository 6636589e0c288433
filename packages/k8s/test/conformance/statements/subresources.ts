import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const merge = Effect.fnUntraced(function*(path: string, body: unknown) {
  const { request } = yield* Target
  return yield* request("PATCH", path, { body, contentType: "application/merge-patch+json" })
})

const modified = "the object has been modified; please apply your changes to the latest version and try again"

const podTemplate = {
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "c", image: "i:1" }] }
}

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  spec: { replicas: 0, paused: true, selector: { matchLabels: { app: "x" } }, template: podTemplate }
}

/** A namespace of its own, and one object of a kind of its own with a status subresource. */
const withStatus = Effect.gen(function*() {
  const { kind, namespace, request } = yield* Target
  const ns = yield* namespace
  const widgets = yield* kind({ status: true })
  const all = widgets.path(ns)
  const { object } = yield* request("POST", all, { body: widgets.object("a") })
  return { ns, widgets, all, path: widgets.path(ns, "a"), object }
})

/** The same with a scale subresource. */
const scalable = Effect.gen(function*() {
  const { kind, namespace } = yield* Target
  const ns = yield* namespace
  const widgets = yield* kind({
    spec: { type: "object", properties: { replicas: { type: "integer" }, s: { type: "string" } } },
    version: {
      subresources: {
        status: {},
        scale: {
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.replicas",
          labelSelectorPath: ".status.selector"
        }
      }
    }
  })
  return { ns, widgets, all: widgets.path(ns), path: widgets.path(ns, "a") }
})

const success = (body: object) =>
  assert.deepInclude(body, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 })

export const subresources = [
  statement("41", "a write to /status writes the status and nothing else", {
    note: "of the metadata of a custom resource not even labels"
  }, function*() {
    const { request, watch } = yield* Target
    const { all, object, path } = yield* withStatus
    const watching = yield* watch(all, { resourceVersion: object.metadata.resourceVersion })
    const extra = { labels: { k: "v" }, annotations: { k: "v" }, finalizers: ["example.com/hold"] }
    const put = yield* request("PUT", `${path}/status`, {
      body: { ...object, metadata: { ...object.metadata, ...extra }, spec: { x: 9 }, status: { phase: "Up" } }
    })
    assert.strictEqual(put.status, 200)
    assert.deepStrictEqual(put.object["status"], { phase: "Up" })
    assert.deepStrictEqual(put.object["spec"], object["spec"])
    assert.doesNotHaveAnyKeys(put.object.metadata, ["labels", "annotations", "finalizers"])
    const patched = yield* merge(`${path}/status`, { metadata: extra, spec: { x: 8 }, status: { n: 1 } })
    assert.deepStrictEqual(patched.object["status"], { phase: "Up", n: 1 })
    assert.deepStrictEqual(patched.object["spec"], object["spec"])
    assert.doesNotHaveAnyKeys(patched.object.metadata, ["labels", "annotations", "finalizers"])
    assert.deepStrictEqual((yield* request("GET", `${path}/status`)).object, patched.object, "the whole object")
    assert.deepStrictEqual(yield* watching.take(2), [
      { type: "MODIFIED", object: put.object },
      { type: "MODIFIED", object: patched.object }
    ])
  }),

  statement("41a", "a write to the object leaves a status with its own subresource alone", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const { path } = yield* withStatus
    yield* merge(`${path}/status`, { status: { phase: "Up" } })
    const written = yield* merge(path, { spec: { x: 2 }, status: { phase: "Down" } })
    assert.strictEqual(written.status, 200)
    assert.deepStrictEqual([written.object["spec"], written.object["status"]], [{ x: 2 }, { phase: "Up" }])
    const only = yield* merge(path, { status: { phase: "Down" } })
    assert.strictEqual(
      only.object.metadata.resourceVersion,
      written.object.metadata.resourceVersion,
      "no change at all"
    )
    const plain = yield* kind()
    const ns = yield* namespace
    yield* request("POST", plain.path(ns), { body: plain.object("a") })
    const without = yield* merge(plain.path(ns, "a"), { status: { phase: "Down" } })
    assert.deepStrictEqual(without.object["status"], { phase: "Down" })
    assert.strictEqual(without.object.metadata.generation, 2, "a field like any other")
  }),

  statement("41b", "/status of a Pod takes labels along, of a Deployment it does not", {
    note: "built-in kinds differ; none takes the spec"
  }, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const pods = `/api/v1/namespaces/${ns}/pods`
    const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`
    yield* request("POST", pods, {
      body: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: podTemplate.spec }
    })
    yield* request("POST", deployments, { body: deployment })
    const change = { metadata: { labels: { k: "v" }, annotations: { k: "v" } } }
    const pod = yield* merge(`${pods}/p/status`, { ...change, spec: { hostname: "h" }, status: { message: "hello" } })
    assert.strictEqual(pod.status, 200)
    assert.strictEqual(pod.object["status"].message, "hello")
    assert.deepStrictEqual([pod.object.metadata.labels, pod.object.metadata.annotations], [{ k: "v" }, { k: "v" }])
    assert.isUndefined(pod.object["spec"].hostname)
    const deployed = yield* merge(`${deployments}/d/status`, {
      ...change,
      spec: { replicas: 5 },
      status: { collisionCount: 1 }
    })
    assert.strictEqual(deployed.status, 200)
    assert.strictEqual(deployed.object["status"].collisionCount, 1)
    assert.strictEqual(deployed.object["spec"].replicas, 0)
    assert.isUndefined(deployed.object.metadata.labels)
    assert.strictEqual(deployed.object.metadata.annotations?.["k"], "v")
    assert.strictEqual(deployed.object.metadata.generation, 1)
  }),

  statement(
    "42",
    "a write to /status grows the resourceVersion, not the generation, and may conflict",
    {},
    function*() {
      const { request } = yield* Target
      const { object, path, widgets } = yield* withStatus
      const put = (metadata: object, status: object) =>
        request("PUT", `${path}/status`, { body: widgets.object("a", { metadata, status }) })
      const { resourceVersion } = object.metadata
      const written = yield* put({ name: "a", resourceVersion }, { n: 1 })
      assert.strictEqual(written.status, 200)
      assert.strictEqual(written.object.metadata.generation, 1)
      assert.isAbove(Number(written.object.metadata.resourceVersion), Number(resourceVersion))
      const stale = yield* put({ name: "a", resourceVersion }, { n: 2 })
      assert.strictEqual(stale.status, 409)
      assert.strictEqual(
        stale.error.message,
        `Operation cannot be fulfilled on widgets.${widgets.group} "a": ${modified}`
      )
      const unnamed = yield* put({ name: "a" }, { n: 2 })
      assert.strictEqual(unnamed.status, 422)
      assert.include(unnamed.error.message, "metadata.resourceVersion: Invalid value")
      const same = yield* put({ name: "a", resourceVersion: written.object.metadata.resourceVersion }, { n: 1 })
      assert.deepStrictEqual(same.object, written.object, "a status that is equal is no change")
      assert.deepStrictEqual((yield* request("GET", path)).object, written.object)
    }
  ),

  statement("42a", "an apply to a part of an object that is not there is 404, whatever is applied", {}, function*() {
    const { namespace, request } = yield* Target
    const path = `/apis/apps/v1/namespaces/${yield* namespace}/deployments/nope/status`
    const apply = (body: unknown, query: Readonly<Record<string, string>> = { fieldManager: "m" }) =>
      request("PATCH", path, { body, query, contentType: "application/apply-patch+yaml" })
    const deployment = { apiVersion: "apps/v1", kind: "Deployment" }
    for (const body of [{ ...deployment, metadata: {} }, { ...deployment, metadata: { name: "other" } }, {}, [1]]) {
      const { error, status } = yield* apply(body)
      assert.deepStrictEqual([status, error.message], [404, `deployments.apps "nope" not found`])
    }
    assert.strictEqual((yield* apply({ ...deployment, metadata: {} }, {})).status, 422, "the options matter first")
  }),

  statement("43", "a subresource that a kind does not have is 404", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = widgets.path(ns, "a")
    const { object } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const requests = [
      request("GET", `${path}/status`),
      request("PUT", `${path}/status`, { body: { ...object, status: { n: 1 } } }),
      merge(`${path}/status`, { status: { n: 1 } }),
      request("GET", `${path}/scale`),
      request("GET", `${path}/nope`)
    ]
    for (const refused of requests) {
      const { error, status } = yield* refused
      assert.deepStrictEqual([status, error.reason], [404, "NotFound"])
      assert.strictEqual(error.message, `widgets.${widgets.group} "a" not found`)
      assert.deepStrictEqual(error.details, { name: "a", group: widgets.group, kind: "widgets" })
    }
    assert.deepStrictEqual((yield* request("GET", path)).object, object)
    const secret = yield* request("GET", `/api/v1/namespaces/${ns}/configmaps/a/status`)
    assert.deepStrictEqual([secret.status, secret.error.details], [404, {}])
    assert.strictEqual(secret.error.message, "the server could not find the requested resource")
  }),

  statement("44", "/scale of a custom resource shows what its paths point at", {
    note: "no replicas in spec is a 500; 0 replicas are left out"
  }, function*() {
    const { request } = yield* Target
    const { all, path, widgets } = yield* scalable
    const { object } = yield* request("POST", all, { body: widgets.object("a", { spec: { replicas: 2 } }) })
    const { creationTimestamp, name, namespace, resourceVersion, uid } = object.metadata
    const first = yield* request("GET", `${path}/scale`)
    assert.strictEqual(first.status, 200)
    assert.deepStrictEqual(first.body, {
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: 2 },
      status: { replicas: 0 }
    })
    yield* merge(`${path}/status`, { status: { replicas: 1, selector: "app=x,k in (a,b)" } })
    assert.deepStrictEqual((yield* request("GET", `${path}/scale`)).object["status"], {
      replicas: 1,
      selector: "app=x,k in (a,b)"
    })
    yield* merge(path, { spec: { replicas: 0 } })
    assert.deepStrictEqual((yield* request("GET", `${path}/scale`)).object["spec"], {})
    yield* merge(path, { spec: { replicas: null } })
    const { error, status } = yield* request("GET", `${path}/scale`)
    assert.deepStrictEqual([status, error.reason], [500, "InternalError"])
    const why = `the spec replicas field ".spec.replicas" does not exist`
    assert.strictEqual(error.message, `Internal error occurred: ${why}`)
    assert.deepStrictEqual(error.details, { causes: [{ message: why }] })
  }),

  statement("44a", "/scale of a Deployment shows its replicas and its selector", {}, function*() {
    const { minor, namespace, request } = yield* Target
    const all = `/apis/apps/v1/namespaces/${yield* namespace}/deployments`
    const { object } = yield* request("POST", all, { body: deployment })
    const { object: scale, status } = yield* request("GET", `${all}/d/scale`)
    assert.strictEqual(status, 200)
    assert.deepStrictEqual([scale.kind, scale.apiVersion], ["Scale", "autoscaling/v1"])
    assert.strictEqual(scale.metadata.uid, object.metadata.uid)
    assert.deepStrictEqual([scale["spec"], scale["status"]], [{}, { replicas: 0, selector: "app=x" }])
    const missing = yield* request("GET", `${all}/none/scale`)
    assert.strictEqual(missing.status, 404)
    const missed = minor < 30 ? "deployments/scale" : "deployments"
    assert.strictEqual(missing.error.message, `${missed}.apps "none" not found`)
    assert.deepStrictEqual(missing.error.details, { name: "none", group: "apps", kind: missed })
  }),

  statement("44b", "/scale has metadata of its own, and a table", {
    note: "tables of Scales came later"
  }, function*() {
    const { minor, namespace, request } = yield* Target
    const all = `/apis/apps/v1/namespaces/${yield* namespace}/deployments`
    yield* request("POST", all, { body: deployment })
    const scales = yield* scalable
    yield* request("POST", scales.all, { body: scales.widgets.object("a", { spec: { replicas: 2 } }) })
    const as = (path: string, form: string, query: Readonly<Record<string, string>> = {}) =>
      request("GET", path, { query, headers: { accept: `application/json;as=${form};g=meta.k8s.io;v=v1` } })
    const kinds = [
      { path: `${all}/d/scale`, name: "d", goType: "autoscaling.Scale", cells: ["d", 0, 0] },
      { path: `${scales.path}/scale`, name: "a", goType: "v1.Scale", cells: ["a", 2, 0] }
    ]
    for (const { cells, goType, name, path } of kinds) {
      const { object: scale } = yield* request("GET", path)
      const { object: metadata } = yield* as(path, "PartialObjectMetadata")
      assert.deepStrictEqual(metadata, {
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: scale.metadata
      })
      const list = yield* as(path, "PartialObjectMetadataList")
      assert.deepStrictEqual([list.status, list.error.message], [
        406,
        `you requested PartialObjectMetadataList, but the requested object is not a list (*${goType})`
      ])
      if (minor < 34) continue
      const { object: table } = yield* as(path, "Table", { includeObject: "Object" })
      assert.strictEqual(table.kind, "Table")
      const columns = table["columnDefinitions"].map((column: { readonly name: string }) => column.name)
      assert.deepStrictEqual(columns, ["Name", "Desired", "Available", "Age"])
      const [{ cells: shown, object }] = table["rows"]
      assert.deepStrictEqual([shown.slice(0, 3), object], [cells, scale], name)
    }
  }),

  statement("45", "a write to /scale writes the replicas and raises the generation", {
    note: "a PUT without replicas writes 0"
  }, function*() {
    const { request, watch } = yield* Target
    const { all, path, widgets } = yield* scalable
    const spec = { replicas: 2, s: "t" }
    const { object } = yield* request("POST", all, { body: widgets.object("a", { spec }) })
    const watching = yield* watch(all, { resourceVersion: object.metadata.resourceVersion })
    const patched = yield* merge(`${path}/scale`, { metadata: { labels: { k: "v" } }, spec: { replicas: 3 } })
    assert.strictEqual(patched.status, 200)
    assert.strictEqual(patched.object.kind, "Scale")
    assert.deepStrictEqual(patched.object["spec"], { replicas: 3 })
    const { object: now } = yield* request("GET", path)
    assert.deepStrictEqual(now["spec"], { replicas: 3, s: "t" })
    assert.strictEqual(now.metadata.generation, 2)
    assert.isUndefined(now.metadata.labels)
    assert.strictEqual(now.metadata.resourceVersion, patched.object.metadata.resourceVersion)
    assert.deepStrictEqual(yield* watching.take(1), [{ type: "MODIFIED", object: now }])
    const put = (metadata: object, spec: object) =>
      request("PUT", `${path}/scale`, {
        body: { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "a", ...metadata }, spec }
      })
    const stale = yield* put({ resourceVersion: object.metadata.resourceVersion }, { replicas: 4 })
    assert.strictEqual(stale.status, 409)
    assert.include(stale.error.message, modified)
    const none = yield* put({}, {})
    assert.strictEqual(none.status, 200)
    assert.deepStrictEqual(none.object["spec"], {})
    assert.deepStrictEqual((yield* request("GET", path)).object["spec"], { replicas: 0, s: "t" })
  }),

  statement("45a", "replicas are not negative, and a selector is a string", {
    note: "a selector that is none is refused when the status is written, not when the scale is read"
  }, function*() {
    const { request } = yield* Target
    const { all, ns, path, widgets } = yield* scalable
    const { object } = yield* request("POST", all, { body: widgets.object("a", { spec: { replicas: 2 } }) })
    const negative = yield* merge(`${path}/scale`, { spec: { replicas: -1 } })
    assert.strictEqual(negative.status, 422)
    assert.include(negative.error.message, ".spec.replicas: Invalid value: -1: should be a non-negative integer")
    assert.strictEqual(negative.error.details?.causes?.[0]?.field, ".spec.replicas")
    const same = yield* merge(path, { spec: { replicas: -1 } })
    assert.include(same.error.message, ".spec.replicas: Invalid value: -1: should be a non-negative integer")
    const selector = yield* merge(`${path}/status`, { status: { selector: { app: "x" } } })
    assert.strictEqual(selector.status, 422)
    assert.strictEqual(selector.error.details?.causes?.[0]?.field, ".status.selector")
    const status = yield* merge(`${path}/status`, { status: { replicas: -1 } })
    assert.include(status.error.message, ".status.replicas: Invalid value: -1: should be a non-negative integer")
    assert.deepStrictEqual((yield* request("GET", path)).object, object)
    const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`
    yield* request("POST", deployments, { body: deployment })
    const { error } = yield* merge(`${deployments}/d/scale`, { spec: { replicas: -1 } })
    assert.strictEqual(
      error.message,
      `Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`
    )
    assert.deepInclude(error.details, { name: "d", group: "autoscaling", kind: "Scale" })
  }),

  statement("46", "an eviction deletes a Pod if its disruption budget allows it, and is 429 otherwise", {
    note: "without Retry-After"
  }, function*() {
    const { minor, namespace, request, until } = yield* Target
    const ns = yield* namespace
    const pods = `/api/v1/namespaces/${ns}/pods`
    const policy = minor < 21 ? "policy/v1beta1" : "policy/v1"
    const budget = `/apis/${policy}/namespaces/${ns}/poddisruptionbudgets`
    const conditions = [{ type: "Ready", status: "True" }]
    for (const name of ["a", "b"]) {
      const metadata = { name, labels: { app: "x" } }
      const body = { apiVersion: "v1", kind: "Pod", metadata, spec: podTemplate.spec }
      yield* request("POST", pods, { body })
      yield* merge(`${pods}/${name}/status`, { status: { phase: "Running", conditions } })
    }
    yield* request("POST", budget, {
      body: {
        apiVersion: policy,
        kind: "PodDisruptionBudget",
        metadata: { name: "p" },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "x" } } }
      }
    })
    // What a disruption controller makes of it, for servers that have none.
    const healthy = Effect.fnUntraced(function*(currentHealthy: number) {
      const status = {
        observedGeneration: 1,
        disruptionsAllowed: currentHealthy - 1,
        desiredHealthy: 1,
        currentHealthy,
        expectedPods: currentHealthy
      }
      yield* merge(`${budget}/p/status`, { status })
      // A disruption controller may see the Pods a moment after their budget.
      yield* until(request("GET", `${budget}/p`), ({ object }) => object["status"].currentHealthy === currentHealthy)
    })
    const evict = (name: string) =>
      request("POST", `${pods}/${name}/eviction`, {
        body: { apiVersion: policy, kind: "Eviction", metadata: { name, namespace: ns } }
      })
    yield* healthy(2)
    const evicted = yield* evict("a")
    assert.strictEqual(evicted.status, 201)
    success(evicted.object)
    assert.strictEqual((yield* request("GET", `${pods}/a`)).status, 404, "no node has it to stop")
    yield* healthy(1)
    const refused = yield* evict("b")
    assert.strictEqual(refused.status, 429)
    assert.deepInclude(refused.error, {
      reason: "TooManyRequests",
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [{
          reason: "DisruptionBudget",
          message: "The disruption budget p needs 1 healthy pods and has 1 currently"
        }]
      },
      code: 429
    })
    assert.isUndefined(refused.headers["retry-after"])
    assert.strictEqual((yield* request("GET", `${pods}/b`)).status, 200)
    const missing = yield* evict("none")
    assert.deepStrictEqual([missing.status, missing.error.message], [404, `pods "none" not found`])
  }),

  statement("46a", "a binding gives a Pod its node, once", {
    note: "the node need not exist; a binding without target is a 500"
  }, function*() {
    const { namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const pods = `/api/v1/namespaces/${ns}/pods`
    const { object: pod } = yield* request("POST", pods, {
      body: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: podTemplate.spec }
    })
    const watching = yield* watch(pods, { resourceVersion: pod.metadata.resourceVersion })
    const bind = (target: object) =>
      request("POST", `${pods}/a/binding`, {
        body: { apiVersion: "v1", kind: "Binding", metadata: { name: "a" }, target }
      })
    const nowhere = yield* bind({ kind: "Node", name: "" })
    assert.deepStrictEqual([nowhere.status, nowhere.error.reason], [500, undefined])
    assert.strictEqual(nowhere.error.message, "target.name: Required value")
    const bound = yield* bind({ kind: "Node", name: "nowhere" })
    assert.strictEqual(bound.status, 201)
    success(bound.object)
    const { object } = yield* request("GET", `${pods}/a`)
    assert.strictEqual(object["spec"].nodeName, "nowhere")
    const conditions = object["status"].conditions as ReadonlyArray<Readonly<Record<string, unknown>>>
    assert.deepInclude(conditions.find(({ type }) => type === "PodScheduled"), { status: "True" })
    assert.deepStrictEqual(yield* watching.take(1), [{ type: "MODIFIED", object }])
    const again = yield* bind({ kind: "Node", name: "elsewhere" })
    assert.deepStrictEqual([again.status, again.error.reason], [409, "Conflict"])
    assert.strictEqual(
      again.error.message,
      `Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "nowhere"`
    )
    assert.deepStrictEqual(again.error.details, { name: "a", kind: "pods/binding" })
    assert.strictEqual((yield* request("GET", `${pods}/a`)).object["spec"].nodeName, "nowhere")
  })
]
