/** Names, conditions, schemas, versions and the end of CustomResourceDefinitions: statements 98 to 100, 109 and 111. */
import { assert } from "@effect/vitest"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const mergePatch = "application/merge-patch+json"
const preserving = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

const version = (name: string, fields: object = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: preserving },
  ...fields
})

const definition = (group: string, names: { readonly plural: string; readonly kind: string }, spec: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${names.plural}.${group}` },
  spec: { group, scope: "Namespaced", names, versions: [version("v1")], ...spec }
})

/** The object of an event, whichever it is. */
const of = (event: WireEvent | undefined) => event!.object as KubeObject & Readonly<Record<string, any>>

const condition = (object: { readonly [key: string]: any }, type: string): { readonly [key: string]: any } =>
  object["status"]?.conditions?.find((found: { readonly type: string }) => found.type === type) ?? {}

export const customResourceDefinitions = [
  statement("98a", "a definition is named by plural and group", {}, function*() {
    const { request, unique } = yield* Target
    const group = `${unique("g")}.example.com`
    const body = { ...definition(group, { plural: "widgets", kind: "Widget" }), metadata: { name: "widgets" } }
    const { error, status } = yield* request("POST", definitions, { body })
    assert.strictEqual(status, 422)
    assert.strictEqual(error.reason, "Invalid")
    assert.strictEqual(
      error.message,
      `CustomResourceDefinition.apiextensions.k8s.io "widgets" is invalid: metadata.name: Invalid value: "widgets": ` +
        `must be spec.names.plural+"."+spec.group`
    )
    assert.deepInclude(error.details, { name: "widgets", group: "apiextensions.k8s.io" })
    const named = function*(metadata: object) {
      const { error } = yield* request("POST", definitions, { body: { ...body, metadata } })
      return error.details?.causes?.map(({ field, message = "" }) =>
        `${field}: ${message.replace(/ value: .*?:/, ":")}`
      )
    }
    assert.deepStrictEqual(yield* named({}), ["metadata.name: Required value: name or generateName is required"])
    assert.deepStrictEqual(yield* named({ generateName: "widgets-" }), [
      `metadata.generateName: Invalid: must be spec.names.plural+"."+spec.group`,
      `metadata.name: Invalid: must be spec.names.plural+"."+spec.group`
    ])
  }),

  statement("98b", "a definition whose names clash is not served until they are free", {
    note: "also Established False with reason NotAccepted, and acceptedNames without the clashing name"
  }, function*() {
    const { kind, namespace, request, until } = yield* Target
    const ns = yield* namespace
    const names = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", shortNames: ["wd"] }
    const first = yield* kind({ definition: { names } })
    const second = `${definitions}/gadgets.${first.group}`
    const other = { plural: "gadgets", singular: "gadget", kind: "Gadget", shortNames: ["wd"] }
    yield* request("POST", definitions, { body: definition(first.group, other) })
    const { object } = yield* until(
      request("GET", second),
      ({ object }) => condition(object, "Established")["status"] === "False"
    )
    assert.deepInclude(condition(object, "NamesAccepted"), {
      status: "False",
      reason: "ShortNamesConflict",
      message: `"wd" is already in use`
    })
    assert.deepInclude(condition(object, "Established"), {
      reason: "NotAccepted",
      message: "not all names are accepted"
    })
    assert.notProperty(object.status.acceptedNames, "shortNames")
    assert.strictEqual(object.status.acceptedNames.plural, "gadgets")
    const gadgets = first.path(ns).replace("widgets", "gadgets")
    assert.strictEqual((yield* request("GET", gadgets)).status, 404)
    yield* request("PATCH", second, {
      contentType: mergePatch,
      body: { spec: { names: { shortNames: null, singular: "widget" } } }
    })
    yield* until(
      request("GET", second),
      ({ object }) => condition(object, "NamesAccepted")["reason"] === "SingularConflict"
    )
    yield* request("DELETE", `${definitions}/widgets.${first.group}`)
    const freed = yield* until(
      request("GET", second),
      ({ object }) => condition(object, "Established")["status"] === "True"
    )
    assert.deepInclude(condition(freed.object, "NamesAccepted"), { status: "True", reason: "NoConflicts" })
    assert.strictEqual(freed.object.status.acceptedNames.singular, "widget")
    yield* until(request("GET", gadgets), ({ status }) => status === 200)
  }),

  statement(
    "98c",
    "a definition keeps its group and plural, and its scope and kind once it is established",
    {},
    function*() {
      const { kind, request } = yield* Target
      const widgets = yield* kind()
      const changed = function*(path: string, spec: object) {
        const { error, status } = yield* request("PATCH", path, { contentType: mergePatch, body: { spec } })
        return [status, ...error.details?.causes?.map(({ field, message }) => `${field}: ${message}`) ?? []]
      }
      const immutable = (field: string, value: string) => `${field}: Invalid value: "${value}": field is immutable`
      const path = `${definitions}/widgets.${widgets.group}`
      assert.deepStrictEqual(
        yield* changed(path, { group: "other.example.com", scope: "Cluster", names: { plural: "foos", kind: "Foo" } }),
        [
          422,
          immutable("spec.scope", "Cluster"),
          immutable("spec.names.kind", "Foo"),
          immutable("spec.group", "other.example.com"),
          immutable("spec.names.plural", "foos")
        ]
      )
      // A definition whose names clash is never established.
      const group = widgets.group
      const other = { plural: "gadgets", singular: "widget", kind: "Gadget" }
      yield* request("POST", definitions, { body: definition(group, other) })
      const unestablished = `${definitions}/gadgets.${group}`
      assert.deepStrictEqual(
        yield* changed(unestablished, {
          scope: "Cluster",
          names: { plural: "foos", kind: "Foo", listKind: "FooList" }
        }),
        [422, immutable("spec.names.plural", "foos")]
      )
      assert.deepStrictEqual(yield* changed(unestablished, { scope: "Cluster", names: { kind: "Foo" } }), [200])
    }
  ),

  statement("99", "a definition is first accepted, then established", {}, function*() {
    const { request, unique, until, watch } = yield* Target
    const group = `${unique("g")}.example.com`
    const path = `${definitions}/widgets.${group}`
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", definitions)
    const watching = yield* watch(definitions, { resourceVersion, fieldSelector: `metadata.name=widgets.${group}` })
    const created = yield* request("POST", definitions, {
      body: definition(group, { plural: "widgets", kind: "Widget" })
    })
    assert.strictEqual(created.status, 201)
    assert.deepStrictEqual(created.object.status.storedVersions, ["v1"])
    assert.deepEqual(created.object.status.conditions ?? [], [])
    assert.deepInclude(created.object.spec.names, { singular: "widget", listKind: "WidgetList" })
    const { object } = yield* until(
      request("GET", path),
      ({ object }) => condition(object, "Established")["status"] === "True"
    )
    assert.deepInclude(condition(object, "NamesAccepted"), {
      status: "True",
      reason: "NoConflicts",
      message: "no conflicts found"
    })
    assert.deepInclude(condition(object, "Established"), {
      reason: "InitialNamesAccepted",
      message: "the initial names have been accepted"
    })
    assert.deepStrictEqual(object.status.acceptedNames, object.spec.names)
    const [added, accepted, established] = yield* watching.take(3)
    assert.strictEqual(added!.type, "ADDED")
    assert.strictEqual(condition(of(accepted), "NamesAccepted")["status"], "True")
    assert.deepInclude(condition(of(accepted), "Established"), { status: "False", reason: "Installing" })
    assert.strictEqual(condition(of(established), "Established")["status"], "True")
  }),

  statement("100", "a definition needs a structural schema for every version", {
    note: "schemas that all versions share are spoken of as spec.validation"
  }, function*() {
    const { minor, request, unique } = yield* Target
    const group = `${unique("g")}.example.com`
    const post = (fields: object) =>
      request("POST", definitions, {
        body: definition(group, { plural: "widgets", kind: "Widget" }, { versions: [version("v1", fields)] })
      })
    const none = yield* post({ schema: undefined })
    assert.strictEqual(none.status, 422)
    const why = minor < 35 ? ": schemas are required" : ""
    assert.include(none.error.message, `spec.versions[0].schema.openAPIV3Schema: Required value${why}`)
    const untyped = yield* post({
      schema: { openAPIV3Schema: { type: "object", properties: { spec: { properties: { x: { type: "integer" } } } } } }
    })
    assert.strictEqual(untyped.status, 422)
    assert.include(
      untyped.error.message,
      "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields"
    )
    const inner = yield* post({
      schema: { openAPIV3Schema: { type: "object", anyOf: [{ properties: { a: { type: "string" } } }] } }
    })
    assert.strictEqual(inner.status, 422)
    assert.include(
      inner.error.message,
      "spec.validation.openAPIV3Schema.anyOf[0].properties[a].type: Forbidden: must be empty to be structural"
    )
    assert.strictEqual((yield* request("GET", `${definitions}/widgets.${group}`)).status, 404)
  }),

  statement("109", "one version is stored, all served ones are spoken", {
    note: "a version that objects may be stored in cannot be taken out: 422 on status.storedVersions[0]"
  }, function*() {
    const { kind, namespace, request, until, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = `${definitions}/widgets.${widgets.group}`
    const v2 = (at: string) => at.replace("/v1/", "/v2/")
    const { object: created } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const versions = (v1: object, v2: object) =>
      request("PATCH", path, {
        contentType: mergePatch,
        body: { spec: { versions: [version("v1", v1), version("v2", v2)] } }
      })
    const both = yield* versions({ storage: false }, {})
    assert.deepStrictEqual(both.object.status.storedVersions, ["v1", "v2"])
    const { object: seen } = yield* until(request("GET", v2(widgets.path(ns, "a"))), ({ status }) => status === 200)
    assert.deepStrictEqual(seen, { ...created, apiVersion: `${widgets.group}/v2` }, "only the apiVersion changes")
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", v2(widgets.path(ns)))
    const watching = yield* watch(v2(widgets.path(ns)), { resourceVersion })
    const rewritten = yield* request("PUT", widgets.path(ns, "a"), { body: { ...created, spec: { x: 2 } } })
    assert.deepInclude(rewritten.object, { apiVersion: `${widgets.group}/v1`, spec: { x: 2 } })
    const [event] = yield* watching.take(1)
    assert.deepInclude(of(event), { apiVersion: `${widgets.group}/v2`, spec: { x: 2 } })
    const two = yield* versions({}, {})
    assert.strictEqual(two.status, 422)
    assert.include(two.error.message, "must have exactly one version marked as storage version")
    const removed = yield* request("PATCH", path, {
      contentType: mergePatch,
      body: { spec: { versions: [version("v2")] } }
    })
    assert.strictEqual(removed.status, 422)
    assert.strictEqual(removed.error.details?.causes?.[0]?.field, "status.storedVersions[0]")
    yield* versions({ storage: false, served: false }, {})
    yield* until(request("GET", widgets.path(ns, "a")), ({ status }) => status === 404)
    assert.strictEqual((yield* request("GET", v2(widgets.path(ns, "a")))).status, 200)
  }),

  statement("111a", "a definition being deleted waits for its objects, and they for their finalizers", {
    note: "DELETE answers with the definition; meanwhile nothing can be created: 403, on older servers 405"
  }, function*() {
    const { kind, minor, namespace, request, until, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = `${definitions}/widgets.${widgets.group}`
    const cleanup = "customresourcecleanup.apiextensions.k8s.io"
    yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const { object: held } = yield* request("POST", widgets.path(ns), {
      body: widgets.object("b", { metadata: { name: "b", finalizers: ["example.com/f"] } })
    })
    const watching = yield* watch(widgets.path(ns), { resourceVersion: held.metadata.resourceVersion })
    const { object: before } = yield* request("GET", path)
    const { object, status } = yield* request("DELETE", path)
    assert.strictEqual(status, 200)
    assert.strictEqual(object.kind, "CustomResourceDefinition")
    assert.match(object.metadata.deletionTimestamp!, /Z$/)
    assert.isUndefined(object.metadata.deletionGracePeriodSeconds)
    assert.strictEqual(object.metadata.generation, before.metadata.generation)
    assert.include(object.metadata.finalizers ?? [], cleanup)
    const events = yield* watching.take(2)
    assert.sameMembers(events.map((event) => `${event.type} ${of(event).metadata.name}`), [
      "DELETED a",
      "MODIFIED b"
    ])
    const waiting = yield* until(
      request("GET", path),
      ({ object }) => condition(object, "Terminating")["reason"] !== "InstanceDeletionPending"
    )
    assert.deepInclude(condition(waiting.object, "Terminating"), {
      status: "True",
      reason: "InstanceDeletionInProgress"
    })
    const refused = yield* request("POST", widgets.path(ns), { body: widgets.object("c") })
    const why = "create not allowed while custom resource definition is terminating"
    assert.deepStrictEqual(
      [refused.status, refused.error.message],
      minor < 30 ? [405, why] : [403, `widgets.${widgets.group} "c" is forbidden: ${why}`]
    )
    yield* request("PATCH", widgets.path(ns, "b"), {
      contentType: mergePatch,
      body: { metadata: { finalizers: null } }
    })
    yield* until(request("GET", path), ({ status }) => status === 404)
    const [last] = yield* watching.take(1)
    assert.strictEqual(last!.type, "DELETED")
    yield* watching.ended
    yield* until(request("GET", widgets.path(ns)), ({ status }) => status === 404)
  }),

  statement(
    "111b",
    "a definition whose objects are gone waits for other finalizers, and takes objects again",
    {},
    function*() {
      const { kind, namespace, request, until } = yield* Target
      const ns = yield* namespace
      const widgets = yield* kind()
      const path = `${definitions}/widgets.${widgets.group}`
      const finalizers = (value: unknown) =>
        request("PATCH", path, { contentType: mergePatch, body: { metadata: { finalizers: value } } })
      const { object } = yield* request("GET", path)
      yield* finalizers([...object.metadata.finalizers ?? [], "example.com/hold"])
      yield* request("DELETE", path)
      const held = yield* until(
        request("GET", path),
        ({ object }) => condition(object, "Terminating")?.["status"] === "False"
      )
      assert.deepStrictEqual(held.object.metadata.finalizers, ["example.com/hold"])
      yield* until(
        request("POST", widgets.path(ns), { body: widgets.object("a"), query: { dryRun: "All" } }),
        ({ status }) => status === 201
      )
      assert.strictEqual((yield* finalizers(null)).status, 200)
      yield* until(request("GET", path), ({ status }) => status === 404)
    }
  )
]
