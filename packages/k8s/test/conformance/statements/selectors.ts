import { assert } from "@effect/vitest"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { type Answer, Target } from "../Target.ts"
import { statement } from "../Statement.ts"

const configMap = (name: string, labels: Readonly<Record<string, string>>) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels: { ...labels, of: "statement" } }
})

const names = ({ object }: Answer): ReadonlyArray<string> =>
  object["items"].map((item: KubeObject) => item.metadata.name)

/** A list by a selector, as the names of what it holds. */
const select = Effect.fnUntraced(function*(path: string, query: Readonly<Record<string, string>>) {
  const { request } = yield* Target
  const answer = yield* request("GET", path, { query })
  assert.strictEqual(answer.status, 200, JSON.stringify(query))
  return names(answer)
})

/** What a selector that is refused is answered with: no details, whatever it is. */
const refused = Effect.fnUntraced(function*(path: string, query: Readonly<Record<string, string>>) {
  const { request } = yield* Target
  const { body, error, status } = yield* request("GET", path, { query })
  assert.strictEqual(status, 400, JSON.stringify(query))
  assert.deepStrictEqual(body, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: error.message,
    reason: "BadRequest",
    code: 400
  })
  return error.message
})

/** Four ConfigMaps with labels; the path of their collection. */
const labelled = Effect.gen(function*() {
  const { namespace, request } = yield* Target
  const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
  yield* request("POST", path, { body: configMap("a", { app: "web", tier: "front", n: "5" }) })
  yield* request("POST", path, { body: configMap("b", { app: "web" }) })
  yield* request("POST", path, { body: configMap("c", { app: "db", tier: "back", n: "10", empty: "" }) })
  yield* request("POST", path, { body: configMap("d", {}) })
  return path
})

const labelSelectors: ReadonlyArray<readonly [selector: string, names: ReadonlyArray<string>]> = [
  ["", ["a", "b", "c", "d"]],
  ["app=web", ["a", "b"]],
  ["app==web", ["a", "b"]],
  ["app!=web", ["c", "d"]],
  ["app in (web,db)", ["a", "b", "c"]],
  ["app notin (web)", ["c", "d"]],
  ["tier", ["a", "c"]],
  ["!tier", ["b", "d"]],
  ["app=web,!tier", ["b"]],
  ["app in (web, db),tier notin (back),n", ["a"]],
  [" app = web , tier ", ["a"]],
  ["n>5", ["c"]],
  ["n<10", ["a"]],
  ["empty=", ["c"]],
  ["empty in ()", ["c"]],
  ["app=web,app=db", []]
]

