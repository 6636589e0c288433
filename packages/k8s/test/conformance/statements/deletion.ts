/** DELETE of objects and collections: statements 112 to 117. */
import { assert } from "@effect/vitest"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const mergePatch = "application/merge-patch+json"

const configMap = (name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata }
})

const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec }
})

const options = (fields: object) => ({ apiVersion: "v1", kind: "DeleteOptions", ...fields })

/** The object of an event, whichever it is. */
const of = (event: WireEvent | undefined) => event!.object as KubeObject & Readonly<Record<string, any>>

const finalizersOf = ({ metadata: { finalizers } }: KubeObject): Array<string> => [...finalizers ?? []]

/** What happened, as `ADDED a`. */
const told = (events: ReadonlyArray<WireEvent>): ReadonlyArray<string> =>
  events.map((event) => `${event.type} ${of(event).metadata.name}`)

export const deletion = [
  statement("112a", "without finalizers and grace an object goes at once", {
    note: "Pods, PodTemplates, ServiceAccounts and the like answer with the object, all others with a Status"
  }, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const { object } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const { resourceVersion, uid } = object.metadata
    const watching = yield* watch(widgets.path(ns), { resourceVersion })
    const { error: answer, status } = yield* request("DELETE", widgets.path(ns, "a"))
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(answer as object, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "a", group: widgets.group, kind: "widgets", uid }
    })
    const [event] = yield* watching.take(1)
    assert.strictEqual(event!.type, "DELETED")
    const last = of(event)
    assert.deepStrictEqual(last, {
      ...object,
      metadata: { ...object.metadata, resourceVersion: last.metadata.resourceVersion }
    })
    assert.isAbove(Number(last.metadata.resourceVersion), Number(resourceVersion))
    const again = yield* request("DELETE", widgets.path(ns, "a"))
    assert.deepInclude(again.error, { code: 404, reason: "NotFound" })
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`
    yield* request("POST", accounts, { body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa" } } })
    const account = yield* request("DELETE", `${accounts}/sa`)
    assert.strictEqual(account.status, 200)
    assert.deepInclude(account.object, { kind: "ServiceAccount" })
    assert.strictEqual(account.object.metadata.name, "sa")
  }),

  statement("112b", "an object with finalizers is only marked, and goes with the last of them", {}, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = widgets.path(ns, "a")
    const { object } = yield* request("POST", widgets.path(ns), {
      body: widgets.object("a", { metadata: { name: "a", finalizers: ["example.com/f"] } })
    })
    const watching = yield* watch(widgets.path(ns), { resourceVersion: object.metadata.resourceVersion })
    const { object: marked, status } = yield* request("DELETE", path)
    assert.strictEqual(status, 200)
    assert.match(marked.metadata.deletionTimestamp!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.strictEqual(marked.metadata.deletionGracePeriodSeconds, 0)
    assert.strictEqual(marked.metadata.generation, 2)
    const [event] = yield* watching.take(1)
    assert.strictEqual(event!.type, "MODIFIED")
    assert.deepStrictEqual(of(event), marked)
    const again = yield* request("DELETE", path)
    assert.strictEqual(again.status, 200)
    assert.deepStrictEqual(again.object, marked, "a second DELETE changes nothing")
    yield* request("PATCH", path, { contentType: mergePatch, body: { metadata: { finalizers: null } } })
    const [gone] = yield* watching.take(1)
    assert.strictEqual(gone!.type, "DELETED")
    assert.strictEqual((yield* request("GET", path)).status, 404)
  }),

  statement("113a", "a bound Pod has a grace period, which can only become shorter", {
    note: "a longer grace is answered 200 with the object as it was"
  }, function*() {
    const { namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const pods = `/api/v1/namespaces/${ns}/pods`
    const path = `${pods}/a`
    const { object } = yield* request("POST", pods, { body: pod("a", { nodeName: "nowhere" }) })
    assert.strictEqual(object.spec.terminationGracePeriodSeconds, 30)
    const { object: marked, status } = yield* request("DELETE", path)
    assert.strictEqual(status, 200)
    assert.strictEqual(marked.metadata.deletionGracePeriodSeconds, 30)
    const end = Date.parse(marked.metadata.deletionTimestamp!)
    assert.isAtLeast(end - Date.parse(object.metadata.creationTimestamp), 30_000)
    const longer = yield* request("DELETE", path, { body: options({ gracePeriodSeconds: 60 }) })
    assert.strictEqual(longer.status, 200)
    assert.deepStrictEqual(longer.object.metadata, marked.metadata)
    const again = yield* request("DELETE", path)
    assert.deepStrictEqual(again.object.metadata, marked.metadata)
    const shorter = yield* request("DELETE", path, { body: options({ gracePeriodSeconds: 5 }) })
    assert.strictEqual(shorter.object.metadata.deletionGracePeriodSeconds, 5)
    assert.strictEqual(Date.parse(shorter.object.metadata.deletionTimestamp!), end - 25_000)
    const watching = yield* watch(pods, { resourceVersion: shorter.object.metadata.resourceVersion })
    const forced = yield* request("DELETE", path, { body: options({ gracePeriodSeconds: 0 }) })
    assert.strictEqual(forced.status, 200)
    assert.strictEqual((yield* request("GET", path)).status, 404)
    const events = yield* watching.take(2)
    assert.deepStrictEqual(events.map(({ type }) => type), ["MODIFIED", "DELETED"], "it is marked before it goes")
  }),

  statement("113b", "a Pod that no node has goes at once", {}, function*() {
    const { namespace, request } = yield* Target
    const pods = `/api/v1/namespaces/${yield* namespace}/pods`
    yield* request("POST", pods, { body: pod("a", { schedulerName: "nobody" }) })
    const { object, status } = yield* request("DELETE", `${pods}/a`)
    assert.strictEqual(status, 200)
    assert.strictEqual(object.kind, "Pod", "the answer is the object")
    assert.strictEqual(object.metadata.deletionGracePeriodSeconds, 0)
    assert.strictEqual((yield* request("GET", `${pods}/a`)).status, 404)
    yield* request("POST", pods, { body: pod("b", { nodeName: "nowhere", terminationGracePeriodSeconds: 7 }) })
    const own = yield* request("DELETE", `${pods}/b`)
    assert.strictEqual(own.object.metadata.deletionGracePeriodSeconds, 7)
    yield* request("DELETE", `${pods}/b`, { query: { gracePeriodSeconds: "0" } })
    assert.strictEqual((yield* request("GET", `${pods}/b`)).status, 404)
  }),

  statement("114", "preconditions that do not hold are 409, and say both values", {
    note: "named by kind, not by resource, also in details.kind"
  }, function*() {
    const { namespace, request } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const { object: { metadata: { resourceVersion, uid } } } = yield* request("POST", path, { body: configMap("a") })
    const asked = (preconditions: object) => request("DELETE", `${path}/a`, { body: options({ preconditions }) })
    const other = yield* asked({ uid: "x" })
    assert.strictEqual(other.status, 409)
    assert.strictEqual(other.error.reason, "Conflict")
    assert.strictEqual(
      other.error.message,
      `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in ` +
        `record (${uid}). The object might have been deleted and then recreated`
    )
    assert.deepStrictEqual(other.error.details, { name: "a", kind: "ConfigMap" })
    const stale = yield* asked({ uid, resourceVersion: "1" })
    assert.strictEqual(stale.status, 409)
    assert.strictEqual(
      stale.error.message,
      `Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ` +
        `ResourceVersion in record (${resourceVersion}). The object might have been modified`
    )
    assert.strictEqual((yield* asked({ uid, resourceVersion })).status, 200)
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
  }),

  statement("114a", "Namespaces and definitions say in their own words what precondition fails", {}, function*() {
    const { namespace, request } = yield* Target
    const name = yield* namespace
    const { object } = yield* request("GET", `/api/v1/namespaces/${name}`)
    const refused = (preconditions: object) =>
      request("DELETE", `/api/v1/namespaces/${name}`, { body: { preconditions } })
    const head = `Operation cannot be fulfilled on namespaces "${name}": Precondition failed: `
    const byUid = yield* refused({ uid: "no" })
    assert.strictEqual(byUid.status, 409)
    assert.strictEqual(byUid.error.reason, "Conflict")
    assert.strictEqual(
      byUid.error.message,
      `${head}UID in precondition: no, UID in object meta: ${object.metadata.uid}`
    )
    const byVersion = yield* refused({ resourceVersion: "1" })
    assert.strictEqual(byVersion.status, 409)
    assert.match(
      byVersion.error.message ?? "",
      /Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: \d+$/
    )
    assert.isUndefined((yield* request("GET", `/api/v1/namespaces/${name}`)).object.metadata.deletionTimestamp)
  }),

  statement("115a", "the propagation policy becomes a finalizer", {
    note: "Orphan and Foreground are seen in the answer; the controllers take the finalizers away"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    // A finalizer of its own, so that no collector ends the object while it is looked at.
    const deleted = function*(name: string, fields: object) {
      yield* request("POST", widgets.path(ns), {
        body: widgets.object(name, { metadata: { name, finalizers: ["example.com/f"] } })
      })
      return yield* request("DELETE", widgets.path(ns, name), { body: options(fields) })
    }
    const background = yield* deleted("a", { propagationPolicy: "Background" })
    assert.deepStrictEqual(background.object.metadata.finalizers, ["example.com/f"])
    const foreground = yield* deleted("b", { propagationPolicy: "Foreground" })
    assert.strictEqual(foreground.status, 200)
    assert.sameMembers(finalizersOf(foreground.object), ["example.com/f", "foregroundDeletion"])
    const orphan = yield* deleted("c", { propagationPolicy: "Orphan" })
    assert.sameMembers(finalizersOf(orphan.object), ["example.com/f", "orphan"])
    const old = yield* deleted("d", { orphanDependents: true })
    assert.sameMembers(finalizersOf(old.object), ["example.com/f", "orphan"])
    yield* request("POST", widgets.path(ns), { body: widgets.object("e") })
    const once = yield* request("DELETE", widgets.path(ns, "e"), { query: { propagationPolicy: "Background" } })
    assert.strictEqual(once.error.status, "Success")
    assert.strictEqual((yield* request("GET", widgets.path(ns, "e"))).status, 404)
  }),

  statement("115b", "a policy must be known and be the only one", {}, function*() {
    const { namespace, request } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    yield* request("POST", path, { body: configMap("a") })
    const both = yield* request("DELETE", `${path}/a`, {
      body: options({ propagationPolicy: "Orphan", orphanDependents: true })
    })
    assert.strictEqual(both.status, 422)
    assert.strictEqual(
      both.error.message,
      `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": ` +
        "orphanDependents and deletionPropagation cannot be both set"
    )
    const unknown = yield* request("DELETE", `${path}/a`, { body: options({ propagationPolicy: "Sideways" }) })
    assert.strictEqual(unknown.status, 422)
    assert.strictEqual(
      unknown.error.message,
      `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": ` +
        `supported values: "Foreground", "Background", "Orphan", "nil"`
    )
    assert.strictEqual(unknown.error.details?.causes?.[0]?.reason, "FieldValueNotSupported")
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 200)
  }),

  statement("115c", "Jobs of batch/v1 orphan their Pods unless told otherwise", {}, function*() {
    const { namespace, request } = yield* Target
    const jobs = `/apis/batch/v1/namespaces/${yield* namespace}/jobs`
    const post = (name: string) =>
      request("POST", jobs, {
        body: {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name, finalizers: ["example.com/f"] },
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } }
        }
      })
    assert.strictEqual((yield* post("a")).status, 201)
    const { object } = yield* request("DELETE", `${jobs}/a`)
    assert.sameMembers(finalizersOf(object), ["example.com/f", "orphan"])
    yield* post("b")
    const told = yield* request("DELETE", `${jobs}/b`, { query: { propagationPolicy: "Background" } })
    assert.deepStrictEqual(told.object.metadata.finalizers, ["example.com/f"])
  }),

  statement("116a", "a collection is deleted by selectors, object by object", {
    note: "namespaces have no deletecollection"
  }, function*() {
    const { namespace, request, watch } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const labels = { app: "x" }
    yield* request("POST", path, { body: configMap("a", { labels }) })
    yield* request("POST", path, { body: configMap("b", { labels, finalizers: ["example.com/f"] }) })
    const { object } = yield* request("POST", path, { body: configMap("c") })
    const watching = yield* watch(path, { resourceVersion: object.metadata.resourceVersion, labelSelector: "app" })
    const { object: answer, status } = yield* request("DELETE", path, { query: { labelSelector: "app=x" } })
    assert.strictEqual(status, 200)
    assert.strictEqual(answer.kind, "ConfigMapList")
    assert.deepStrictEqual(
      answer.items.map(({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name),
      ["a", "b"]
    )
    const events = yield* watching.take(2)
    assert.sameMembers([...told(events)], [
      "DELETED a",
      "MODIFIED b"
    ])
    assert.strictEqual((yield* request("GET", `${path}/c`)).status, 200)
    const byName = yield* request("DELETE", path, { query: { fieldSelector: "metadata.name=c" } })
    assert.lengthOf(byName.object.items, 1)
    assert.strictEqual((yield* request("GET", `${path}/c`)).status, 404)
    const bad = yield* request("DELETE", path, { query: { labelSelector: "a b" } })
    assert.strictEqual(bad.status, 400)
    assert.strictEqual((yield* request("DELETE", "/api/v1/namespaces")).status, 405)
  }),

  statement("116b", "options hold for every object of a collection", {}, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const create = (name: string) =>
      request("POST", widgets.path(ns), {
        body: widgets.object(name, { metadata: { name, finalizers: ["example.com/f"] } })
      })
    yield* create("a")
    yield* create("b")
    const invalid = yield* request("DELETE", widgets.path(ns), { body: options({ propagationPolicy: "Sideways" }) })
    assert.strictEqual(invalid.status, 422)
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", widgets.path(ns))
    const watching = yield* watch(widgets.path(ns), { resourceVersion, fieldSelector: "metadata.name=b" })
    const { status } = yield* request("DELETE", widgets.path(ns), {
      body: options({ propagationPolicy: "Foreground" })
    })
    assert.strictEqual(status, 200)
    const [event] = yield* watching.take(1)
    assert.sameMembers(finalizersOf(of(event)), ["example.com/f", "foregroundDeletion"])
    assert.strictEqual(of(event).metadata.generation, 2)
    assert.strictEqual((yield* request("GET", widgets.path(ns, "a"))).status, 200, "its own finalizer holds it")
    const other = yield* kind()
    const empty = yield* request("DELETE", other.path(ns))
    assert.strictEqual(empty.status, 200)
    assert.deepStrictEqual(empty.object.items, [])
  }),

  statement("117", "a name that is used again is another object", {}, function*() {
    const { namespace, request, watch } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/configmaps`
    const { object: first } = yield* request("POST", path, { body: configMap("a") })
    // A controller puts a ConfigMap of its own into every namespace.
    const fieldSelector = "metadata.name=a"
    const watching = yield* watch(path, { resourceVersion: first.metadata.resourceVersion, fieldSelector })
    yield* request("DELETE", `${path}/a`)
    const { object: second } = yield* request("POST", path, { body: configMap("a") })
    assert.notStrictEqual(second.metadata.uid, first.metadata.uid)
    const events = yield* watching.take(2)
    assert.deepStrictEqual(
      events.map((event) => [event.type, of(event).metadata.uid]),
      [["DELETED", first.metadata.uid], ["ADDED", second.metadata.uid]]
    )
    const late = yield* request("PUT", `${path}/a`, { body: { ...first, data: { k: "v" } } })
    assert.deepInclude(late.error, { code: 409, reason: "Conflict" })
    const guarded = yield* request("DELETE", `${path}/a`, {
      body: options({ preconditions: { uid: first.metadata.uid } })
    })
    assert.strictEqual(guarded.status, 409)
    assert.strictEqual((yield* request("GET", `${path}/a`)).object.metadata.uid, second.metadata.uid)
  })
]
