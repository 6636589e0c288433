import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

const merge = Effect.fnUntraced(function*(path: string, body: unknown) {
  const { request } = yield* Target
  return yield* request("PATCH", path, { body, contentType: "application/merge-patch+json" })
})

const modified = "the object has been modified; please apply your changes to the latest version and try again"

const cause = (reason: string, field: string, message: string) => ({ reason, message, field })

const template = (image = "i:1") => ({
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "c", image }] }
})

const deployment = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: { replicas: 0, selector: { matchLabels: { app: "x" } }, template: template() }
})

/** A namespace of its own, a kind of its own, and the path of one object of it. */
const fixture = Effect.gen(function*() {
  const { kind, namespace } = yield* Target
  const ns = yield* namespace
  const widgets = yield* kind()
  return { ns, widgets, path: widgets.path(ns, "a"), all: widgets.path(ns) }
})

export const update = [
  statement(
    "31",
    "a deletion that has to wait marks the object once and raises its generation by one",
    {},
    function*() {
      const { request, watch } = yield* Target
      const { all, ns, path, widgets } = yield* fixture
      const { object: before } = yield* request("POST", all, {
        body: widgets.object("a", { metadata: { name: "a", finalizers: ["example.com/hold"] } })
      })
      const watching = yield* watch(all, { resourceVersion: before.metadata.resourceVersion })
      const { object, status } = yield* request("DELETE", path)
      assert.strictEqual(status, 200)
      assert.strictEqual(object.kind, "Widget", "what is still there, not a Status")
      assert.match(object.metadata.deletionTimestamp!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.strictEqual(object.metadata.deletionGracePeriodSeconds, 0)
      assert.strictEqual(object.metadata.generation, 2)
      assert.notStrictEqual(object.metadata.resourceVersion, before.metadata.resourceVersion)
      const again = yield* request("DELETE", path)
      assert.strictEqual(again.status, 200)
      assert.deepStrictEqual(again.object, object, "on its way already")
      yield* merge(path, { metadata: { finalizers: null } })
      const [marked, deleted] = yield* watching.take(2)
      assert.deepStrictEqual(marked, { type: "MODIFIED", object })
      assert.strictEqual(deleted!.type, "DELETED")
      const maps = `/api/v1/namespaces/${ns}/configmaps`
      yield* request("POST", maps, {
        body: configMap("m", { metadata: { name: "m", finalizers: ["example.com/hold"] } })
      })
      const { object: map } = yield* request("DELETE", `${maps}/m`)
      assert.strictEqual(map.metadata.deletionGracePeriodSeconds, 0)
      assert.isUndefined(map.metadata.generation, "only kinds that have one")
      yield* merge(`${maps}/m`, { metadata: { finalizers: null } })
    }
  ),

  statement("31a", "the deletion of a definition is marked without generation and grace period", {
    note: "the checklist has no exception for CustomResourceDefinitions"
  }, function*() {
    const { request, until } = yield* Target
    const { widgets } = yield* fixture
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${widgets.group}`
    const held = yield* merge(path, { metadata: { finalizers: ["example.com/hold"] } })
    assert.strictEqual(held.object.metadata.generation, 1)
    const { object, status } = yield* request("DELETE", path)
    assert.strictEqual(status, 200)
    assert.strictEqual(object.kind, "CustomResourceDefinition")
    assert.isString(object.metadata.deletionTimestamp)
    assert.strictEqual(object.metadata.generation, 1)
    assert.isUndefined(object.metadata.deletionGracePeriodSeconds)
    yield* until(request("GET", path), (now) => now.object.metadata.finalizers?.length === 1)
    yield* merge(path, { metadata: { finalizers: null } })
    yield* until(request("GET", path), (now) => now.status === 404)
  }),

  statement("32", "a PUT of what is not there is 404 and creates nothing", {}, function*() {
    const { minor, request } = yield* Target
    const { all, ns, path, widgets } = yield* fixture
    const missing = yield* request("PUT", path, {
      body: widgets.object("a", { metadata: { name: "a", resourceVersion: "1" } })
    })
    assert.strictEqual(missing.status, 404)
    assert.strictEqual(missing.error.reason, "NotFound")
    assert.strictEqual(missing.error.message, `widgets.${widgets.group} "a" not found`)
    assert.deepStrictEqual(missing.error.details, { name: "a", group: widgets.group, kind: "widgets" })
    assert.deepStrictEqual((yield* request("GET", all)).object["items"], [])
    const map = yield* request("PUT", `/api/v1/namespaces/${ns}/configmaps/a`, { body: configMap("a") })
    assert.strictEqual(map.error.message, `configmaps "a" not found`)
    const deployed = yield* request("PUT", `/apis/apps/v1/namespaces/${ns}/deployments/a`, { body: deployment("a") })
    assert.strictEqual(deployed.error.message, `deployments.apps "a" not found`)
    const service = yield* request("PUT", `/api/v1/namespaces/${ns}/services/a`, {
      body: { apiVersion: "v1", kind: "Service", metadata: { name: "a" }, spec: { ports: [{ port: 80 }] } }
    })
    assert.strictEqual(service.status, minor < 23 ? 404 : 201, "Services are created by a PUT in newer versions")
  }),

  statement("32a", "a PUT of a Lease that is not there creates it, whatever resourceVersion it names", {}, function*() {
    const { namespace, request, watch } = yield* Target
    const all = `/apis/coordination.k8s.io/v1/namespaces/${yield* namespace}/leases`
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", all)
    const watching = yield* watch(all, { resourceVersion })
    const lease = (name: string, metadata: object = {}) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, ...metadata },
      spec: { holderIdentity: "me" }
    })
    const created = yield* request("PUT", `${all}/a`, { body: lease("a") })
    assert.strictEqual(created.status, 201)
    assert.isString(created.object.metadata.uid)
    const named = yield* request("PUT", `${all}/b`, { body: lease("b", { resourceVersion: "7" }) })
    assert.strictEqual(named.status, 201)
    assert.notStrictEqual(named.object.metadata.resourceVersion, "7")
    assert.deepStrictEqual(yield* watching.take(2), [
      { type: "ADDED", object: created.object },
      { type: "ADDED", object: named.object }
    ])
    const conditional = yield* request("PUT", `${all}/a`, { body: lease("a") })
    assert.strictEqual(conditional.status, 422, "what is there is replaced with its resourceVersion only")
  }),

  statement("33", "a write with a resourceVersion that is not the stored one is 409 and changes nothing", {
    note: "also where the content is the stored one, and for a version of the future"
  }, function*() {
    const { request } = yield* Target
    const { all, path, widgets } = yield* fixture
    const { object: first } = yield* request("POST", all, { body: widgets.object("a") })
    const { object: second } = yield* merge(path, { spec: { x: 2 } })
    const put = (resourceVersion: string, spec: object) =>
      request("PUT", path, { body: widgets.object("a", { metadata: { name: "a", resourceVersion }, spec }) })
    const stale = yield* put(first.metadata.resourceVersion, { x: 3 })
    assert.strictEqual(stale.status, 409)
    assert.strictEqual(stale.error.reason, "Conflict")
    const message = `Operation cannot be fulfilled on widgets.${widgets.group} "a": ${modified}`
    assert.strictEqual(stale.error.message, message)
    assert.deepStrictEqual(stale.error.details, { name: "a", group: widgets.group, kind: "widgets" })
    assert.strictEqual((yield* put(first.metadata.resourceVersion, { x: 2 })).error.message, message, "equal content")
    const future = String(BigInt(second.metadata.resourceVersion) + 1000n)
    assert.strictEqual((yield* put(future, { x: 3 })).error.message, message)
    const patched = yield* merge(path, {
      metadata: { resourceVersion: first.metadata.resourceVersion },
      spec: { x: 3 }
    })
    assert.strictEqual(patched.error.message, message)
    assert.deepStrictEqual((yield* request("GET", path)).object, second)
    assert.strictEqual((yield* put(second.metadata.resourceVersion, { x: 3 })).status, 200)
  }),

  statement("34", "a PUT without resourceVersion is 422 for custom resources and Leases", {
    note: "named by the resource; \"0\" is no resourceVersion; what is no number is a 500"
  }, function*() {
    const { minor, request } = yield* Target
    const { all, ns, path, widgets } = yield* fixture
    yield* request("POST", all, { body: widgets.object("a") })
    const value = minor < 30 ? "0x0" : "0"
    const why = `Invalid value: ${value}: must be specified for an update`
    for (const metadata of [{ name: "a" }, { name: "a", resourceVersion: "0" }, { name: "a", resourceVersion: "" }]) {
      const refused = yield* request("PUT", path, { body: widgets.object("a", { metadata, spec: { x: 2 } }) })
      assert.strictEqual(refused.status, 422)
      assert.strictEqual(
        refused.error.message,
        `widgets.${widgets.group} "a" is invalid: metadata.resourceVersion: ${why}`
      )
      assert.deepStrictEqual(refused.error.details, {
        name: "a",
        group: widgets.group,
        kind: "widgets",
        causes: [cause("FieldValueInvalid", "metadata.resourceVersion", why)]
      })
    }
    const odd = yield* request("PUT", path, {
      body: widgets.object("a", { metadata: { name: "a", resourceVersion: "abc" } })
    })
    assert.strictEqual(odd.status, 500)
    assert.strictEqual(odd.error.message, `strconv.ParseUint: parsing "abc": invalid syntax`)
    assert.strictEqual((yield* request("GET", path)).object["spec"].x, 1)
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "a" } }
    yield* request("POST", leases, { body: lease })
    const { error } = yield* request("PUT", `${leases}/a`, { body: lease })
    assert.strictEqual(error.message, `leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: ${why}`)
  }),

  statement("34a", "a PUT without resourceVersion overwrites most built-in kinds", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "a" } }
    const cases: ReadonlyArray<readonly [path: string, body: Readonly<Record<string, unknown>>]> = [
      [`/api/v1/namespaces/${ns}/configmaps`, configMap("a")],
      [`/api/v1/namespaces/${ns}/serviceaccounts`, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "a" }
      }],
      [`/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/roles`, { ...rbac, rules: [] }]
    ]
    for (const [path, body] of cases) {
      const created = yield* request("POST", path, { body })
      const labelled = { ...body, metadata: { name: "a", labels: { k: "v" } } }
      const replaced = yield* request("PUT", `${path}/a`, { body: labelled })
      assert.strictEqual(replaced.status, 200)
      assert.strictEqual(replaced.object.metadata.uid, created.object.metadata.uid)
      assert.deepStrictEqual(replaced.object.metadata.labels, { k: "v" })
      assert.notStrictEqual(replaced.object.metadata.resourceVersion, created.object.metadata.resourceVersion)
    }
  }),

  statement("35", "a write that changes nothing is 200, keeps the resourceVersion and no watch sees it", {
    note: "nor does it matter who writes: managedFields stay as they are"
  }, function*() {
    const { request, watch } = yield* Target
    const { all, ns, path, widgets } = yield* fixture
    const { object } = yield* request("POST", all, { body: widgets.object("a") })
    const watching = yield* watch(all, { resourceVersion: object.metadata.resourceVersion })
    const equal = [
      request("PUT", path, { body: object }),
      request("PUT", path, { body: object, query: { fieldManager: "other" } }),
      merge(path, {}),
      merge(path, { spec: { x: 1 } }),
      request("PATCH", path, {
        body: [{ op: "replace", path: "/spec/x", value: 1 }],
        contentType: "application/json-patch+json"
      })
    ]
    for (const write of equal) {
      const same = yield* write
      assert.strictEqual(same.status, 200)
      assert.strictEqual(same.object.metadata.resourceVersion, object.metadata.resourceVersion)
      assert.deepStrictEqual((yield* request("GET", path)).object, object)
    }
    const { object: changed } = yield* merge(path, { spec: { x: 2 } })
    assert.deepStrictEqual(yield* watching.take(1), [{ type: "MODIFIED", object: changed }])
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    const { object: map } = yield* request("POST", maps, { body: configMap("a", { data: { k: "v" } }) })
    const same = yield* request("PUT", `${maps}/a`, {
      body: { ...map, binaryData: {}, metadata: { ...map.metadata, labels: {}, finalizers: [] } }
    })
    assert.strictEqual(same.object.metadata.resourceVersion, map.metadata.resourceVersion, "empty is absent")
  }),

  statement("36", "a body must name the object of the URL", {
    note: "a body without a name is a 400 of its own wording"
  }, function*() {
    const { request } = yield* Target
    const { all, ns, path, widgets } = yield* fixture
    const { object } = yield* request("POST", all, { body: widgets.object("a") })
    const maps = `/api/v1/namespaces/${ns}/configmaps`
    yield* request("POST", maps, { body: configMap("a") })
    const { resourceVersion } = object.metadata
    const other = "the name of the object (b) does not match the name on the URL (a)"
    const none = "the name of the object (a based on URL) was undeterminable: name must be provided"
    const refused = [
      [request("PUT", path, { body: widgets.object("b", { metadata: { name: "b", resourceVersion } }) }), other],
      [request("PUT", `${maps}/a`, { body: configMap("b") }), other],
      [merge(path, { metadata: { name: "b" } }), other],
      [merge(`${maps}/a`, { metadata: { name: "b" } }), other],
      [request("PUT", `${maps}/a`, { body: { apiVersion: "v1", kind: "ConfigMap" } }), none],
      [request("PUT", path, { body: widgets.object("", { metadata: { resourceVersion } }) }), none]
    ] as const
    for (const [write, message] of refused) {
      const { error, status } = yield* write
      assert.deepStrictEqual([status, error.reason, error.message, error.code], [400, "BadRequest", message, 400])
      assert.isUndefined(error.details)
    }
    assert.deepStrictEqual((yield* request("GET", path)).object, object)
    assert.strictEqual((yield* request("GET", `${maps}/b`)).status, 404)
  }),

  statement("37", "of two writers with one resourceVersion one wins and the other leaves no trace", {}, function*() {
    const { request } = yield* Target
    const { all, path, widgets } = yield* fixture
    const { object: { metadata: { resourceVersion } } } = yield* request("POST", all, { body: widgets.object("a") })
    yield* request("POST", all, { body: widgets.object("b") })
    const { object: list } = yield* request("GET", all)
    const put = (version: string, labels: Readonly<Record<string, string>>, s: string) =>
      request("PUT", path, {
        body: widgets.object("a", { metadata: { name: "a", resourceVersion: version, labels }, spec: { x: 1, s } })
      })
    const ofList = yield* put(list.metadata.resourceVersion, {}, "list")
    assert.strictEqual(ofList.status, 409, "the list's version is not the object's")
    const answers = yield* Effect.forEach(
      ["one", "two", "three"],
      (who) => put(resourceVersion, { [who]: "yes" }, who),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
    const winner = answers.find(({ status }) => status === 200)!.object
    const { object: now } = yield* request("GET", path)
    assert.deepStrictEqual(now, winner)
    assert.deepStrictEqual(Object.keys(now.metadata.labels!), [now["spec"].s])
    const patches = yield* Effect.forEach(
      ["four", "five", "six"],
      (who) => merge(path, { metadata: { labels: { [who]: "yes" } } }),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(patches.map(({ status }) => status), [200, 200, 200], "patches without one never lose")
    const labels = (yield* request("GET", path)).object.metadata.labels
    assert.containsAllKeys(labels, ["four", "five", "six", winner["spec"].s])
  }),

  statement("38", "an object that is being deleted gets no new finalizers, but may lose some", {}, function*() {
    const { request, watch } = yield* Target
    const { all, path, widgets } = yield* fixture
    const finalizers = ["example.com/one", "example.com/two"]
    yield* request("POST", all, { body: widgets.object("a", { metadata: { name: "a", finalizers } }) })
    const { object } = yield* request("DELETE", path)
    const watching = yield* watch(all, { resourceVersion: object.metadata.resourceVersion })
    const refused = yield* merge(path, { metadata: { finalizers: [...finalizers, "example.com/three"] } })
    assert.strictEqual(refused.status, 422)
    assert.strictEqual(refused.error.reason, "Invalid")
    const why = "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers " +
      `[]string{"example.com/three"}`
    assert.include(refused.error.message, `Widget.${widgets.group} "a" is invalid: metadata.finalizers: ${why}`)
    assert.deepInclude(refused.error.details, { name: "a", group: widgets.group, kind: "Widget" })
    assert.deepStrictEqual(
      refused.error.details?.causes?.[0],
      cause("FieldValueForbidden", "metadata.finalizers", why)
    )
    const swapped = yield* merge(path, { metadata: { finalizers: ["example.com/three"] } })
    assert.strictEqual(swapped.status, 422, "nor in exchange for the others")
    const fewer = yield* merge(path, { metadata: { finalizers: ["example.com/two"] } })
    assert.strictEqual(fewer.status, 200)
    assert.deepStrictEqual(fewer.object.metadata.finalizers, ["example.com/two"])
    assert.strictEqual(fewer.object.metadata.deletionTimestamp, object.metadata.deletionTimestamp)
    const kept = yield* merge(path, { metadata: { deletionTimestamp: null, labels: { k: "v" } } })
    assert.strictEqual(kept.object.metadata.deletionTimestamp, object.metadata.deletionTimestamp, "no way back")
    assert.deepStrictEqual(yield* watching.take(2), [
      { type: "MODIFIED", object: fewer.object },
      { type: "MODIFIED", object: kept.object }
    ])
    yield* merge(path, { metadata: { finalizers: null } })
  }),

  ...["PUT", "PATCH"].map((method) =>
    statement(`39${method === "PUT" ? "" : "a"}`, `a ${method} without the last finalizer deletes the object`, {
      note: "answered with the new content and the old resourceVersion; the watch shows the last stored state"
    }, function*() {
      const { request, watch } = yield* Target
      const { all, path, widgets } = yield* fixture
      yield* request("POST", all, {
        body: widgets.object("a", { metadata: { name: "a", finalizers: ["example.com/hold"] } })
      })
      const { object: marked } = yield* request("DELETE", path)
      const watching = yield* watch(all, { resourceVersion: marked.metadata.resourceVersion })
      const { object, status } = method === "PUT"
        ? yield* request("PUT", path, { body: { ...marked, metadata: { ...marked.metadata, finalizers: [] } } })
        : yield* merge(path, { metadata: { finalizers: null } })
      assert.strictEqual(status, 200)
      assert.isUndefined(object.metadata.finalizers)
      assert.strictEqual(object.metadata.uid, marked.metadata.uid)
      assert.strictEqual(object.metadata.resourceVersion, marked.metadata.resourceVersion)
      const [deleted] = yield* watching.take(1)
      assert.strictEqual(deleted!.type, "DELETED")
      const last = deleted!.object as typeof object
      assert.deepStrictEqual(last.metadata.finalizers, ["example.com/hold"])
      assert.isAbove(Number(last.metadata.resourceVersion), Number(marked.metadata.resourceVersion))
      assert.deepStrictEqual(
        { ...last, metadata: { ...last.metadata, resourceVersion: "" } },
        { ...marked, metadata: { ...marked.metadata, resourceVersion: "" } }
      )
      assert.strictEqual((yield* request("GET", path)).status, 404)
    })
  ),

  statement("39b", "a Pod within its grace period stays when its last finalizer goes", {}, function*() {
    const { namespace, request, watch } = yield* Target
    const all = `/api/v1/namespaces/${yield* namespace}/pods`
    const metadata = { name: "a", finalizers: ["example.com/hold"] }
    const { object: pod } = yield* request("POST", all, {
      body: { apiVersion: "v1", kind: "Pod", metadata, spec: { ...template().spec, nodeName: "nowhere" } }
    })
    const watching = yield* watch(all, { resourceVersion: pod.metadata.resourceVersion })
    const { object: marked } = yield* request("DELETE", `${all}/a`)
    assert.strictEqual(marked.metadata.deletionGracePeriodSeconds, 30)
    const freed = yield* merge(`${all}/a`, { metadata: { finalizers: null } })
    assert.strictEqual(freed.status, 200)
    assert.strictEqual((yield* request("GET", `${all}/a`)).status, 200)
    yield* request("DELETE", `${all}/a`, { query: { gracePeriodSeconds: "0" } })
    assert.strictEqual((yield* request("GET", `${all}/a`)).status, 404)
    const events = yield* watching.take(4)
    assert.deepStrictEqual(events.map(({ type }) => type), ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"])
    assert.deepStrictEqual(events.slice(0, 2).map(({ object }) => object), [marked, freed.object])
    assert.deepInclude((events[2]!.object as typeof pod).metadata, { deletionGracePeriodSeconds: 0 })
  })
]
