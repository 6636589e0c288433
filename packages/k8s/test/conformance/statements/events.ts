/** Events, Leases and the form of errors: statements 125 to 127. */
import { assert } from "@effect/vitest"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const mergePatch = "application/merge-patch+json"

/** An Event of events.k8s.io/v1. */
const modern = (namespace: string, name: string, fields: object = {}) => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name },
  eventTime: "2020-01-01T00:00:00.000001Z",
  regarding: { kind: "Pod", name: "p", namespace },
  reason: "Started",
  note: "it runs",
  type: "Normal",
  action: "Start",
  reportingController: "example.com/op",
  reportingInstance: "op-0",
  ...fields
})

/** An Event of the core group. */
const classic = (namespace: string, name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name },
  involvedObject: { kind: "Pod", name: "p", namespace },
  reason: "Stopped",
  message: "no more",
  type: "Warning",
  source: { component: "c", host: "h" },
  firstTimestamp: "2020-01-01T00:00:00Z",
  lastTimestamp: "2020-01-01T00:01:00Z",
  count: 3,
  ...fields
})

const lease = (name: string, spec: object) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
  spec
})

export const events = [
  statement("125a", "Events of both groups are the same objects", {}, function*() {
    const { namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const core = `/api/v1/namespaces/${ns}/events`
    const fresh = `/apis/events.k8s.io/v1/namespaces/${ns}/events`
    const posted = yield* request("POST", fresh, { body: modern(ns, "a") })
    assert.strictEqual(posted.status, 201)
    assert.strictEqual(posted.object.eventTime, "2020-01-01T00:00:00.000001Z")
    const { object: old } = yield* request("GET", `${core}/a`)
    assert.deepInclude(old, {
      apiVersion: "v1",
      kind: "Event",
      involvedObject: { kind: "Pod", name: "p", namespace: ns },
      message: "it runs",
      reportingComponent: "example.com/op",
      reportingInstance: "op-0",
      action: "Start"
    })
    assert.strictEqual(old.metadata.uid, posted.object.metadata.uid)
    const watching = yield* watch(fresh, { resourceVersion: posted.object.metadata.resourceVersion })
    yield* request("POST", core, { body: classic(ns, "b") })
    const [event] = yield* watching.take(1)
    assert.deepInclude(event!.object as object, {
      apiVersion: "events.k8s.io/v1",
      regarding: { kind: "Pod", name: "p", namespace: ns },
      note: "no more",
      deprecatedSource: { component: "c", host: "h" },
      deprecatedFirstTimestamp: "2020-01-01T00:00:00Z",
      deprecatedLastTimestamp: "2020-01-01T00:01:00Z",
      deprecatedCount: 3
    })
    const { object: { items } } = yield* request("GET", core, {
      query: { fieldSelector: "involvedObject.name=p,reason=Stopped,type=Warning" }
    })
    assert.lengthOf(items, 1)
    assert.strictEqual(items[0].metadata.name, "b")
  }),

  statement("125b", "a series is an update of its Event", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const path = `/apis/events.k8s.io/v1/namespaces/${ns}/events`
    const { object } = yield* request("POST", path, { body: modern(ns, "a") })
    const series = { count: 2, lastObservedTime: "2020-01-01T00:00:02.000000Z" }
    const patched = yield* request("PATCH", `${path}/a`, { contentType: mergePatch, body: { series } })
    assert.strictEqual(patched.status, 200)
    assert.deepStrictEqual(patched.object.series, series)
    assert.notStrictEqual(patched.object.metadata.resourceVersion, object.metadata.resourceVersion)
    assert.deepStrictEqual((yield* request("GET", `/api/v1/namespaces/${ns}/events/a`)).object.series, series)
    const again = yield* request("PUT", `${path}/a`, {
      body: { ...patched.object, series: { ...series, count: 3 } }
    })
    assert.strictEqual(again.status, 200)
    assert.strictEqual(again.object.series.count, 3)
  }),

  statement("125c", "an Event lies in the namespace of what it is about", {
    note:
      "Events about cluster-scoped objects lie in namespace default; with an eventTime another namespace is accepted"
  }, function*() {
    const { namespace, request, unique } = yield* Target
    const ns = yield* namespace
    const core = `/api/v1/namespaces/${ns}/events`
    const { error, status } = yield* request("POST", core, { body: classic("other", "a") })
    assert.strictEqual(status, 422)
    assert.strictEqual(
      error.message,
      `Event "a" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace`
    )
    assert.strictEqual(error.details?.causes?.[0]?.field, "involvedObject.namespace")
    const cluster = { involvedObject: { kind: "Node", name: "n" } }
    assert.strictEqual((yield* request("POST", core, { body: classic("", "a", cluster) })).status, 422)
    const name = unique("node")
    const inDefault = "/api/v1/namespaces/default/events"
    assert.strictEqual((yield* request("POST", inDefault, { body: classic("", name, cluster) })).status, 201)
    yield* request("DELETE", `${inDefault}/${name}`)
    const fresh = `/apis/events.k8s.io/v1/namespaces/${ns}/events`
    assert.strictEqual((yield* request("POST", fresh, { body: modern("other", "b") })).status, 201)
    const nowhere = yield* request("POST", fresh, { body: modern("", "c", { regarding: { kind: "Node", name: "n" } }) })
    assert.strictEqual(nowhere.status, 422)
  }),

  statement("125d", "an Event with an eventTime says who reports what", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const path = `/apis/events.k8s.io/v1/namespaces/${ns}/events`
    for (const field of ["reportingController", "reportingInstance", "action", "reason"]) {
      const { error, status } = yield* request("POST", path, { body: modern(ns, "a", { [field]: "" }) })
      assert.strictEqual(status, 422, field)
      assert.deepInclude(error.details?.causes?.find((cause) => cause.field === field), {
        reason: "FieldValueRequired"
      })
    }
    const long = yield* request("POST", path, { body: modern(ns, "a", { note: "x".repeat(1025) }) })
    assert.strictEqual(long.status, 422)
    assert.include(long.error.message, "can have at most 1024 characters")
    assert.strictEqual((yield* request("POST", path, { body: modern(ns, "a") })).status, 201)
  }),

  statement("125e", "the metadata of an Event or a disruption budget is judged when its own fields are right", {
    note:
      "by the rules of all kinds: any name without a slash; a new Event of events.k8s.io is judged as other kinds are"
  }, function*() {
    const { minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const post = (path: string, kind: string, metadata: object, fields: object) => {
      const [group, version] = path.split("/")
      const [root, apiVersion] = version === undefined ? ["/api/v1", "v1"] : [`/apis/${path}`, `${group}/${version}`]
      const collection = kind === "Event" ? "events" : "poddisruptionbudgets"
      const body = { apiVersion, kind, metadata, ...fields }
      return request("POST", `${root}/namespaces/${ns}/${collection}`, { body })
    }
    const policy = minor < 21 ? "policy/v1beta1" : "policy/v1"
    const right = { involvedObject: { kind: "Pod", name: "p", namespace: ns } }
    const wrong = { involvedObject: { kind: "Pod", name: "p", namespace: "other" } }
    const told = function*(kind: string, path: string, metadata: object, fields: object) {
      const { error } = yield* post(path, kind, metadata, fields)
      return error.details?.causes?.map(({ field }) => field)
    }
    for (const metadata of [{}, { name: "a/b" }]) {
      assert.deepStrictEqual(yield* told("Event", "", metadata, wrong), ["involvedObject.namespace"])
      assert.deepStrictEqual(yield* told("Event", "", metadata, right), ["metadata.name"])
      const few = { spec: { minAvailable: -1 } }
      assert.deepStrictEqual(yield* told("PodDisruptionBudget", policy, metadata, few), ["spec.minAvailable"])
      assert.deepStrictEqual(
        yield* told("PodDisruptionBudget", policy, metadata, { spec: { minAvailable: 1 } }),
        ["metadata.name"]
      )
    }
    const odd = { name: "A_b", finalizers: ["hold"] }
    assert.strictEqual((yield* post("", "Event", odd, right)).status, 201)
    assert.strictEqual((yield* post(policy, "PodDisruptionBudget", odd, { spec: { minAvailable: 1 } })).status, 201)
    const regarding = { regarding: { kind: "Pod", name: "p", namespace: "other" } }
    assert.deepStrictEqual(
      yield* told("Event", "events.k8s.io/v1", { ...odd, name: "A_c" }, regarding),
      ["involvedObject.namespace", "metadata.name", "metadata.finalizers[0]", "eventTime", "type"]
    )
    for (const path of ["/api/v1", `/apis/${policy}`]) {
      const collection = path === "/api/v1" ? "events" : "poddisruptionbudgets"
      const { error } = yield* request("PATCH", `${path}/namespaces/${ns}/${collection}/A_b`, {
        contentType: mergePatch,
        body: { metadata: { labels: { "a b": "c" } } }
      })
      // As of a new object, and as of a change of one; the kind adds nothing.
      assert.deepStrictEqual(error.details?.causes?.map(({ field }) => field), ["metadata.labels", "metadata.labels"])
    }
    const free = { contentType: mergePatch, body: { metadata: { finalizers: null } } }
    yield* request("PATCH", `/api/v1/namespaces/${ns}/events/A_b`, free)
    yield* request("PATCH", `/apis/${policy}/namespaces/${ns}/poddisruptionbudgets/A_b`, free)
  }),

  statement("126a", "a Lease is renewed by a PUT that one of two wins", {
    note: "a PUT without resourceVersion is 422"
  }, function*() {
    const { namespace, request, watch } = yield* Target
    const path = `/apis/coordination.k8s.io/v1/namespaces/${yield* namespace}/leases`
    const held = (holderIdentity: string, second: string) => ({
      holderIdentity,
      leaseDurationSeconds: 15,
      acquireTime: "2020-01-01T00:00:00.000000Z",
      renewTime: `2020-01-01T00:00:${second}.123456Z`,
      leaseTransitions: 1
    })
    const { object } = yield* request("POST", path, { body: lease("l", held("a", "00")) })
    assert.deepStrictEqual(object.spec, held("a", "00"))
    const watching = yield* watch(path, { resourceVersion: object.metadata.resourceVersion })
    const renewed = yield* request("PUT", `${path}/l`, { body: { ...object, spec: held("a", "10") } })
    assert.strictEqual(renewed.status, 200)
    const lost = yield* request("PUT", `${path}/l`, { body: { ...object, spec: held("b", "10") } })
    assert.strictEqual(lost.status, 409)
    assert.strictEqual(lost.error.reason, "Conflict")
    assert.strictEqual(
      lost.error.message,
      `Operation cannot be fulfilled on leases.coordination.k8s.io "l": the object has been modified; ` +
        "please apply your changes to the latest version and try again"
    )
    const blind = yield* request("PUT", `${path}/l`, { body: lease("l", held("b", "10")) })
    assert.strictEqual(blind.status, 422)
    assert.strictEqual(blind.error.details?.causes?.[0]?.field, "metadata.resourceVersion")
    const taken = yield* request("PUT", `${path}/l`, { body: { ...renewed.object, spec: held("b", "30") } })
    assert.strictEqual(taken.status, 200)
    const seen = yield* watching.take(2)
    assert.deepStrictEqual(
      seen.map(({ object }) =>
        (object as { readonly spec?: { readonly holderIdentity: string } }).spec?.holderIdentity
      ),
      ["a", "b"]
    )
  }),

  statement("126b", "a time of a Lease has six digits", {
    note: "others are 400; an offset becomes Z; times of metadata have whole seconds"
  }, function*() {
    const { namespace, request } = yield* Target
    const path = `/apis/coordination.k8s.io/v1/namespaces/${yield* namespace}/leases`
    const post = (name: string, renewTime: string) => request("POST", path, { body: lease(name, { renewTime }) })
    for (const time of ["2020-01-01T00:00:06Z", "2020-01-01T00:00:06.5Z", "soon"]) {
      const { error, status } = yield* post("a", time)
      assert.strictEqual(status, 400, time)
      assert.strictEqual(error.reason, "BadRequest")
      assert.include(error.message, `Lease in version "v1" cannot be handled as a Lease`)
    }
    assert.strictEqual(
      (yield* post("a", "2020-01-01T00:00:06.500000Z")).object.spec.renewTime,
      "2020-01-01T00:00:06.500000Z"
    )
    const { object } = yield* post("b", "2020-01-01T01:00:00.000001+01:00")
    assert.strictEqual(object.spec.renewTime, "2020-01-01T00:00:00.000001Z")
  }),

  statement("127", "every error is a Status", {
    note: "reason and details may be missing, as in a plain 500; details may be empty"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }
    yield* request("POST", path, { body })
    const is = (answer: Answer, code: number, reason: string | undefined, details?: object) => {
      const message = answer.error.message
      assert.isString(message)
      assert.strictEqual(answer.status, code)
      assert.match(answer.headers["content-type"]!, /^application\/json/)
      assert.deepStrictEqual(answer.object as object, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message,
        ...(reason === undefined ? {} : { reason }),
        ...(details === undefined ? {} : { details }),
        code
      })
    }
    is(yield* request("GET", `${path}/b`), 404, "NotFound", { name: "b", kind: "configmaps" })
    is(yield* request("GET", widgets.path(ns, "b")), 404, "NotFound", {
      name: "b",
      group: widgets.group,
      kind: "widgets"
    })
    is(yield* request("POST", path, { body }), 409, "AlreadyExists", { name: "a", kind: "configmaps" })
    is(yield* request("POST", `${path}/a`, { body }), 405, "MethodNotAllowed", {})
    is(yield* request("POST", path, { body: { ...body, metadata: { name: "A_" } } }), 422, "Invalid", {
      name: "A_",
      kind: "ConfigMap",
      causes: (yield* request("POST", path, { body: { ...body, metadata: { name: "A_" } } })).error.details?.causes
    })
    is(yield* request("GET", path, { query: { labelSelector: "a b" } }), 400, "BadRequest")
    const [code, reason] = minor < 30 ? [500, undefined] as const : [400, "BadRequest"] as const
    is(yield* request("GET", path, { query: { resourceVersion: "abc" } }), code, reason)
    is(yield* request("GET", `${path}/a`, { query: { resourceVersion: "abc" } }), 500, undefined)
    is(yield* request("GET", "/apis/apps/v1/nothing"), 404, "NotFound", {})
  })
]
