/** Objects in the versions of their kind, stored and shown: statements 72 and 109. */
import { assert } from "@effect/vitest"
import { asked, converted, converting, failed, failing, type Json, mergePatch, version } from "../Converting.ts"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

export const versions = [
  statement("72b", "a watch shows what the webhook makes of every event", {}, function*() {
    const { request, watch } = yield* Target
    const { answers, group, path, widget } = yield* converting()
    const labelled = (review: Json): Json =>
      converted(review, (object) => ({
        ...object,
        metadata: { ...object["metadata"], labels: { even: String(object["spec"].x % 2 === 0) } }
      }))
    answers(labelled)
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    const all = yield* watch(path("v2"))
    const even = yield* watch(path("v2"), { labelSelector: "even=true" })
    const of = (event: { readonly type: string; readonly object: unknown }) => {
      const object = event.object as Json
      return [event.type, object["apiVersion"], object["metadata"].name, object["spec"].x]
    }
    assert.deepStrictEqual((yield* all.take(1)).map(of), [["ADDED", `${group}/v2`, "a", 1]])
    const write = (of: string, x: number) =>
      request("PATCH", path(of, "a"), { contentType: mergePatch, body: { spec: { x } } })
    yield* write("v1", 2)
    yield* write("v2", 4)
    yield* write("v1", 5)
    yield* request("DELETE", path("v1", "a"))
    assert.deepStrictEqual((yield* all.take(4)).map(of), [
      ["MODIFIED", `${group}/v2`, "a", 2],
      ["MODIFIED", `${group}/v2`, "a", 4],
      ["MODIFIED", `${group}/v2`, "a", 5],
      ["DELETED", `${group}/v2`, "a", 5]
    ])
    assert.deepStrictEqual((yield* even.take(3)).map(of), [
      ["ADDED", `${group}/v2`, "a", 2],
      ["MODIFIED", `${group}/v2`, "a", 4],
      ["DELETED", `${group}/v2`, "a", 4]
    ])
  }),

  statement("72c", "a watch whose events cannot be converted ends", {}, function*() {
    const { request, watch } = yield* Target
    const { answers, group, path, widget } = yield* converting()
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    const watching = yield* watch(path("v2"))
    assert.strictEqual((yield* watching.take(1))[0]!.type, "ADDED")
    answers(failing)
    yield* request("PATCH", path("v1", "a"), { contentType: mergePatch, body: { spec: { x: 2 } } })
    yield* watching.ended
    answers((review) => converted(review))
    const again = yield* request("GET", path("v2", "a"))
    assert.strictEqual(again.status, 200)
    assert.strictEqual(again.object.apiVersion, `${group}/v2`)
    assert.strictEqual(again.object["spec"].x, 2)
  }),

  statement("109a", "objects keep the form they were stored in until they are written again", {}, function*() {
    const { minor, request } = yield* Target
    const { definition, path, redefine, webhook, widget } = yield* converting()
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    yield* request("POST", path("v1"), { body: widget("v1", "b") })
    const switched = yield* redefine({ versions: [version("v1", false), version("v2", true)] })
    assert.deepStrictEqual(switched.object["status"].storedVersions, ["v1", "v2"])
    const from = (start: number) => asked(webhook, start).map(({ objects }) => objects[0]!["apiVersion"].split("/")[1])
    const { object: before } = yield* request("GET", path("v1", "a"))
    const { object: after, status } = yield* request("PATCH", path("v1", "a"), { contentType: mergePatch, body: {} })
    assert.strictEqual(status, 200)
    // Nothing changed, but it is stored as v2 now.
    assert.notStrictEqual(after.metadata.resourceVersion, before.metadata.resourceVersion)
    const start = webhook.received.length
    const { object: migrated } = yield* request("GET", path("v2", "a"))
    assert.deepStrictEqual(migrated["spec"], { x: 1, defaultv2: "v2" })
    const { object: old } = yield* request("GET", path("v2", "b"))
    assert.deepStrictEqual(old["spec"], { x: 1 })
    assert.include(from(start), "v1")
    const kept = yield* request("PATCH", definition, {
      contentType: mergePatch,
      body: { spec: { versions: [version("v2", true)] } }
    })
    assert.strictEqual(kept.status, 422)
    assert.deepStrictEqual(kept.error.details?.causes, [{
      reason: "FieldValueInvalid",
      message: `Invalid value: "v1": ${
        minor < 35
          ? "must appear in spec.versions"
          : "missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a " +
            "storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"
      }`,
      field: "status.storedVersions[0]"
    }])
  }),

  statement("109b", "without a webhook a field that the storage version lacks is lost", {
    note: "defaults are those of the version an object was stored in; the version it is shown in only prunes"
  }, function*() {
    const { request } = yield* Target
    const { path, webhook, widget } = yield* converting({ conversion: { strategy: "None" } })
    const created = yield* request("POST", path("v2"), {
      body: widget("v2", "a", { spec: { x: 1, onlyv1: "unknown", onlyv2: "lost" } })
    })
    assert.strictEqual(created.status, 201)
    assert.deepStrictEqual(created.object["spec"], { x: 1 })
    assert.deepStrictEqual((yield* request("GET", path("v1", "a"))).object["spec"], { x: 1, defaultv1: "v1" })
    const dry = yield* request("PATCH", path("v2", "a"), {
      contentType: mergePatch,
      query: { dryRun: "All" },
      body: { spec: { x: 2, onlyv2: "lost" } }
    })
    assert.deepStrictEqual(dry.object["spec"], { x: 2 })
    assert.strictEqual(webhook.received.length, 0)
  }),

  statement("109c", "objects of a version that is gone cannot be read", {}, function*() {
    const { request } = yield* Target
    const { definition, group, path, redefine, widget } = yield* converting({ conversion: { strategy: "None" } })
    yield* request("POST", path("v1"), { body: widget("v1", "a") })
    yield* redefine({ versions: [version("v1", false), version("v2", true)] })
    yield* request("POST", path("v2"), { body: widget("v2", "b") })
    const status = yield* request("PATCH", `${definition}/status`, {
      contentType: mergePatch,
      body: { status: { storedVersions: ["v2"] } }
    })
    assert.deepStrictEqual(status.object["status"].storedVersions, ["v2"])
    const gone = yield* redefine({ versions: [version("v2", true)] })
    assert.strictEqual(gone.status, 200)
    const why = `request to convert CR from an invalid group/version: ${group}/v1`
    assert.strictEqual(failed(yield* request("GET", path("v2", "a"))), why)
    assert.strictEqual(failed(yield* request("GET", path("v2"))), why)
    assert.strictEqual((yield* request("GET", path("v2", "b"))).status, 200)
    assert.strictEqual(failed(yield* request("DELETE", path("v2", "a"))), why)
    // Its version comes back, and so does it.
    yield* redefine({ versions: [version("v1", false), version("v2", true)] })
    assert.strictEqual((yield* request("GET", path("v2", "a"))).status, 200)
  })
]