export const selectors = [
  statement("74", "a label selector holds for what meets all of its conditions", {
    note: "also x>1 and x<2; `x in ()` is legal, and matches the empty value"
  }, function*() {
    const path = yield* labelled
    for (const [selector, expected] of labelSelectors) {
      // Controllers put a ConfigMap of their own into every namespace.
      const labelSelector = selector === "" ? "of=statement" : `of=statement,${selector}`
      assert.deepStrictEqual(yield* select(path, { labelSelector }), expected, selector)
    }
  }),

  statement("74a", "a label selector that cannot be read is 400, and says where", {}, function*() {
    const { minor } = yield* Target
    const path = yield* labelled
    const message = (labelSelector: string) => refused(path, { labelSelector })
    assert.strictEqual(yield* message("app in web"), "unable to parse requirement: found 'web' expected: '('")
    assert.strictEqual(yield* message("app=web tier"), "found 'tier', expected: ',' or 'end of string'")
    assert.strictEqual(yield* message("app=web,"), "found '', expected: identifier after ','")
    assert.strictEqual(yield* message("=web"), "found '=', expected: !, identifier, or 'end of string'")
    assert.include(yield* message("app=a/b"), "a valid label must be an empty string or consist of alphanumeric")
    assert.include(yield* message("-app"), "name part must consist of alphanumeric characters")
    assert.include(
      yield* message("n>many"),
      minor < 22
        ? "for 'Gt', 'Lt' operators, the value must be an integer"
        : `values[0]: Invalid value: "many": for 'Gt', 'Lt' operators, the value must be an integer`
    )
  }),

  statement("74b", "label selectors choose for watches and for the deletion of collections, too", {}, function*() {
    const { request, watch } = yield* Target
    const path = yield* labelled
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", path)
    const watching = yield* watch(path, { resourceVersion, labelSelector: "app notin (db),of" })
    const { object, status } = yield* request("DELETE", path, { query: { labelSelector: "app,of" } })
    assert.strictEqual(status, 200)
    assert.strictEqual(object.kind, "ConfigMapList")
    assert.deepStrictEqual(object["items"].map((item: KubeObject) => item.metadata.name), ["a", "b", "c"])
    assert.deepStrictEqual(yield* select(path, { labelSelector: "of" }), ["d"])
    const events = yield* watching.take(2)
    assert.deepStrictEqual(
      events.map((event) => [event.type, (event.object as KubeObject).metadata.name]).sort(),
      [["DELETED", "a"], ["DELETED", "b"]]
    )
  }),

  statement("75", "custom resources are selected by name and namespace, and by no other field", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const [one, two] = [yield* namespace, yield* namespace]
    const widgets = yield* kind()
    yield* request("POST", widgets.path(one), { body: widgets.object("a") })
    yield* request("POST", widgets.path(one), { body: widgets.object("b") })
    yield* request("POST", widgets.path(two), { body: widgets.object("a") })
    const all = `/apis/${widgets.group}/v1/widgets`
    const fields = (fieldSelector: string, path = all) => select(path, { fieldSelector })
    assert.deepStrictEqual(yield* fields("metadata.name=a"), ["a", "a"])
    assert.deepStrictEqual(yield* fields("metadata.name==a", widgets.path(one)), ["a"])
    assert.deepStrictEqual(yield* fields("metadata.name!=a"), ["b"])
    assert.deepStrictEqual(yield* fields(`metadata.name=a,metadata.namespace=${two}`), ["a"])
    assert.deepStrictEqual(yield* fields(`metadata.namespace!=${one},metadata.name!=a`), [])
    assert.deepStrictEqual(yield* fields("metadata.name=a,metadata.name=b"), [])
    for (const field of ["spec.x", "metadata.uid", "status.phase"]) {
      assert.strictEqual(yield* refused(all, { fieldSelector: `${field}=1` }), `field label not supported: ${field}`)
    }
    assert.strictEqual(
      yield* refused(all, { fieldSelector: "metadata.name" }),
      "invalid selector: 'metadata.name'; can't understand 'metadata.name'"
    )
    const both = yield* request("GET", all, { query: { fieldSelector: "metadata.name=a", labelSelector: "none" } })
    assert.deepStrictEqual(names(both), [], "both selectors must hold")
  }),

  statement("75a", "a version's selectableFields may be selected by", { since: 32 }, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind({ version: { selectableFields: [{ jsonPath: ".spec.s" }] } })
    const path = widgets.path(ns)
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", path)
    const watching = yield* watch(path, { resourceVersion, fieldSelector: "spec.s=red" })
    yield* request("POST", path, { body: widgets.object("a", { spec: { s: "red" } }) })
    yield* request("POST", path, { body: widgets.object("b", { spec: { s: "blue" } }) })
    yield* request("POST", path, { body: widgets.object("c", { spec: {} }) })
    assert.deepStrictEqual(yield* select(path, { fieldSelector: "spec.s=red" }), ["a"])
    assert.deepStrictEqual(yield* select(path, { fieldSelector: "spec.s!=red" }), ["b", "c"])
    assert.deepStrictEqual(yield* select(path, { fieldSelector: "spec.s=" }), ["c"], "absent is empty")
    assert.strictEqual(yield* refused(path, { fieldSelector: "spec.x=1" }), "field label not supported: spec.x")
    yield* request("PATCH", `${path}/b`, {
      body: { spec: { s: "red" } },
      contentType: "application/merge-patch+json"
    })
    const events = yield* watching.take(2)
    assert.deepStrictEqual(
      events.map((event) => [event.type, (event.object as KubeObject).metadata.name]),
      [["ADDED", "a"], ["ADDED", "b"]]
    )
  }),

  statement("75b", "kinds without field labels of their own list the two they know", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const known = `is not a known field selector: only "metadata.name", "metadata.namespace"`
    for (const path of [`/api/v1/namespaces/${ns}/configmaps`, `/apis/apps/v1/namespaces/${ns}/deployments`]) {
      assert.strictEqual(yield* refused(path, { fieldSelector: "data.k=v" }), `"data.k" ${known}`)
    }
    const path = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "a" } }
    yield* request("POST", path, { body: lease })
    assert.deepStrictEqual(yield* select(path, { fieldSelector: "metadata.name=a" }), ["a"])
    assert.deepStrictEqual(yield* select(path, { fieldSelector: "metadata.name=b" }), [])
    assert.strictEqual(yield* refused(path, { fieldSelector: "metadata.uid=x" }), `"metadata.uid" ${known}`)
  }),

  statement("76", "Pods are selected by node, phase, restart policy and service account", {}, function*() {
    const { namespace, request, until } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/pods`
    const pod = (name: string, spec: object) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { containers: [{ name: "c", image: "i" }], ...spec }
    })
    // Where service accounts are admitted, the namespace's default one must be there first.
    const post = (body: object) => until(request("POST", path, { body }), ({ status }) => status !== 403)
    assert.strictEqual((yield* post(pod("a", { nodeName: "node-a" }))).status, 201)
    assert.strictEqual((yield* post(pod("b", { nodeName: "node-b", restartPolicy: "Never" }))).status, 201)
    yield* request("PATCH", `${path}/b/status`, {
      body: { status: { phase: "Running", podIP: "10.1.2.3" } },
      contentType: "application/merge-patch+json"
    })
    const fields = (fieldSelector: string) => select(path, { fieldSelector })
    assert.deepStrictEqual(yield* fields("spec.nodeName!=node-b"), ["a"])
    assert.deepStrictEqual(yield* fields("spec.nodeName=node-b"), ["b"])
    assert.deepStrictEqual(yield* fields("status.phase=Pending"), ["a"])
    assert.deepStrictEqual(yield* fields("status.phase!=Pending"), ["b"])
    assert.deepStrictEqual(yield* fields("spec.restartPolicy=Always"), ["a"])
    assert.deepStrictEqual(yield* fields("spec.restartPolicy=Never,spec.schedulerName=default-scheduler"), ["b"])
    assert.deepStrictEqual(yield* fields("status.podIP=10.1.2.3"), ["b"])
    assert.strictEqual(
      yield* refused(path, { fieldSelector: "spec.hostname=x" }),
      "field label not supported: spec.hostname"
    )
  }),

  statement("76a", "Events are selected by what they are about, reason and type", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/events`
    const event = (name: string, about: string, fields: object) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace: ns, name: about },
      source: { component: "statement" },
      ...fields
    })
    yield* request("POST", path, { body: event("e1", "a", { reason: "Started", type: "Normal" }) })
    yield* request("POST", path, { body: event("e2", "b", { reason: "Failed", type: "Warning" }) })
    const fields = (fieldSelector: string) => select(path, { fieldSelector })
    assert.deepStrictEqual(yield* fields("involvedObject.name=a"), ["e1"])
    assert.deepStrictEqual(yield* fields(`involvedObject.kind=Pod,involvedObject.namespace=${ns}`), ["e1", "e2"])
    assert.deepStrictEqual(yield* fields("reason=Failed"), ["e2"])
    assert.deepStrictEqual(yield* fields("type!=Warning"), ["e1"])
    assert.deepStrictEqual(yield* fields("source=statement,type=Warning"), ["e2"])
    assert.strictEqual(yield* refused(path, { fieldSelector: "message=x" }), "field label not supported: message")
  }),

  statement(
    "76d",
    "Events of events.k8s.io are selected by the names that this group has for the same fields",
    {},
    function*() {
      const { namespace, request } = yield* Target
      const ns = yield* namespace
      const path = `/apis/events.k8s.io/v1/namespaces/${ns}/events`
      const event = (name: string, about: string, reason: string) => ({
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { name },
        regarding: { apiVersion: "v1", kind: "Pod", namespace: ns, name: about },
        eventTime: "2020-01-01T00:00:00.000000Z",
        action: "Doing",
        reason,
        type: "Normal",
        reportingController: `example.com/${name}`,
        reportingInstance: "one"
      })
      yield* request("POST", path, { body: event("e1", "a", "Started") })
      yield* request("POST", path, { body: event("e2", "b", "Failed") })
      const fields = (fieldSelector: string) => select(path, { fieldSelector })
      assert.deepStrictEqual(yield* fields("reportingController=example.com/e1"), ["e1"])
      assert.deepStrictEqual(yield* fields("regarding.name=b,regarding.kind=Pod"), ["e2"])
      assert.deepStrictEqual(yield* fields("reason=Failed,type=Normal"), ["e2"])
      for (const field of ["reportingComponent", "involvedObject.name", "source", "deprecatedSource", "note"]) {
        assert.strictEqual(yield* refused(path, { fieldSelector: `${field}=x` }), `field label not supported: ${field}`)
      }
    }
  ),

  statement("76b", "Namespaces, Secrets and Nodes have field labels of their own", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const fields = (path: string, fieldSelector: string) => select(path, { fieldSelector })
    assert.include(yield* fields("/api/v1/namespaces", "status.phase=Active"), ns)
    assert.deepStrictEqual(yield* fields("/api/v1/namespaces", `metadata.name=${ns},status.phase=Terminating`), [])
    const path = `/api/v1/namespaces/${ns}/secrets`
    yield* request("POST", path, {
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, type: "example.com/mine" }
    })
    yield* request("POST", path, { body: { apiVersion: "v1", kind: "Secret", metadata: { name: "b" } } })
    assert.deepStrictEqual(yield* fields(path, "type=example.com/mine"), ["a"])
    assert.deepStrictEqual(yield* fields(path, "type=Opaque"), ["b"])
    assert.strictEqual(
      yield* refused("/api/v1/nodes", { fieldSelector: "spec.podCIDR=x" }),
      "field label not supported: spec.podCIDR"
    )
    assert.deepStrictEqual(yield* fields("/api/v1/nodes", "spec.unschedulable=true"), [])
  }),

  statement("77", "a selector that contradicts the name in the URL of a watch is 400", {
    note: "a GET of a named object ignores selectors; only /watch/.../NAME minds"
  }, function*() {
    const { request, watch } = yield* Target
    const path = yield* labelled
    const got = yield* request("GET", `${path}/a`, { query: { fieldSelector: "metadata.name=b" } })
    assert.strictEqual(got.status, 200)
    assert.strictEqual(got.object.metadata.name, "a")
    const old = path.replace("/api/v1/", "/api/v1/watch/")
    for (const fieldSelector of ["metadata.name=b", "metadata.namespace=default"]) {
      const { response } = yield* watch(`${old}/a`, { fieldSelector })
      assert.strictEqual(response.status, 400, fieldSelector)
      assert.deepInclude(response.body, {
        reason: "BadRequest",
        message: "fieldSelector metadata.name doesn't match requested name"
      })
    }
    const ns = path.split("/")[4]!
    for (const fieldSelector of ["metadata.name=a", `metadata.namespace=${ns},metadata.name=a`]) {
      const watching = yield* watch(`${old}/a`, { fieldSelector })
      assert.strictEqual(watching.response.status, 200, fieldSelector)
      assert.deepInclude((yield* watching.take(1))[0], { type: "ADDED", object: got.object as never })
    }
  })
]
