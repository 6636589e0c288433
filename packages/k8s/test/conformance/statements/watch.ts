import { assert } from "@effect/vitest"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const lease = (name: string, fields: object = {}) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
  ...fields
})

const held = (holderIdentity: string) => ({ spec: { holderIdentity } })

const merge = "application/merge-patch+json"

/** The object of an event, whichever it is. */
const of = (event: WireEvent | undefined) => event!.object as KubeObject & Readonly<Record<string, any>>

const versionOf = (event: WireEvent | undefined): number => Number(of(event).metadata.resourceVersion)

/** What happened, as `ADDED a`. */
const told = (events: ReadonlyArray<WireEvent>): ReadonlyArray<string> =>
  events.map((event) => `${event.type} ${of(event).metadata.name}`)

/**
 * Leases of a new namespace: their path, where a watch of them starts, and the usual writes.
 *
 * Leases because no controller puts one of its own into every namespace.
 */
const leases = Effect.gen(function*() {
  const { namespace, request } = yield* Target
  const ns = yield* namespace
  const path = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`
  const { object: { metadata: { resourceVersion } } } = yield* request("GET", path)
  return {
    ns,
    path,
    resourceVersion: resourceVersion as string,
    create: (name: string, fields: object = {}) => request("POST", path, { body: lease(name, fields) }),
    patch: (name: string, body: object) => request("PATCH", `${path}/${name}`, { body, contentType: merge }),
    remove: (name: string) => request("DELETE", `${path}/${name}`)
  }
})

export const watch = [
  statement("58", "a watch from N tells every later change once, in order, whenever it starts", {}, function*() {
    const { request, watch } = yield* Target
    const { create, patch, path, remove, resourceVersion } = yield* leases
    const early = yield* watch(path, { resourceVersion })
    assert.deepStrictEqual(yield* early.within(10), [], "nothing has happened yet")
    yield* create("a")
    const { object: changed } = yield* patch("a", held("v"))
    yield* remove("a")
    yield* create("b")
    const events = yield* early.take(4)
    assert.deepStrictEqual(told(events), ["ADDED a", "MODIFIED a", "DELETED a", "ADDED b"])
    const versions = events.map(versionOf)
    assert.isTrue(versions.every((version, i) => version > (versions[i - 1] ?? Number(resourceVersion))))
    assert.strictEqual(of(events[1]).metadata.resourceVersion, changed.metadata.resourceVersion)
    const late = yield* watch(path, { resourceVersion })
    assert.deepStrictEqual(yield* late.take(4), events)
    const rest = yield* watch(path, { resourceVersion: changed.metadata.resourceVersion })
    assert.deepStrictEqual(yield* rest.take(2), events.slice(2))
    const { object } = yield* request("GET", path)
    const none = yield* watch(path, { resourceVersion: object.metadata.resourceVersion })
    yield* create("c")
    for (const watching of [early, late, rest, none]) {
      assert.deepStrictEqual(told(yield* watching.take(1)), ["ADDED c"], "and nothing in between")
    }
  }),

  statement("58a", "a resourceVersion that is no number is a plain 500", {
    note: "the documentation promises opaque versions; the server parses them"
  }, function*() {
    const { watch } = yield* Target
    const { path } = yield* leases
    const { response } = yield* watch(path, { resourceVersion: "abc" })
    assert.strictEqual(response.status, 500)
    assert.deepInclude(response.body, {
      kind: "Status",
      message: `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`,
      code: 500
    })
    assert.notProperty(response.body, "reason")
  }),

  statement("59", "without a version, or from 0, a watch first adds what is there, then goes on", {}, function*() {
    const { request, until, watch } = yield* Target
    const { create, patch, path, remove } = yield* leases
    yield* create("gone")
    yield* remove("gone")
    yield* create("a")
    yield* create("b")
    const { object: a } = yield* patch("a", held("v"))
    const version = a.metadata.resourceVersion
    // The cache behind both may lag behind the writes.
    yield* until(
      request("GET", path, { query: { resourceVersion: "0" } }),
      ({ object }) => object["items"].some((item: KubeObject) => item.metadata.resourceVersion === version)
    )
    const both = yield* Effect.forEach([{}, { resourceVersion: "0" }], (query) => watch(path, query))
    for (const watching of both) {
      const first = yield* watching.take(2)
      assert.deepStrictEqual([...told(first)].sort(), ["ADDED a", "ADDED b"])
      const shown = of(first.find((event) => of(event).metadata.name === "a"))
      assert.deepStrictEqual(shown, a, "as it is now")
    }
    yield* remove("b")
    for (const watching of both) assert.deepStrictEqual(told(yield* watching.take(1)), ["DELETED b"])
  }),

  statement("60", "an event is a type and an object; DELETED has the last state and its own version", {}, function*() {
    const { watch } = yield* Target
    const { create, path, remove, resourceVersion } = yield* leases
    const watching = yield* watch(path, { resourceVersion })
    assert.strictEqual(watching.response.status, 200)
    assert.match(watching.response.headers["content-type"] ?? "", /^application\/json/)
    const { object: created } = yield* create("a", held("v"))
    yield* remove("a")
    const [added, deleted] = yield* watching.take(2)
    assert.deepStrictEqual(Object.keys(added!).sort(), ["object", "type"])
    assert.deepStrictEqual(added, { type: "ADDED", object: created })
    assert.isAbove(versionOf(deleted), versionOf(added))
    assert.deepStrictEqual(deleted, {
      type: "DELETED",
      object: {
        ...of(added),
        metadata: { ...of(added).metadata, resourceVersion: of(deleted).metadata.resourceVersion }
      }
    })
    const after = yield* watch(path, { resourceVersion: of(deleted).metadata.resourceVersion })
    yield* create("b")
    assert.deepStrictEqual(told(yield* after.take(1)), ["ADDED b"], "the deletion has happened at its version")
  }),

  statement("61", "entering a selector is ADDED, leaving it DELETED with the state before", {
    note: "the DELETED shows the old labels and data, not those that made the object leave"
  }, function*() {
    const { watch } = yield* Target
    const { create, patch, path, remove, resourceVersion } = yield* leases
    const watching = yield* watch(path, { resourceVersion, labelSelector: "app=web" })
    yield* create("a", held("1"))
    yield* patch("a", { metadata: { labels: { app: "web" } } })
    yield* patch("a", held("2"))
    const { object: left } = yield* patch("a", { metadata: { labels: { app: "db" } }, ...held("3") })
    yield* patch("a", held("4"))
    yield* remove("a")
    yield* create("end", { metadata: { name: "end", labels: { app: "web" } } })
    const events = yield* watching.take(4)
    assert.deepStrictEqual(told(events), ["ADDED a", "MODIFIED a", "DELETED a", "ADDED end"])
    const gone = of(events[2])
    assert.deepStrictEqual(gone.metadata.labels, { app: "web" })
    assert.deepStrictEqual(gone["spec"], { holderIdentity: "2" })
    assert.strictEqual(gone.metadata.resourceVersion, left.metadata.resourceVersion)
    const again = yield* watch(path, { resourceVersion, labelSelector: "app=web" })
    assert.deepStrictEqual(yield* again.take(4), events, "the same from the history")
  }),

  statement("62", "a version before the kept history is 410 Expired, in the stream or before it", {}, function*() {
    const { kind, namespace, watch } = yield* Target
    const ns = yield* namespace
    // The history of a kind starts with the kind at the earliest.
    const widgets = yield* kind()
    const watching = yield* watch(widgets.path(ns), { resourceVersion: "1" })
    // A client must be ready for both.
    const [event] = watching.response.status === 200
      ? yield* watching.take(1)
      : [{ type: "ERROR", object: watching.response.body } as WireEvent]
    assert.strictEqual(event!.type, "ERROR")
    const { metadata: _, ...status } = of(event) as unknown as Readonly<Record<string, unknown>>
    assert.match(String(status["message"]), /^too old resource version: 1 \(\d+\)$/)
    assert.deepStrictEqual(status, {
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      message: status["message"],
      reason: "Expired",
      code: 410
    })
    yield* watching.ended
  }),

  statement("63", "bookmarks come to those who allow them, near the end at the latest", {
    note: "the typed bookmark of a built-in kind may hold empty required parts; those of custom kinds hold none"
  }, function*() {
    const { kind, minor, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const path = widgets.path(ns)
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", path)
    // A bookmark comes two seconds before the end, to those who were there by then.
    const query = { resourceVersion, timeoutSeconds: "8" }
    const with_ = yield* watch(path, { ...query, allowWatchBookmarks: "true" })
    const without = yield* watch(path, query)
    const metadata = yield* watch(path, { ...query, allowWatchBookmarks: "true" }, {
      accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    })
    const table = yield* watch(path, { ...query, allowWatchBookmarks: "true" }, {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io"
    })
    // A cache that has seen nothing since then sends no bookmark either.
    const { object } = yield* request("POST", path, { body: widgets.object("a") })
    const [added, bookmark] = yield* with_.take(2)
    assert.strictEqual(added!.type, "ADDED")
    assert.strictEqual(bookmark!.type, "BOOKMARK")
    assert.isAtLeast(versionOf(bookmark), Number(object.metadata.resourceVersion))
    assert.strictEqual(of(bookmark).apiVersion, `${widgets.group}/v1`)
    assert.strictEqual(of(bookmark).kind, "Widget")
    assert.notProperty(of(bookmark), "spec")
    assert.notProperty(of(bookmark).metadata, "name")
    // To those who want metadata alone a bookmark is metadata, too: they know no other kind.
    const [, partial] = yield* metadata.take(2)
    assert.strictEqual(partial!.type, "BOOKMARK")
    assert.include(of(partial), { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" })
    assert.isAtLeast(versionOf(partial), Number(object.metadata.resourceVersion))
    // And a table with a row about nothing to those who show tables.
    const [, row] = yield* table.take(2)
    assert.strictEqual(row!.type, "BOOKMARK")
    const { apiVersion, columnDefinitions, kind: form, rows } = of(row)
    assert.deepStrictEqual([apiVersion, form, columnDefinitions], ["meta.k8s.io/v1", "Table", null])
    assert.deepStrictEqual([rows[0]?.cells[0], rows[0]?.cells.at(-1)], ["", null])
    assert.deepStrictEqual(rows[0]?.object.metadata, {
      resourceVersion: of(row).metadata.resourceVersion,
      ...(minor < 34 ? { creationTimestamp: null } : {})
    })
    assert.deepStrictEqual(told(yield* without.take(1)), ["ADDED a"])
    yield* without.ended
    assert.deepStrictEqual(yield* without.within(0), [], "and nothing until its end")
    yield* request("DELETE", widgets.path(ns, "a"))
    const after = yield* watch(path, { resourceVersion: of(bookmark).metadata.resourceVersion })
    assert.deepStrictEqual(told(yield* after.take(1)), ["DELETED a"], "a client may go on from a bookmark")
  }),

  statement("64", "sendInitialEvents streams a list and marks its end with a bookmark", { since: 34 }, function*() {
    const { request, watch } = yield* Target
    const { create, path, resourceVersion } = yield* leases
    yield* create("a")
    yield* create("b")
    const { object: list } = yield* request("GET", path)
    const query = { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: "true" }
    const watching = yield* watch(path, query)
    const events = yield* watching.take(3)
    assert.deepStrictEqual(told(events.slice(0, 2)), ["ADDED a", "ADDED b"])
    assert.strictEqual(events[2]!.type, "BOOKMARK")
    assert.deepStrictEqual(of(events[2]).metadata.annotations, { "k8s.io/initial-events-end": "true" })
    assert.isAtLeast(versionOf(events[2]), Number(list.metadata.resourceVersion))
    yield* create("c")
    assert.deepStrictEqual(told(yield* watching.take(1)), ["ADDED c"])
    const from = yield* watch(path, { ...query, resourceVersion })
    assert.deepStrictEqual(
      (yield* from.take(4)).map(({ type }) => type),
      ["ADDED", "ADDED", "ADDED", "BOOKMARK"],
      "a version only says how old the list may be"
    )
  }),

  statement("64b", "a watch that does not say where it begins is one with initial events", { since: 34 }, function*() {
    const { namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/pods`
    for (const from of [{}, { resourceVersion: "0" }]) {
      const watching = yield* watch(path, { ...from, allowWatchBookmarks: "true" })
      const [end] = yield* watching.take(1)
      assert.strictEqual(end!.type, "BOOKMARK")
      const { metadata, ...rest } = of(end)
      assert.deepStrictEqual(metadata.annotations, { "k8s.io/initial-events-end": "true" })
      assert.deepStrictEqual(rest, { apiVersion: "v1", kind: "Pod", spec: { containers: null }, status: {} })
    }
    const refused = yield* request("GET", path, { query: { watch: "true", continue: "x" } })
    assert.strictEqual(refused.status, 422)
    assert.strictEqual(
      refused.error.message,
      "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when " +
        "continue is provided"
    )
  }),

  statement("64a", "sendInitialEvents needs resourceVersionMatch=NotOlderThan", { since: 34 }, function*() {
    const { watch } = yield* Target
    const { path } = yield* leases
    const none = yield* watch(path, { sendInitialEvents: "true" })
    assert.strictEqual(none.response.status, 422)
    const message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    assert.deepInclude(none.response.body, {
      reason: "Invalid",
      message: `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ${message}`,
      details: {
        group: "meta.k8s.io",
        kind: "ListOptions",
        causes: [{ reason: "FieldValueForbidden", message: `Forbidden: ${message}`, field: "resourceVersionMatch" }]
      }
    })
    const exact = yield* watch(path, { sendInitialEvents: "true", resourceVersionMatch: "Exact" })
    assert.strictEqual(exact.response.status, 422)
    assert.deepInclude(exact.response.body, {
      message: `ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: ${message}, ` +
        `resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`
    })
  }),

  statement("65", "resourceVersionMatch alone is forbidden for a watch", {}, function*() {
    const { minor, watch } = yield* Target
    const { path, resourceVersion } = yield* leases
    const { response } = yield* watch(path, { resourceVersion, resourceVersionMatch: "NotOlderThan" })
    const message = minor < 27
      ? "resourceVersionMatch is forbidden for watch"
      : "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    assert.strictEqual(response.status, 422)
    assert.deepInclude(response.body, {
      reason: "Invalid",
      message: `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ${message}`,
      details: {
        group: "meta.k8s.io",
        kind: "ListOptions",
        causes: [{ reason: "FieldValueForbidden", message: `Forbidden: ${message}`, field: "resourceVersionMatch" }]
      }
    })
  }),

  statement("66", "timeoutSeconds ends the stream in an orderly way", {}, function*() {
    const { watch } = yield* Target
    const { create, path, resourceVersion } = yield* leases
    yield* create("a")
    const limited = yield* watch(path, { resourceVersion, timeoutSeconds: "1" })
    const unlimited = yield* watch(path, { resourceVersion })
    assert.deepStrictEqual(told(yield* limited.take(1)), ["ADDED a"])
    yield* limited.ended
    assert.deepStrictEqual(yield* limited.within(0), [], "the end is no event")
    yield* create("b")
    assert.deepStrictEqual(told(yield* unlimited.take(2)), ["ADDED a", "ADDED b"])
    const { response } = yield* watch(path, { resourceVersion, timeoutSeconds: "1" })
    assert.strictEqual(response.status, 200)
  }),

  statement("66a", "a watch of less than no seconds ends at once", {
    note: "what is there may or may not be told before"
  }, function*() {
    const { namespace, watch } = yield* Target
    yield* namespace
    for (const query of [{}, { resourceVersion: "0" }, { resourceVersion: "1" }]) {
      const watching = yield* watch("/api/v1/namespaces", { ...query, timeoutSeconds: "-1" })
      assert.strictEqual(watching.response.status, 200)
      yield* watching.ended
    }
  }),

  statement("67", "one object is watched by its name as a field, or at the old /watch/ path", {
    note: "watch=true on the URL of an object is a plain GET"
  }, function*() {
    const { request, watch } = yield* Target
    const { create, ns, patch, path, remove, resourceVersion } = yield* leases
    const old = `/apis/coordination.k8s.io/v1/watch/namespaces/${ns}/leases`
    const byField = yield* watch(path, { resourceVersion, fieldSelector: "metadata.name=a" })
    const byPath = yield* watch(`${old}/a`, { resourceVersion })
    const all = yield* watch(old, { resourceVersion })
    yield* create("b")
    yield* create("a")
    yield* patch("b", held("v"))
    yield* remove("a")
    for (const watching of [byField, byPath]) {
      assert.deepStrictEqual(told(yield* watching.take(2)), ["ADDED a", "DELETED a"])
    }
    assert.deepStrictEqual(told(yield* all.take(4)), ["ADDED b", "ADDED a", "MODIFIED b", "DELETED a"])
    const plain = yield* request("GET", `${path}/b`, { query: { watch: "true" } })
    assert.strictEqual(plain.status, 200)
    assert.strictEqual(plain.object.kind, "Lease")
    assert.strictEqual(plain.object.metadata.name, "b")
  }),

  statement("68", "a watch from a version of the future waits for it", {}, function*() {
    const { watch } = yield* Target
    const { create, path, resourceVersion } = yield* leases
    const future = Number(resourceVersion) + 4
    const watching = yield* watch(path, { resourceVersion: String(future) })
    assert.strictEqual(watching.response.status, 200)
    assert.deepStrictEqual(yield* watching.within(10), [])
    const expected: Array<string> = []
    for (let i = 0; i < 6; i++) {
      const { object } = yield* create(`c${i}`)
      if (Number(object.metadata.resourceVersion) > future) expected.push(`ADDED c${i}`)
    }
    assert.isAtLeast(expected.length, 2)
    const events = yield* watching.take(expected.length)
    assert.deepStrictEqual(told(events), expected, "changes up to that version are not told")
    assert.isAbove(versionOf(events[0]), future)
  }),

  statement("69", "a client that was cut off goes on from the last version it saw", {
    note: "the client's half: that a slow one is cut off needs more events than a test may make"
  }, function*() {
    const { watch } = yield* Target
    const { create, path, resourceVersion } = yield* leases
    const seen = yield* Effect.scoped(Effect.gen(function*() {
      const watching = yield* watch(path, { resourceVersion })
      yield* create("a")
      yield* create("b")
      return yield* watching.take(2)
    }))
    yield* create("c")
    yield* create("d")
    const resumed = yield* watch(path, { resourceVersion: of(seen[1]).metadata.resourceVersion })
    yield* create("e")
    const rest = yield* resumed.take(3)
    assert.deepStrictEqual(told([...seen, ...rest]), ["a", "b", "c", "d", "e"].map((name) => `ADDED ${name}`))
    assert.isAbove(versionOf(rest[0]), versionOf(seen[1]))
    assert.deepStrictEqual(told(seen), ["ADDED a", "ADDED b"])
  }),

  statement("70", "the history keeps more than a cache's first hundred changes, if they are fresh", {
    note: "that it keeps 75 s of them is not waited for"
  }, function*() {
    const { watch } = yield* Target
    const { create, patch, path, resourceVersion } = yield* leases
    const changes = 130
    const { object } = yield* create("a")
    yield* Effect.forEach(
      Array.from({ length: changes }),
      (_, i) => patch("a", { metadata: { annotations: { [`k${i}`]: "v" } } }),
      { concurrency: 4, discard: true }
    )
    const late = yield* watch(path, { resourceVersion })
    const events = yield* late.take(changes + 1)
    assert.deepStrictEqual(events[0], { type: "ADDED", object: object })
    assert.isTrue(events.slice(1).every(({ type }) => type === "MODIFIED"))
    assert.strictEqual(Object.keys(of(events.at(-1)).metadata.annotations ?? {}).length, changes)
    assert.strictEqual(new Set(events.map(versionOf)).size, changes + 1)
  }),

  statement("71", "the end of a definition is the end of its objects, its watches and its paths", {}, function*() {
    const { kind, namespace, request, until, watch } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${widgets.group}`
    const { object: crd } = yield* request("GET", definition)
    const { object: list } = yield* request("GET", widgets.path(ns))
    const watching = yield* watch(widgets.path(ns), { resourceVersion: list.metadata.resourceVersion })
    const { object: first } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    yield* request("DELETE", definition)
    assert.deepStrictEqual(told(yield* watching.take(2)), ["ADDED a", "DELETED a"])
    yield* watching.ended
    yield* until(request("GET", definition), ({ status }) => status === 404)
    const gone = yield* until(request("GET", widgets.path(ns)), ({ status }) => status === 404)
    assert.strictEqual(gone.body, "404 page not found\n")
    const again = { apiVersion: crd.apiVersion, kind: crd.kind, metadata: { name: crd.metadata.name }, spec: crd.spec }
    const { object: second } = yield* request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      body: again
    })
    assert.notStrictEqual(second.metadata.uid, crd.metadata.uid)
    const { object: empty } = yield* until(request("GET", widgets.path(ns)), ({ status }) => status === 200)
    assert.deepStrictEqual(empty["items"], [])
    const { object } = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    assert.notStrictEqual(object.metadata.uid, first.metadata.uid)
  }),

  statement("72", "a watch at a version shows that version, whichever is stored", {}, function*() {
    const { kind, namespace, request, watch } = yield* Target
    const ns = yield* namespace
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
    const widgets = yield* kind({
      definition: {
        versions: [
          { name: "v1", served: true, storage: false, schema },
          { name: "v2", served: true, storage: true, schema }
        ]
      }
    })
    const v1 = widgets.path(ns)
    const v2 = v1.replace("/v1/", "/v2/")
    const { object: { metadata: { resourceVersion } } } = yield* request("GET", v1)
    const [atV1, atV2] = yield* Effect.forEach([v1, v2], (path) => watch(path, { resourceVersion }))
    yield* request("POST", v2, { body: { ...widgets.object("a"), apiVersion: `${widgets.group}/v2` } })
    yield* request("POST", v1, { body: widgets.object("b") })
    yield* request("DELETE", `${v1}/a`)
    const [seen1, seen2] = [yield* atV1!.take(3), yield* atV2!.take(3)]
    for (const [events, version] of [[seen1, "v1"], [seen2, "v2"]] as const) {
      assert.deepStrictEqual(told(events), ["ADDED a", "ADDED b", "DELETED a"])
      for (const event of events) assert.strictEqual(of(event).apiVersion, `${widgets.group}/${version}`)
    }
    assert.deepStrictEqual(seen1.map(versionOf), seen2.map(versionOf))
  }),

  statement("73", "a watch tells tables or mere metadata to those who accept them, and never YAML", {
    note: "the websocket form is not asked for"
  }, function*() {
    const { watch } = yield* Target
    const { create, path, remove, resourceVersion } = yield* leases
    const as = (form: string) => ({ accept: `application/json;as=${form};v=v1;g=meta.k8s.io` })
    const tables = yield* watch(path, { resourceVersion }, as("Table"))
    const metadata = yield* watch(path, { resourceVersion }, as("PartialObjectMetadata"))
    const { object: created } = yield* create("a", held("v"))
    yield* remove("a")
    const [first, second] = yield* tables.take(2)
    assert.deepStrictEqual([first!.type, second!.type], ["ADDED", "DELETED"])
    const table = of(first)
    assert.deepInclude(table, { kind: "Table", apiVersion: "meta.k8s.io/v1" })
    assert.strictEqual(table.metadata.resourceVersion, created.metadata.resourceVersion)
    assert.deepStrictEqual(table["columnDefinitions"].map(({ name }: { name: string }) => name), [
      "Name",
      "Holder",
      "Age"
    ])
    assert.deepStrictEqual(table["rows"][0].cells.slice(0, 2), ["a", "v"])
    assert.strictEqual(table["rows"][0].object.kind, "PartialObjectMetadata")
    assert.isNull(of(second)["columnDefinitions"])
    const [partial] = yield* metadata.take(1)
    assert.deepStrictEqual(of(partial), {
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: created.metadata
    })
    const yaml = yield* watch(path, { resourceVersion }, { accept: "application/yaml" })
    assert.strictEqual(yaml.response.status, 406)
    // An error is told in YAML where that is asked for; the transport in memory tells values.
    assert.include(JSON.stringify(yaml.response.body), "application/json;stream=watch")
  })
]
