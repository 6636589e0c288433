import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"
import { faults } from "./names.ts"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

const configMapsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`

const merge = (body: object) => ({ body, contentType: "application/merge-patch+json" })

const versionOf = ({ object }: Answer): string => object.metadata.resourceVersion

const isConflict = ({ error, status }: Answer, message: string) => {
  assert.deepStrictEqual([status, error.reason, error.code], [409, "Conflict", 409])
  assert.strictEqual(error.message, message)
}

export const metadata = [
  statement("20", "what is not there is 404 NotFound, and says what", {
    note: "in a namespace that does not exist, it is the object that is not found"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const { group, path } = yield* kind()
    const missing = [
      ["GET", `${configMapsOf(ns)}/a`, `configmaps "a" not found`, { name: "a", kind: "configmaps" }],
      ["DELETE", `${configMapsOf(ns)}/a`, `configmaps "a" not found`, { name: "a", kind: "configmaps" }],
      ["GET", `${configMapsOf(`${ns}-not`)}/a`, `configmaps "a" not found`, { name: "a", kind: "configmaps" }],
      ["GET", path(ns, "a"), `widgets.${group} "a" not found`, { name: "a", group, kind: "widgets" }],
      ["GET", `/api/v1/namespaces/${ns}-not`, `namespaces "${ns}-not" not found`, {
        name: `${ns}-not`,
        kind: "namespaces"
      }]
    ] as const
    for (const [method, url, message, details] of missing) {
      const { body, status } = yield* request(method, url)
      assert.strictEqual(status, 404)
      assert.deepStrictEqual(body, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message,
        reason: "NotFound",
        details,
        code: 404
      })
    }
  }),

  statement("21", "a GET sees its own writes, with the version they gave or without one", {
    note: "what is no number is 500 without a reason; an empty version is none; \"0\" may lag"
  }, function*() {
    const { kind, namespace, request, until } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    for (
      const [path, body] of [
        [configMapsOf(ns), configMap("a", { data: { x: "0" } })],
        [widgets.path(ns), widgets.object("a", { data: { x: "0" } })]
      ] as const
    ) {
      const created = yield* request("POST", path, { body })
      const patched = yield* request("PATCH", `${path}/a`, merge({ metadata: { labels: { a: "b" } } }))
      for (const resourceVersion of [undefined, "", versionOf(created), versionOf(patched)]) {
        const query = resourceVersion === undefined ? {} : { resourceVersion }
        const { body, status } = yield* request("GET", `${path}/a`, { query })
        assert.strictEqual(status, 200)
        // An older version is answered by what is at least as new: perhaps not by the newest.
        if (resourceVersion !== versionOf(created)) assert.deepStrictEqual(body, patched.body)
      }
      const any = request("GET", `${path}/a`, { query: { resourceVersion: "0" } })
      yield* until(any, (answer) => answer.status === 200 && versionOf(answer) === versionOf(patched))
      const { error, status } = yield* request("GET", `${path}/a`, { query: { resourceVersion: "abc" } })
      assert.deepStrictEqual([status, error.reason, error.details], [500, undefined, undefined])
      const why = "strconv.ParseUint: parsing \"abc\": invalid syntax"
      assert.strictEqual(error.message, `resourceVersion: Invalid value: "abc": ${why}`)
    }
  }),

  statement("22", "a read at a version not yet reached waits for it", {}, function*() {
    const { kind, namespace, request, sleep } = yield* Target
    const ns = yield* namespace
    const { object, path } = yield* kind()
    // What the cluster makes in new namespaces is there then.
    yield* sleep(50)
    const created = yield* request("POST", path(ns), { body: object("a") })
    // Far enough that nobody else's writes reach it.
    const resourceVersion = String(BigInt(versionOf(created)) + 20n)
    const reads = yield* Effect.forkScoped(
      Effect.all([
        request("GET", path(ns, "a"), { query: { resourceVersion } }),
        request("GET", path(ns), { query: { resourceVersion } })
      ], { concurrency: "unbounded" }),
      { startImmediately: true }
    )
    yield* sleep(50)
    const isWaiting = reads.pollUnsafe() === undefined
    // Somebody else may have written, too.
    const now = versionOf(yield* request("GET", path(ns)))
    assert.isTrue(isWaiting || Number(now) >= Number(resourceVersion), "still waiting")
    // Several at a time: three seconds are all that it waits.
    const values = Array.from({ length: 23 }, (_, nth) => nth + 2)
    yield* Effect.forEach(values, (x) => request("PATCH", path(ns, "a"), merge({ spec: { x } })), {
      concurrency: 4,
      discard: true
    })
    for (const answer of yield* Fiber.join(reads)) {
      assert.strictEqual(answer.status, 200)
      assert.isAtLeast(Number(versionOf(answer)), Number(resourceVersion))
    }
  }),

  statement("22a", "a read at a version that does not come is 504 after three seconds", {
    note: "the in-memory server called directly waits them out in virtual time"
  }, function*() {
    const { namespace, request, server } = yield* Target
    const ns = yield* namespace
    const path = configMapsOf(ns)
    yield* request("POST", path, { body: configMap("a") })
    const resourceVersion = "999999999"
    const query = { query: { resourceVersion } }
    const both = Effect.all([request("GET", `${path}/a`, query), request("GET", path, query)], {
      concurrency: "unbounded"
    })
    const virtually = Effect.gen(function*() {
      const answers = yield* Effect.forkChild(both, { startImmediately: true })
      yield* TestClock.adjust("2999 millis")
      assert.isUndefined(answers.pollUnsafe(), "not before three seconds")
      yield* TestClock.adjust("1 millis")
      return yield* Fiber.join(answers)
    }).pipe(Effect.provide(TestClock.layer()))
    for (const { error, headers, status } of yield* server === "memory" ? virtually : both) {
      assert.deepStrictEqual([status, error.reason, error.code], [504, "Timeout", 504])
      assert.match(error.message!, /^Timeout: Too large resource version: 999999999, current: \d+$/)
      assert.deepStrictEqual(error.details, {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1
      })
      assert.strictEqual(headers["retry-after"], "1")
    }
  }),

  statement("26", "versions grow over the whole store, and lists and deletions have theirs too", {
    note: "decimals to compare by every server so far; promised within a resource since 1.35"
  }, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const [ns, other] = [yield* namespace, yield* namespace]
    const { object, path } = yield* kind()
    const versions: Array<string> = []
    const take = (answer: Answer) => versions.push(versionOf(answer))
    take(yield* request("POST", configMapsOf(ns), { body: configMap("a") }))
    const watching = yield* watch(configMapsOf(ns), {
      resourceVersion: versions[0]!,
      // The namespace is given the certificates to trust at any time.
      fieldSelector: "metadata.name=a"
    })
    take(yield* request("POST", path(other), { body: object("a") }))
    take(yield* request("POST", configMapsOf(other), { body: configMap("a") }))
    take(yield* request("PATCH", path(other, "a"), merge({ spec: { x: 2 } })))
    take(yield* request("PATCH", `${configMapsOf(ns)}/a`, merge({ data: { x: "1" } })))
    yield* request("DELETE", `${configMapsOf(ns)}/a`)
    const [modified, deleted] = yield* watching.take(2)
    assert.strictEqual((modified!.object.metadata as { resourceVersion: string }).resourceVersion, versions.at(-1)!)
    assert.strictEqual(deleted!.type, "DELETED")
    versions.push((deleted!.object.metadata as { resourceVersion: string }).resourceVersion)
    const list = yield* request("GET", path(other))
    assert.isAtLeast(Number(versionOf(list)), Number(versions.at(-1)))
    for (const version of versions) assert.match(version, /^[1-9]\d*$/)
    const sorted = versions.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    assert.deepStrictEqual(versions, sorted)
    assert.strictEqual(new Set(versions).size, versions.length)
  }),

  statement("27", "uid and creationTimestamp stay as they are", {
    note:
      "a PUT with another uid is a failed precondition, on older servers also where there is no object; a PATCH is 422"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const uid = "11111111-1111-4111-8111-111111111111"
    const paths = [
      [configMapsOf(ns), configMap, "configmaps", "configmaps"],
      [widgets.path(ns), widgets.object, `widgets.${widgets.group}`, `${widgets.group}/widgets`]
    ] as const
    for (const [path, make, resource, prefix] of paths) {
      const { object: { metadata } } = yield* request("POST", path, { body: make("a") })
      const failed = (name: string, found: string) =>
        `Operation cannot be fulfilled on ${resource} "${name}": StorageError: invalid object, Code: 4, Key: ` +
        `/registry/${prefix}/${ns}/${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in ` +
        `precondition: ${uid}, UID in object meta: ${found}`
      const { resourceVersion } = metadata
      const put = (name: string, fields: object) =>
        request("PUT", `${path}/${name}`, { body: make(name, { metadata: { name, resourceVersion, ...fields } }) })
      isConflict(yield* put("a", { uid }), failed("a", metadata.uid))
      const absent = yield* put("b", { uid })
      if (minor < 30) isConflict(absent, failed("b", ""))
      else assert.deepStrictEqual([absent.status, absent.error.message], [404, `${resource} "b" not found`])
      const immutable = (field: string, value: string) =>
        `metadata.${field}: Invalid value: ${value}: field is immutable`
      const patched = yield* request("PATCH", `${path}/a`, merge({ metadata: { uid } }))
      assert.deepStrictEqual(faults(patched), [immutable("uid", `"${uid}"`)])
      const deleted = yield* request(
        "PATCH",
        `${path}/a`,
        merge({ metadata: { deletionTimestamp: "2000-01-01T00:00:00Z" } })
      )
      assert.match(
        faults(deleted)[0]!,
        /^metadata.deletionTimestamp: Invalid value: .*2000-01-01.*: field is immutable$/
      )
      const grace = yield* request("PATCH", `${path}/a`, merge({ metadata: { deletionGracePeriodSeconds: 4 } }))
      assert.deepStrictEqual(faults(grace), [immutable("deletionGracePeriodSeconds", "4")])

      const creationTimestamp = "2000-01-01T00:00:00Z"
      const kept = yield* put("a", { creationTimestamp, uid: "", labels: { a: "b" } })
      assert.strictEqual(kept.status, 200)
      assert.deepInclude(kept.object.metadata, { uid: metadata.uid, creationTimestamp: metadata.creationTimestamp })
      const same = yield* request("PATCH", `${path}/a`, merge({ metadata: { creationTimestamp } }))
      assert.deepStrictEqual([same.status, versionOf(same)], [200, versionOf(kept)], "nothing changed")
    }
  }),

  statement("28", "no client sets the generation", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const { object, path } = yield* kind()
    const created = yield* request("POST", path(ns), { body: object("a") })
    const patch = (body: object) => request("PATCH", path(ns, "a"), merge(body))
    for (const generation of [9, 0, -1]) {
      const same = yield* patch({ metadata: { generation } })
      assert.deepStrictEqual([same.status, same.object.metadata.generation], [200, 1])
      assert.strictEqual(versionOf(same), versionOf(created))
    }
    const changed = yield* patch({ metadata: { generation: 9 }, spec: { x: 5 } })
    assert.deepStrictEqual([changed.status, changed.object.metadata.generation], [200, 2])
    yield* request("POST", configMapsOf(ns), { body: configMap("a") })
    const put = configMap("a", { metadata: { name: "a", generation: 9 }, data: { x: "1" } })
    const { object: { metadata }, status } = yield* request("PUT", `${configMapsOf(ns)}/a`, { body: put })
    assert.deepStrictEqual([status, metadata.generation], [200, undefined])
    const negative = configMap("b", { metadata: { name: "b", generation: -1 } })
    assert.deepStrictEqual(faults(yield* request("POST", configMapsOf(ns), { body: negative })), [
      "metadata.generation: Invalid value: -1: must be greater than or equal to 0"
    ])
  }),

  statement("29", "the generation of a custom resource counts changes outside of its metadata", {
    note: "a status that is a subresource is ignored, any other counts"
  }, function*() {
    const { kind, minor, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const properties = { spec: { type: "object", properties: { x: { type: "integer" } } } }
    const open = { "x-kubernetes-preserve-unknown-fields": true }
    const schema = { type: "object", ...open, properties }
    for (const split of [true, false]) {
      const { object, path } = yield* kind({ schema, status: split })
      const created = yield* request("POST", path(ns), { body: object("a") })
      const watching = yield* watch(path(ns), { resourceVersion: versionOf(created) })
      const patch = Effect.fnUntraced(function*(body: object) {
        const answer = yield* request("PATCH", path(ns, "a"), merge(body))
        assert.strictEqual(answer.status, 200)
        return answer
      })
      const spec = yield* patch({ spec: { x: 2 } })
      assert.strictEqual(spec.object.metadata.generation, 2)
      const status = yield* patch({ status: { phase: "Ready" } })
      assert.strictEqual(status.object.metadata.generation, split ? 2 : 3)
      // Old servers note who wrote the status before they drop it.
      if (minor > 21 || !split) assert.strictEqual(versionOf(status) === versionOf(spec), split)
      assert.strictEqual("status" in status.object, !split)
      const more = yield* patch({ more: { y: 1 } })
      assert.strictEqual(more.object.metadata.generation, split ? 3 : 4)
      const seen = new Map([spec, status, more].map((answer) => [versionOf(answer), answer.object] as const))
      const events = yield* watching.take(seen.size)
      assert.deepStrictEqual(events.map(({ object }) => object), [...seen.values()] as never)
    }
  }),

  statement("30", "a change of metadata alone is a new version, but no new generation", {}, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const { object, path } = yield* kind()
    const { object: owner } = yield* request("POST", configMapsOf(ns), { body: configMap("owner") })
    const policies = `/apis/networking.k8s.io/v1/namespaces/${ns}/networkpolicies`
    const policy = { metadata: { name: "a" }, spec: { podSelector: {} } }
    for (const [collection, body] of [[path(ns), object("a")], [policies, policy]] as const) {
      const created = yield* request("POST", collection, { body })
      assert.strictEqual(created.status, 201)
      const watching = yield* watch(collection, { resourceVersion: versionOf(created) })
      const changes = [
        { labels: { a: "b" } },
        { annotations: { a: "b" } },
        { finalizers: ["a.com/b"] },
        { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid }] },
        { finalizers: null, ownerReferences: null }
      ]
      const versions = [versionOf(created)]
      for (const metadata of changes) {
        const answer = yield* request("PATCH", `${collection}/a`, merge({ metadata }))
        assert.deepStrictEqual([answer.status, answer.object.metadata.generation], [200, 1])
        assert.notStrictEqual(versionOf(answer), versions.at(-1))
        versions.push(versionOf(answer))
      }
      const events = yield* watching.take(changes.length)
      for (const [index, event] of events.entries()) {
        assert.strictEqual(event.type, "MODIFIED")
        assert.deepInclude(event.object.metadata, { resourceVersion: versions[index + 1]!, generation: 1 })
      }
    }
  })
]
