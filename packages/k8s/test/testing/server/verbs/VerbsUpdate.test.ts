import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as StatusError from "../../../../src/api/StatusError.ts"
import type * as Admission from "../../../../src/testing/Admission.ts"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
import * as TestClient from "../../../../src/testing/TestClient.ts"
import {
  type Answer,
  call,
  configMap,
  configMaps,
  crds,
  del,
  get,
  layer,
  patch,
  pod,
  pods,
  post,
  put,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body.message}`

const unchanged = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const server = yield* ApiServer
    const before = yield* server.revision
    const result = yield* effect
    assert.strictEqual(yield* server.revision, before)
    return result
  })

describe("replace", () => {
  it.effect("needs a resourceVersion where the kind wants one", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a"))
      assert.strictEqual(
        message(yield* put(`${widgets}/a`, widget("a"))),
        "422 widgets.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"
      )
      yield* post(configMaps, configMap("a"))
      assert.strictEqual((yield* put(`${configMaps}/a`, configMap("a", { data: { k: "v" } }))).status, 200)
      const odd = yield* put(`${configMaps}/a`, configMap("a", { metadata: { resourceVersion: "abc" } }))
      assert.strictEqual(message(odd), "500 strconv.ParseUint: parsing \"abc\": invalid syntax")
    }).pipe(Effect.provide(layer)))

  it.effect("the group in an apiVersion may be there and empty", () =>
    Effect.gen(function*() {
      const written = { ...configMap("a"), apiVersion: "/v1" }
      assert.strictEqual((yield* post(configMaps, written)).status, 201)
      const { body, status } = yield* put(`${configMaps}/a`, { ...written, data: { k: "v" } })
      assert.deepStrictEqual([status, body.apiVersion], [200, "v1"])
      const query = "?fieldManager=m"
      const applied = yield* patch(`${configMaps}/a${query}`, "apply", { ...written, data: { l: "v" } })
      assert.deepStrictEqual([applied.status, applied.body.data], [200, { k: "v", l: "v" }])
    }).pipe(Effect.provide(layer)))

  it.effect("loses with a version that is not the stored one, even if nothing would change", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      yield* patch(`${configMaps}/a`, "merge", { metadata: { labels: { k: "v" } } })
      const { body: now } = yield* get(`${configMaps}/a`)
      const stale = { ...now, metadata: { ...now.metadata, resourceVersion: body.metadata.resourceVersion } }
      const refused = yield* unchanged(put(`${configMaps}/a`, stale))
      assert.strictEqual(
        message(refused),
        "409 Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your " +
          "changes to the latest version and try again"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("of a missing object creates it only where the kind does that", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* put(`${configMaps}/a`, configMap("a"))).status, 404)
      const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
      const lease = {
        metadata: { name: "l", resourceVersion: "7" },
        spec: { renewTime: "2020-01-01T01:00:00.000000+01:00" }
      }
      const created = yield* put(`${leases}/l`, lease)
      assert.strictEqual(created.status, 201)
      assert.strictEqual(created.body.spec.renewTime, "2020-01-01T00:00:00.000000Z")
      assert.strictEqual((yield* put(`${leases}/l`, { metadata: { name: "l" } })).status, 422)
      assert.strictEqual(
        (yield* put(`${leases}/m`, { metadata: { name: "m" }, spec: { renewTime: "2020-01-01T00:00:00Z" } })).status,
        400
      )
    }).pipe(Effect.provide(layer)))

  it.effect("cannot change who the object is", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      const other = yield* put(`${configMaps}/a`, { ...body, metadata: { ...body.metadata, uid: "other" } })
      assert.strictEqual(other.status, 409)
      assert.include(other.body.message, `UID in precondition: other, UID in object meta: ${body.metadata.uid}`)
      assert.strictEqual((yield* put(`${configMaps}/a`, configMap("b"))).status, 400)
      assert.strictEqual(
        message(yield* put(`${configMaps}/a`, configMap("a", { metadata: { namespace: "x" } }))),
        "400 the namespace of the provided object does not match the namespace sent on the request"
      )
      const absent = configMap("z", { metadata: { uid: "other" } })
      assert.strictEqual(message(yield* put(`${configMaps}/z`, absent)), "404 configmaps \"z\" not found")
      const moved = yield* put(`${configMaps}/a`, {
        ...body,
        metadata: { ...body.metadata, creationTimestamp: "2020-01-01T00:00:00Z", labels: { k: "v" } }
      })
      assert.strictEqual(moved.body.metadata.creationTimestamp, body.metadata.creationTimestamp)
    }).pipe(Effect.provide(layer)))

  it.effect("the generation counts changes of what is desired, and no client sets it", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const { body } = yield* post(widgets, widget("a", { metadata: { generation: 9 } }))
      assert.strictEqual(body.metadata.generation, 1)
      const labelled = yield* patch(`${widgets}/a`, "merge", { metadata: { labels: { k: "v" }, generation: 7 } })
      assert.strictEqual(labelled.body.metadata.generation, 1)
      const changed = yield* patch(`${widgets}/a`, "merge", { spec: { replicas: 5 } })
      assert.strictEqual(changed.body.metadata.generation, 2)
      yield* post(configMaps, configMap("a"))
      const plain = yield* put(`${configMaps}/a`, configMap("a", { metadata: { generation: 9 }, data: { k: "v" } }))
      assert.isUndefined(plain.body.metadata.generation, "a kind without generations")
    }).pipe(Effect.provide(layer)))

  it.effect("the generation of a PriorityClass stays the first", () =>
    Effect.gen(function*() {
      const url = "/apis/scheduling.k8s.io/v1/priorityclasses"
      const { body } = yield* post(url, { metadata: { name: "a" }, value: 1 })
      assert.strictEqual(body.metadata.generation, 1)
      const changed = yield* put(`${url}/a`, { ...body, description: "x" })
      assert.strictEqual(changed.body.metadata.generation, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("of a collection of custom resources is refused, by verb and by path", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const nameless = [yield* put(widgets, widget("a")), yield* patch(widgets, "merge", {})]
      for (const { body, status } of nameless) {
        assert.deepStrictEqual([status, body.message], [400, "name must be provided"])
      }
      const everywhere = "/apis/example.com/v1/widgets"
      const unserved = [
        yield* post(everywhere, widget("a")),
        yield* del(everywhere),
        yield* put(everywhere, widget("a"))
      ]
      for (const { body, status } of unserved) assert.deepStrictEqual([status, body], [404, "404 page not found\n"])
    }).pipe(Effect.provide(layer)))

  it.effect("status of a built-in kind is written with labels, but without spec", () =>
    Effect.gen(function*() {
      const { body } = yield* post(pods, pod("a"))
      const status = yield* put(`${pods}/a/status`, {
        ...body,
        metadata: { ...body.metadata, labels: { k: "v" } },
        spec: {},
        status: { phase: "Running" }
      })
      assert.deepStrictEqual(status.body.spec, body.spec)
      assert.deepStrictEqual(status.body.metadata.labels, { k: "v" })
      assert.strictEqual(status.body.metadata.generation, 1)
      const main = yield* put(`${pods}/a`, { ...status.body, status: { phase: "Failed" } })
      assert.strictEqual(main.body.status.phase, "Running")
    }).pipe(Effect.provide(layer)))

  it.effect("fields that may not change", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { immutable: true, data: { k: "1" } }))
      assert.strictEqual(
        message(yield* patch(`${configMaps}/a`, "merge", { data: { k: "2" } })),
        "422 ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set"
      )
      yield* post(pods, pod("a"))
      const refused = yield* patch(`${pods}/a`, "merge", { spec: { nodeName: "n" } })
      assert.strictEqual(refused.status, 422)
      assert.include(refused.body.message, "pod updates may not change fields other than")
      assert.strictEqual(
        (yield* patch(`${pods}/a`, "strategic", { spec: { containers: [{ name: "main", image: "app:2" }] } })).status,
        200
      )
    }).pipe(Effect.provide(layer)))

  it.effect("dry run changes nothing", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      const dry = yield* unchanged(put(`${configMaps}/a?dryRun=All`, { ...body, data: { k: "v" } }))
      assert.deepStrictEqual(dry.body.data, { k: "v" })
      assert.strictEqual(dry.body.metadata.resourceVersion, body.metadata.resourceVersion)
      assert.isUndefined((yield* get(`${configMaps}/a`)).body.data)
    }).pipe(Effect.provide(layer)))

  it.effect("an equal object with empty and null parts is not written", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      const same = { ...body, data: null, binaryData: {}, metadata: { ...body.metadata, labels: {}, finalizers: [] } }
      yield* unchanged(put(`${configMaps}/a`, same))
    }).pipe(Effect.provide(layer)))
})

describe("patch", () => {
  it.effect("null is no merge patch, and an empty strategic one", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      assert.strictEqual(message(yield* patch(`${configMaps}/a`, "merge", null)), "400 Invalid JSON Patch")
      assert.strictEqual((yield* patch(`${configMaps}/a`, "strategic", null)).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("what has lost its apiVersion is no object of anybody's", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a", { data: { k: "v" } }))
      const lost = (query: string) => patch(`${configMaps}/a${query}`, "merge", { apiVersion: null })
      const answer = yield* lost("")
      assert.match(message(answer), /^400 the name of the object \(a based on URL\) was undeterminable/)
      assert.strictEqual(
        answer.headers["warning"],
        "299 - \"unknown field \\\"data\\\"\", 299 - \"unknown field \\\"metadata\\\"\""
      )
      assert.match(
        message(yield* lost("?fieldValidation=Strict")),
        /^422  "" is invalid: patch: .*: strict decoding error: unknown field "data", unknown field "metadata"$/
      )
      assert.strictEqual((yield* patch(`${configMaps}/a`, "strategic", { apiVersion: null })).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("owners that are named twice are told of after admission", () =>
    Effect.gen(function*() {
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" }
      yield* post(configMaps, configMap("a"))
      const metadata = { ownerReferences: [owner, owner] }
      const patched = yield* patch(`${configMaps}/a`, "merge", { metadata })
      assert.match(patched.headers["warning"]!, /contains duplicate entries after mutating admission happens; /)
      assert.strictEqual(patched.body.metadata.ownerReferences.length, 1)
      const replaced = yield* put(`${configMaps}/a`, configMap("a", { metadata: { name: "a", ...metadata } }))
      assert.match(replaced.headers["warning"]!, /contains duplicate entries; /)
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a"))
      const status = yield* patch(`${widgets}/a/status`, "merge", { metadata })
      assert.match(status.headers["warning"]!, /contains duplicate entries after mutating admission happens; /)
      assert.notProperty(status.body.metadata, "ownerReferences")
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod's status brings neither owners nor a deletion", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u" }
      const metadata = { deletionTimestamp: "2020-01-01T00:00:00Z", ownerReferences: [owner] }
      const { body, status } = yield* patch(`${pods}/a/status`, "merge", { metadata, status: { message: "m" } })
      assert.strictEqual(status, 200)
      assert.notProperty(body.metadata, "deletionTimestamp")
      assert.notProperty(body.metadata, "ownerReferences")
      const deletion = message(
        yield* patch(`${pods}/a`, "merge", { metadata: { deletionTimestamp: "2020-01-01T00:00:00Z" } })
      )
      assert.match(deletion, /^422 Pod "a" is invalid: metadata.deletionTimestamp: /)
    }).pipe(Effect.provide(layer)))

  it.effect("needs an object, a known type and a body that is a patch", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a"))
      yield* post(configMaps, configMap("a"))
      assert.strictEqual((yield* patch(`${configMaps}/none`, "merge", {})).status, 404)
      assert.strictEqual((yield* patch(`${configMaps}/a`, "merge", [])).status, 400)
      assert.strictEqual((yield* patch(`${configMaps}/a`, "json", {})).status, 400)
      assert.strictEqual(
        (yield* patch(`${configMaps}/a`, "json", [{ op: "test", path: "/data", value: 1 }])).status,
        422
      )
      assert.strictEqual(message(yield* call("PATCH", `${configMaps}/a`, {})), "415 415: Unsupported Media Type")
      assert.strictEqual(
        message(yield* patch(`${widgets}/a`, "strategic", {})),
        "415 the body of the request was in an unknown format - accepted media types include: " +
          "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
      )
      assert.strictEqual((yield* patch(`${widgets}/a?fieldManager=m`, "apply", widget("a"))).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("cannot rename, and a resourceVersion in it is a guard", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      assert.strictEqual((yield* patch(`${configMaps}/a`, "merge", { metadata: { name: "b" } })).status, 400)
      assert.include(
        message(yield* patch(`${configMaps}/a`, "merge", { metadata: { uid: "x" } })),
        "422 ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable"
      )
      const { resourceVersion } = body.metadata
      const guarded = (value: string) =>
        patch(`${configMaps}/a`, "merge", { metadata: { resourceVersion }, data: { k: value } })
      assert.strictEqual((yield* guarded("1")).status, 200)
      assert.strictEqual((yield* guarded("2")).status, 409)
    }).pipe(Effect.provide(layer)))

  it.effect("without a resourceVersion never loses against another write", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      const one = yield* Effect.forkChild(patch(`${configMaps}/a`, "merge", { data: { slow: "1" } }))
      yield* TestClock.adjust(0)
      const two = yield* Effect.forkChild(patch(`${configMaps}/a?fieldManager=fast`, "merge", { data: { fast: "1" } }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([(yield* Fiber.join(one)).status, (yield* Fiber.join(two)).status], [200, 200])
      assert.deepStrictEqual((yield* get(`${configMaps}/a`)).body.data, { slow: "1", fast: "1" })
    }).pipe(Effect.provide(slowAdmission)))

  it.effect("of the status of a custom resource touches nothing else", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const { body } = yield* post(widgets, widget("a", { spec: { color: "red" } }))
      const status = yield* patch(`${widgets}/a/status`, "merge", {
        metadata: { labels: { k: "v" }, finalizers: ["x/y"] },
        spec: { color: "blue" },
        status: { phase: "Up" }
      })
      assert.deepStrictEqual(status.body.spec, body.spec)
      assert.isUndefined(status.body.metadata.labels)
      assert.isUndefined(status.body.metadata.finalizers)
      assert.deepStrictEqual(status.body.status, { phase: "Up" })
      const wrong = yield* patch(`${widgets}/a/status`, "merge", { status: { phase: 5 } })
      assert.strictEqual(wrong.status, 422)
    }).pipe(Effect.provide(layer)))
})

/** Every write but the fast one's takes a moment between its reading and its storing. */
const slowAdmission = (() => {
  const slow: Admission.Plugin = {
    name: "slow",
    validate: ({ object }) =>
      (object as { data?: { fast?: string } } | undefined)?.data?.fast === undefined
        ? Effect.sleep("10 millis")
        : Effect.void
  }
  // A watch would sleep, too: namespaces are created before the clock runs.
  const plugin: Admission.Plugin = {
    ...slow,
    validate: (attributes) => attributes.operation === "UPDATE" ? slow.validate!(attributes) : Effect.void
  }
  return TestClient.layer.pipe(Layer.provideMerge(ApiServer.layerOptions({ admission: [plugin] })))
})()

describe("admission", () => {
  const labelling: Admission.Plugin = {
    name: "labelling",
    mutate: (_, object) =>
      Effect.succeed({
        ...object,
        metadata: { ...object.metadata, labels: { ...object.metadata.labels, seen: "yes" } }
      }),
    validate: ({ name, operation, resource }) =>
      name === "forbidden"
        ? Effect.fail(StatusError.forbidden(resource, name, `no ${operation}`))
        : Effect.void
  }
  const admitting = TestClient.layer.pipe(Layer.provideMerge(ApiServer.layerOptions({ admission: [labelling] })))

  it.effect("plugins change and refuse writes", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      assert.deepStrictEqual((body as KubeObject).metadata.labels, { seen: "yes" })
      assert.strictEqual(
        message(yield* post(configMaps, configMap("forbidden"))),
        "403 configmaps \"forbidden\" is forbidden: no CREATE"
      )
      assert.strictEqual((yield* del(`${configMaps}/forbidden`)).status, 404)
    }).pipe(Effect.provide(admitting)))
})

describe("a document of another kind", () => {
  /** A Widget whose definition knows no `bogus`, with somebody's fields in it. */
  const stored = Effect.gen(function*() {
    yield* post(crds, widgetDefinition())
    const { body } = yield* post(widgets, widget("a", { spec: { replicas: 2 } }))
    return body
  })

  it.effect("gives its status as it is: a new version, whose managers are gone", () =>
    Effect.gen(function*() {
      const before = yield* stored
      assert.lengthOf(before.metadata.managedFields, 1)
      const other = { ...before, kind: "Nope", status: { bogus: { a: 1 } } }
      const { body, status } = yield* put(`${widgets}/a/status`, other)
      assert.strictEqual(status, 200)
      assert.notStrictEqual(body.metadata.resourceVersion, before.metadata.resourceVersion)
      assert.strictEqual(body.kind, "Widget")
      assert.isUndefined(body.status?.bogus)
      assert.isUndefined(body.metadata.managedFields)
    }).pipe(Effect.provide(layer)))

  it.effect("is not judged by the schema, but by its lists and rules", () =>
    Effect.gen(function*() {
      const definition = widgetDefinition()
      const version = definition["spec"].versions[0]
      version.schema.openAPIV3Schema.properties.spec.properties.tags = {
        type: "array",
        items: { type: "string" },
        "x-kubernetes-list-type": "set"
      }
      version.schema.openAPIV3Schema.properties.spec["x-kubernetes-validations"] = [
        { rule: "self.replicas < 5", message: "too many" }
      ]
      yield* post(crds, definition)
      const { body } = yield* post(widgets, widget("a", { spec: { replicas: 2 } }))
      const refused = yield* put(`${widgets}/a`, {
        ...body,
        kind: "Nope",
        spec: { replicas: 7, color: "green", tags: ["x", "x"] }
      })
      assert.deepStrictEqual(refused.body.details.causes, [
        { reason: "FieldValueInvalid", message: "Invalid value: \"Nope\": must be Widget", field: "kind" },
        { reason: "FieldValueDuplicate", message: "Duplicate value: \"x\"", field: "spec.tags[1]" },
        { reason: "FieldValueInvalid", message: "Invalid value: too many", field: "spec" }
      ])
    }).pipe(Effect.provide(layer)))
})
