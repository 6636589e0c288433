import { assert } from "@effect/vitest"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

const configMapsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`

const uid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const wholeSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** 400 of a body that does not fit its URL: the message, and no details. */
const isBadRequest = ({ error, status }: Answer, message: string | RegExp) => {
  assert.deepStrictEqual([status, error.reason, error.code], [400, "BadRequest", 400], String(message))
  if (typeof message === "string") assert.strictEqual(error.message, message)
  else assert.match(error.message!, message)
  assert.isUndefined(error.details)
}

/** 422 with one cause. */
const isInvalid = ({ error, status }: Answer, of: string, reason: string, field: string, message: string) => {
  assert.deepStrictEqual([status, error.reason, error.code], [422, "Invalid", 422])
  assert.strictEqual(error.message, `${of} is invalid: ${field}: ${message}`)
  assert.deepStrictEqual(error.details?.causes, [{ reason, message, field }])
}

export const create = [
  statement("8", "POST answers 201 with what the server filled in, and a watch sees it", {}, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", widgets.path(ns))
    const watching = yield* watch(widgets.path(ns), { resourceVersion })
    const { object, status } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    assert.strictEqual(status, 201)
    assert.match(object.metadata.uid, uid)
    assert.match(object.metadata.creationTimestamp, wholeSeconds)
    assert.strictEqual(object.metadata.generation, 1)
    assert.strictEqual(object.metadata.namespace, ns)
    const [event] = yield* watching.take(1)
    assert.strictEqual(event!.type, "ADDED")
    assert.deepStrictEqual(event!.object, object as never)
    const config = yield* request("POST", configMapsOf(ns), { body: configMap("a") })
    assert.strictEqual(config.status, 201)
    assert.isUndefined(config.object.metadata.generation, "only kinds that have one")
  }),

  statement("9", "a resourceVersion given on create is refused", {
    note: "with 500 and no reason; \"0\" and what is no number are ignored"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const bodies = [
      [configMapsOf(ns), configMap("a", { metadata: { name: "a", resourceVersion: "5" } })],
      [widgets.path(ns), widgets.object("a", { metadata: { name: "a", resourceVersion: "5" } })]
    ] as const
    for (const [path, body] of bodies) {
      const { error, status } = yield* request("POST", path, { body })
      assert.deepStrictEqual([status, error.code], [500, 500])
      assert.strictEqual(error.message, "resourceVersion should not be set on objects to be created")
      assert.deepStrictEqual([error.reason, error.details], [undefined, undefined])
      assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
    }
    for (const [name, resourceVersion] of [["zero", "0"], ["text", "abc"], ["empty", ""]] as const) {
      const body = configMap(name, { metadata: { name, resourceVersion } })
      const { object, status } = yield* request("POST", configMapsOf(ns), { body })
      assert.strictEqual(status, 201, resourceVersion)
      assert.match(object.metadata.resourceVersion, /^[1-9]\d*$/)
    }
  }),

  statement("10", "what only a server can set is not taken from a client", {
    note: "but a generation is, by kinds that have none of their own; a cluster-scoped object loses its namespace"
  }, function*() {
    const { kind, namespace, request, unique } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const given = {
      name: "a",
      uid: "11111111-1111-4111-8111-111111111111",
      creationTimestamp: "2000-01-01T00:00:00Z",
      deletionTimestamp: "2000-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 5,
      selfLink: "/there",
      generation: 7
    }
    const bodies = [
      [configMapsOf(ns), configMap("a", { metadata: given }), 7],
      [widgets.path(ns), widgets.object("a", { metadata: given }), 1]
    ] as const
    for (const [path, body, generation] of bodies) {
      const { object: { metadata }, status } = yield* request("POST", path, { body })
      assert.strictEqual(status, 201)
      assert.match(metadata.uid, uid)
      assert.notStrictEqual(metadata.uid, given.uid)
      assert.isAbove(Date.parse(metadata.creationTimestamp), Date.parse(given.creationTimestamp))
      assert.doesNotHaveAnyKeys(metadata, ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"])
      assert.strictEqual(metadata.generation, generation)
    }
    const name = unique("role")
    const role = yield* request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      body: { metadata: { name, namespace: ns } }
    })
    assert.strictEqual(role.status, 201)
    assert.isUndefined(role.object.metadata.namespace)
  }),

  statement("11", "generateName is completed with five characters, and cut where that would be too long", {
    note: "that a name is tried up to eight times cannot be provoked: there are too many names"
  }, function*() {
    const { namespace, request } = yield* Target
    const path = configMapsOf(yield* namespace)
    const make = (generateName: string) =>
      request("POST", path, { body: configMap("", { metadata: { generateName } }) })
    const names = new Set<string>()
    for (let count = 0; count < 5; count++) {
      const { object: { metadata }, status } = yield* make("a-")
      assert.strictEqual(status, 201)
      assert.match(metadata.name, /^a-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      assert.strictEqual(metadata.generateName, "a-")
      names.add(metadata.name)
    }
    assert.strictEqual(names.size, 5)
    const long = yield* make("b".repeat(70))
    assert.match(long.object.metadata.name, /^b{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    assert.strictEqual(long.object.metadata.generateName, "b".repeat(70))
    const { error, status } = yield* make("A-")
    assert.strictEqual(status, 422)
    assert.match(error.message!, /^ConfigMap "A-.{5}" is invalid: metadata.name: Invalid value: "A-.{5}": a lowercase/)
    assert.deepStrictEqual(error.details?.causes?.map(({ field }) => field), ["metadata.name"])
  }),

  statement("12", "a name wins over generateName, and one of them there must be", {
    note: "where both are given and the name is taken, the refusal speaks of the generated name; 1.20 says 500"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const both = configMap("a", { metadata: { name: "a", generateName: "b-" } })
    const { object, status } = yield* request("POST", configMapsOf(ns), { body: both })
    assert.strictEqual(status, 201)
    assert.deepInclude(object.metadata, { name: "a", generateName: "b-" })
    const again = yield* request("POST", configMapsOf(ns), { body: both })
    if (minor < 21) {
      assert.deepStrictEqual([again.status, again.error.reason], [500, "ServerTimeout"])
    } else {
      assert.deepStrictEqual([again.status, again.error.reason], [409, "AlreadyExists"])
      assert.match(again.error.message!, /^configmaps "a" already exists, the server was not able to generate a unique/)
      assert.deepStrictEqual(again.error.details, { name: "a", kind: "configmaps", retryAfterSeconds: 1 })
    }

    const why = "Required value: name or generateName is required"
    const nameless = yield* request("POST", configMapsOf(ns), { body: configMap("") })
    isInvalid(nameless, "ConfigMap \"\"", "FieldValueRequired", "metadata.name", why)
    assert.deepStrictEqual([nameless.error.details?.name, nameless.error.details?.kind], [undefined, "ConfigMap"])
    const custom = yield* request("POST", widgets.path(ns), { body: widgets.object("", { metadata: {} }) })
    isInvalid(custom, `Widget.${widgets.group} ""`, "FieldValueRequired", "metadata.name", why)
    assert.strictEqual(custom.error.details?.group, widgets.group)
  }),

  statement("13", "a name that is taken is 409 AlreadyExists, and says whose", {}, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const path = configMapsOf(ns)
    yield* request("POST", path, { body: configMap("a") })
    const { error, status } = yield* request("POST", path, { body: configMap("a") })
    assert.strictEqual(status, 409)
    assert.strictEqual(error.reason, "AlreadyExists")
    assert.strictEqual(error.message, `configmaps "a" already exists`)
    assert.deepStrictEqual(error.details, { name: "a", kind: "configmaps" })
    assert.strictEqual(error.code, 409)
  }),

  statement("13a", "a name whose object is still being deleted is taken, and says so", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const { group, object, path } = yield* kind()
    const held = object("a", { metadata: { name: "a", finalizers: ["example.com/hold"] } })
    yield* request("POST", path(ns), { body: held })
    yield* request("DELETE", path(ns, "a"))
    const { error, status } = yield* request("POST", path(ns), { body: object("a") })
    assert.deepStrictEqual([status, error.reason], [409, "AlreadyExists"])
    assert.strictEqual(error.message, `object is being deleted: widgets.${group} "a" already exists`)
    assert.deepStrictEqual(error.details, { name: "a", group, kind: "widgets" })
    const contentType = "application/merge-patch+json"
    yield* request("PATCH", path(ns, "a"), { body: { metadata: { finalizers: null } }, contentType })
    assert.strictEqual((yield* request("POST", path(ns), { body: object("a") })).status, 201)
  }),

  statement("14", "the namespace comes from the URL, and a body may not name another", {
    note: "in one text; older servers name both namespaces in those of PUT and PATCH"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const elsewhere = { name: "a", namespace: "default" }
    const refused = "the namespace of the provided object does not match the namespace sent on the request"
    const other = minor < 30
      ? `the namespace of the object (default) does not match the namespace on the request (${ns})`
      : refused
    const bodies = [
      [configMapsOf(ns), configMap("a"), configMap("a", { metadata: elsewhere })],
      [widgets.path(ns), widgets.object("a"), widgets.object("a", { metadata: elsewhere })]
    ] as const
    for (const [path, good, bad] of bodies) {
      isBadRequest(yield* request("POST", path, { body: bad }), refused)
      const { object, status } = yield* request("POST", path, { body: good })
      assert.deepStrictEqual([status, object.metadata.namespace], [201, ns])
      isBadRequest(yield* request("PUT", `${path}/a`, { body: bad }), other)
    }
    const contentType = "application/merge-patch+json"
    const patched = yield* request("PATCH", `${configMapsOf(ns)}/a`, { body: { metadata: elsewhere }, contentType })
    isBadRequest(patched, other)
  }),

  statement("15", "a body of another kind or version than the URL's is refused", {
    note: "built-ins fill in a kind and apiVersion left out; a custom resource of another kind is 422"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const { group, object, path } = yield* kind()
    const post = (body: unknown) => request("POST", configMapsOf(ns), { body })
    const cannot = (kind: string, version: string) =>
      `${kind} in version "${version}" cannot be handled as a ConfigMap: `
    isBadRequest(
      yield* post(configMap("a", { kind: "Secret" })),
      `${cannot("Secret", "v1")}converting (v1.Secret) to (core.ConfigMap): unknown conversion`
    )
    isBadRequest(
      yield* post(configMap("a", { kind: "Nothing" })),
      /^Nothing in version "v1" cannot be handled as a ConfigMap: no kind "Nothing" is registered for version "v1" in scheme "/
    )
    isBadRequest(
      yield* post(configMap("a", { apiVersion: "v2" })),
      /^ConfigMap in version "v2" .* no kind "ConfigMap" is registered for version "v2" in scheme "/
    )
    const old = { apiVersion: "apps/v1beta1", kind: "Deployment", metadata: { name: "a" } }
    isBadRequest(
      yield* request("POST", `/apis/apps/v1/namespaces/${ns}/deployments`, { body: old }),
      "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)"
    )
    const bare = yield* post({ metadata: { name: "a" } })
    assert.strictEqual(bare.status, 201)
    assert.deepInclude(bare.object, { kind: "ConfigMap", apiVersion: "v1" })

    const custom = (fields: object) => request("POST", path(ns), { body: { ...object("a"), ...fields } })
    isBadRequest(
      yield* custom({ apiVersion: `${group}/v2` }),
      `the API version in the data (${group}/v2) does not match the expected API version (${group}/v1)`
    )
    isBadRequest(
      yield* custom({ kind: undefined }),
      minor < 30
        ? /^Widget in version "v1" .*Object 'Kind' is missing in '\{/
        : /^the object provided is unrecognized \(must be of type Widget\): Object 'Kind' is missing in '\{/
    )
    if (minor >= 30) {
      isBadRequest(
        yield* custom({ apiVersion: "a/b/c" }),
        /^the object provided is unrecognized \(must be of type Widget\): unexpected GroupVersion string: a\/b\/c \(/
      )
    }
    const gadget = yield* custom({ kind: "Gadget" })
    const why = "Invalid value: \"Gadget\": must be Widget"
    isInvalid(gadget, `Gadget.${group} "a"`, "FieldValueInvalid", "kind", why)
    assert.strictEqual((yield* request("GET", path(ns, "a"))).status, 404)
  }),

  statement("16", "nothing is created in a namespace that does not exist", {}, function*() {
    const { kind, request, unique } = yield* Target
    const widgets = yield* kind()
    const ns = unique("missing")
    for (
      const [path, body] of [
        [configMapsOf(ns), configMap("a")],
        [widgets.path(ns), widgets.object("a")]
      ] as const
    ) {
      const { error, status } = yield* request("POST", path, { body })
      assert.deepStrictEqual([status, error.reason, error.code], [404, "NotFound", 404])
      assert.strictEqual(error.message, `namespaces "${ns}" not found`)
      assert.deepStrictEqual(error.details, { name: ns, kind: "namespaces" })
    }
  }),

  statement("16a", "nothing is created in a namespace that is being deleted", {
    note: "the namespace stays Terminating while an object in it has a finalizer"
  }, function*() {
    const { namespace, request } = yield* Target
    const ns = yield* namespace
    const path = configMapsOf(ns)
    yield* request("POST", path, { body: configMap("held", { metadata: { name: "held", finalizers: ["a.com/b"] } }) })
    const { object } = yield* request("DELETE", `/api/v1/namespaces/${ns}`)
    assert.strictEqual(object["status"].phase, "Terminating")
    const { error, status } = yield* request("POST", path, { body: configMap("a") })
    assert.deepStrictEqual([status, error.reason, error.code], [403, "Forbidden", 403])
    const why = `unable to create new content in namespace ${ns} because it is being terminated`
    assert.strictEqual(error.message, `configmaps "a" is forbidden: ${why}`)
    assert.deepStrictEqual(error.details, {
      name: "a",
      kind: "configmaps",
      causes: [{
        reason: "NamespaceTerminating",
        message: `namespace ${ns} is being terminated`,
        field: "metadata.namespace"
      }]
    })
    const label = { metadata: { labels: { a: "b" }, finalizers: null } }
    const contentType = "application/merge-patch+json"
    const written = yield* request("PATCH", `${path}/held`, { body: label, contentType })
    assert.strictEqual(written.status, 200, "what is there can still be changed")
  }),

  statement("17", "a status given on create is dropped where it is a subresource, and kept where not", {}, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const [split, whole] = [yield* kind({ status: true }), yield* kind()]
    const status = { phase: "Ready" }
    const watching = yield* watch(split.path(ns), { resourceVersion: "0" })
    const dropped = yield* request("POST", split.path(ns), { body: split.object("a", { status }) })
    assert.strictEqual(dropped.status, 201)
    assert.notProperty(dropped.object, "status")
    const [event] = yield* watching.take(1)
    assert.notProperty(event!.object, "status")
    const kept = yield* request("POST", whole.path(ns), { body: whole.object("a", { status }) })
    assert.deepStrictEqual(kept.object["status"], status)
    assert.deepStrictEqual((yield* request("GET", whole.path(ns, "a"))).object["status"], status)
    const pod = yield* request("POST", `/api/v1/namespaces/${ns}/persistentvolumeclaims`, {
      body: {
        metadata: { name: "a" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        status: { phase: "Bound" }
      }
    })
    assert.strictEqual(pod.object["status"].phase, "Pending")
  }),

  statement("18", "annotations may have 256 KiB, a ConfigMap's and a Secret's values 1 MiB", {
    note: "keys and values of annotations count, of content only the values; the field of a ConfigMap's is []"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const most = (bytes: number) =>
      `Too long: ${minor < 35 ? "must have at most" : "may not be more than"} ${bytes} bytes`
    const tooLong = (answer: Answer, of: string, field: string, bytes: number) =>
      isInvalid(answer, of, "FieldValueTooLong", field, most(bytes))
    const annotated = (bytes: number) => ({ name: "a", annotations: { key: "x".repeat(bytes - 3) } })
    const many = widgets.object("a", { metadata: annotated(262_145) })
    const of = `Widget.${widgets.group} "a"`
    tooLong(yield* request("POST", widgets.path(ns), { body: many }), of, "metadata.annotations", 262_144)
    const most256 = widgets.object("a", { metadata: annotated(262_144) })
    assert.strictEqual((yield* request("POST", widgets.path(ns), { body: most256 })).status, 201)

    const big = configMap("a", { data: { a: "x".repeat(1_048_577) } })
    tooLong(yield* request("POST", configMapsOf(ns), { body: big }), "ConfigMap \"a\"", "[]", 1_048_576)
    const secret = { metadata: { name: "a" }, data: { a: "eHh4".repeat(349_526) } }
    const refused = yield* request("POST", `/api/v1/namespaces/${ns}/secrets`, { body: secret })
    tooLong(refused, "Secret \"a\"", "data", 1_048_576)
    const full = configMap("a", { data: { a: "x".repeat(1_048_576) } })
    assert.strictEqual((yield* request("POST", configMapsOf(ns), { body: full })).status, 201)
  }),

  statement("18a", "a body over 3 MiB is 413, whatever it says", {
    note: "the in-memory server called directly sees no bytes, and refuses the ConfigMap for its size"
  }, function*() {
    const { namespace, request, server } = yield* Target
    const path = configMapsOf(yield* namespace)
    const { error, status } = yield* request("POST", path, {
      body: configMap("a", { data: { a: "x".repeat(3 * 1024 * 1024) } })
    })
    if (server === "memory") {
      assert.deepStrictEqual([status, error.reason], [422, "Invalid"])
    } else {
      assert.deepStrictEqual([status, error.reason, error.code], [413, "RequestEntityTooLarge", 413])
      assert.strictEqual(error.message, "Request entity too large: limit is 3145728")
      assert.isUndefined(error.details)
    }
    assert.strictEqual((yield* request("GET", `${path}/a`)).status, 404)
  }),

  statement("19", "POST to the URL of a name is 405 for built-ins", {
    note: "for custom resources it creates, and the name in the URL means nothing"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const { object, path } = yield* kind()
    const { error, status } = yield* request("POST", `${configMapsOf(ns)}/a`, { body: configMap("a") })
    assert.deepStrictEqual([status, error.reason, error.details], [405, "MethodNotAllowed", {}])
    assert.strictEqual((yield* request("GET", `${configMapsOf(ns)}/a`)).status, 404)
    const created = yield* request("POST", path(ns, "a"), { body: object("b") })
    assert.deepStrictEqual([created.status, created.object.metadata.name], [201, "b"])
    assert.strictEqual((yield* request("GET", path(ns, "a"))).status, 404)
    assert.strictEqual((yield* request("GET", path(ns, "b"))).status, 200)
  }),

  statement("17a", "of the Secrets that a ServiceAccount names only the names are kept", {}, function*() {
    const { namespace, request } = yield* Target
    const path = `/api/v1/namespaces/${yield* namespace}/serviceaccounts`
    const account = (secrets: ReadonlyArray<object>) => ({
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "a" },
      secrets
    })
    const reference = { apiVersion: "v1", kind: "Secret", namespace: "elsewhere", uid: "u", fieldPath: "f" }
    const made = yield* request("POST", path, { body: account([{ ...reference, name: "s" }]) })
    assert.deepStrictEqual([made.status, made.object["secrets"]], [201, [{ name: "s" }]])
    const next = account([{ ...reference, name: "t" }, reference])
    const { object } = yield* request("PUT", `${path}/a`, { body: next })
    assert.deepStrictEqual(object["secrets"].slice(0, 2), [{ name: "t" }, {}])
  })
]
