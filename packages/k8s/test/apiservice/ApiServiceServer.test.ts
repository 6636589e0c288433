import { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, PubSub, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ApiService from "../../src/ApiService.ts"
import { ClusterRole, ClusterRoleBinding } from "../../src/kinds/rbac.v1.ts"
import { ConfigMap, Namespace, Pod } from "../../src/kinds/core.v1.ts"
import * as Crd from "../../src/Crd.ts"
import { type Answer, cluster, direct, FarmPod, farmPods, Llama, llama, serve, service } from "./support.ts"

const farm = <R = never>(...kinds: ReadonlyArray<ApiService.Kind<R>>) =>
  ApiService.make({ group: "farm.example.com", version: "v1alpha", kinds })

const llamas = "namespaces/farm/llamas"
const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" }
const merge = { "content-type": "application/merge-patch+json" }
const json = { "content-type": "application/json-patch+json" }

const it_ = (name: string, test: Effect.Effect<void, unknown, Effect.Services<typeof scene>>) =>
  it.effect(name, () => Effect.provide(test, cluster))

/** A served API of Llamas, some minutes after the beginning of time. */
const scene = Effect.gen(function*() {
  yield* TestClock.adjust("10 minutes")
  return yield* direct(farm(ApiService.stored(Llama), farmPods))
})

const expect = (answer: Answer, status: number): any => {
  assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
  return answer.body
}

describe("discovery", () => {
  it_(
    "tells of its resources in both forms, and of nothing else",
    Effect.gen(function*() {
      const { call } = yield* scene
      const list = expect(yield* call("GET", "/apis/farm.example.com/v1alpha"), 200)
      assert.deepStrictEqual(list.resources.map(({ name }: any) => name), ["llamas", "llamas/status", "farmpods"])
      assert.deepInclude(list.resources[0], {
        shortNames: ["ll"],
        categories: ["farm"],
        kind: "Llama",
        namespaced: true
      })
      assert.deepStrictEqual(list.resources[2].verbs, ["get", "list", "watch"])
      const groups = expect(yield* call("GET", "/apis"), 200)
      assert.deepStrictEqual(groups.groups.map(({ name }: any) => name), ["farm.example.com"])
      assert.strictEqual(expect(yield* call("GET", "/apis/farm.example.com"), 200).preferredVersion.version, "v1alpha")
      const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
      const aggregated = yield* call("GET", "/apis", { headers: { accept } })
      assert.strictEqual(aggregated.headers["content-type"], accept)
      const [version] = aggregated.body.items[0].versions
      assert.deepStrictEqual(version.resources.map(({ resource }: any) => resource), ["llamas", "farmpods"])
      const none = { "if-none-match": aggregated.headers["etag"]! }
      assert.strictEqual((yield* call("GET", "/apis", { headers: { accept, ...none } })).status, 304)
      for (const path of ["/api", "/apis/apps", "/apis/farm.example.com/v2", "/apis/farm.example.com/v1alpha/sheep"]) {
        assert.strictEqual((yield* call("GET", path)).body, "404 page not found\n", path)
      }
    })
  )

  it_(
    "publishes OpenAPI documents in which every reference leads somewhere",
    Effect.gen(function*() {
      const { call } = yield* scene
      const v2 = yield* call("GET", "/openapi/v2")
      const root = expect(yield* call("GET", "/openapi/v3"), 200)
      const { serverRelativeURL } = root.paths["apis/farm.example.com/v1alpha"]
      const [path, hash] = serverRelativeURL.split("?hash=")
      const v3 = yield* call("GET", path, { query: { hash } })
      for (
        const [document, prefix, schemas] of [
          [v2.body, "#/definitions/", v2.body.definitions],
          [v3.body, "#/components/schemas/", v3.body.components.schemas]
        ]
      ) {
        const text = JSON.stringify(document)
        const referred = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, name]) => name!)
        assert.isNotEmpty(referred)
        for (const name of referred) assert.property(schemas, name.slice(prefix.length))
        assert.notInclude(text, "apply-patch", "there is no server-side apply")
        const paths = Object.keys(document.paths)
        assert.isTrue(paths.every((path) => path.startsWith("/apis/farm.example.com/v1alpha/")))
        const { operations } = {
          operations: document.paths["/apis/farm.example.com/v1alpha/namespaces/{namespace}/farmpods"]
        }
        assert.notProperty(operations, "post")
        assert.property(schemas["com.example.farm.v1alpha.Llama"].properties.spec.properties, "weight")
        assert.notProperty(schemas, "io.k8s.api.core.v1.Pod", "nothing of anybody else's")
      }
      const again = yield* call("GET", "/openapi/v2", { headers: { "if-none-match": v2.headers["etag"]! } })
      assert.strictEqual(again.status, 304)
    })
  )
})

describe("create", () => {
  it_(
    "fills in metadata and defaults, generates names, and takes a name once",
    Effect.gen(function*() {
      const { call } = yield* scene
      const body = { ...llama("a", undefined, { uid: "x", generation: 7 }), status: { mood: "ignored" } }
      const made = expect(yield* call("POST", llamas, { body }), 201)
      assert.deepStrictEqual(made.spec, { weight: 1, height: 2, color: "brown" })
      assert.notProperty(made, "status")
      assert.deepInclude(made.metadata, {
        name: "a",
        namespace: "farm",
        generation: 1,
        creationTimestamp: "1970-01-01T00:10:00Z"
      })
      assert.match(made.metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
      const twice = expect(yield* call("POST", llamas, { body }), 409)
      assert.strictEqual(twice.message, `llamas.farm.example.com "a" already exists`)
      const { name: _, ...generated } = { ...llama("").metadata, generateName: "b-" }
      const named = expect(yield* call("POST", llamas, { body: { ...llama(""), metadata: generated } }), 201)
      assert.match(named.metadata.name, /^b-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
    })
  )

  it_(
    "refuses what is no Llama, in the words of a kube-apiserver",
    Effect.gen(function*() {
      const { call } = yield* scene
      const post = (body: unknown, query = {}) => call("POST", llamas, { body, query })
      const invalid = expect(yield* post(llama("a", { weight: -1, height: "x" })), 422)
      assert.strictEqual(invalid.reason, "Invalid")
      assert.sameMembers(invalid.details.causes.map(({ field }: any) => field), ["spec.weight", "spec.height"])
      assert.include(expect(yield* post(llama("No Name")), 422).message, "metadata.name")
      assert.include(expect(yield* post({ ...llama("a"), kind: "Sheep" }), 422).message, "must be Llama")
      assert.include(expect(yield* post({ ...llama("a"), apiVersion: "v1" }), 400).message, "does not match")
      assert.include(expect(yield* post(llama("a", undefined, { namespace: "x" })), 400).message, "does not match")
      assert.include(
        expect(yield* post(llama("a", undefined, { resourceVersion: "5" })), 500).message,
        "resourceVersion"
      )
      assert.strictEqual(expect(yield* post(undefined), 400).reason, "BadRequest")
      assert.strictEqual((yield* call("POST", "llamas", { body: llama("a") })).status, 404)
    })
  )

  it_(
    "treats unknown fields as fieldValidation says",
    Effect.gen(function*() {
      const { call } = yield* scene
      const body = llama("a", { weight: 1, height: 2, wings: 2 })
      const post = (fieldValidation: string) =>
        call("POST", llamas, { body, query: { fieldValidation, dryRun: "All" } })
      assert.include(expect(yield* post("Strict"), 400).message, `strict decoding error: unknown field "spec.wings"`)
      const warned = yield* post("Warn")
      assert.strictEqual(warned.headers["warning"], `299 - "unknown field \\"spec.wings\\""`)
      const ignored = yield* post("Ignore")
      assert.notProperty(ignored.headers, "warning")
      for (const answer of [warned, ignored]) assert.notProperty(expect(answer, 201).spec, "wings")
      assert.isEmpty(expect(yield* call("GET", llamas), 200).items, "dry runs")
    })
  )
})

describe("update and patch", () => {
  it_(
    "keep what is not the client's, count generations, and mind versions",
    Effect.gen(function*() {
      const { call } = yield* scene
      const made = expect(yield* call("POST", llamas, { body: llama("a") }), 201)
      const put = (body: object, part = "") => call("PUT", `${llamas}/a${part}`, { body })
      const same = expect(yield* put(made), 200)
      assert.strictEqual(same.metadata.resourceVersion, made.metadata.resourceVersion, "nothing has changed")
      yield* TestClock.adjust("1 minute")
      const heavier = expect(yield* put({ ...made, spec: { ...made.spec, weight: 5 } }), 200)
      assert.deepInclude(heavier.metadata, { generation: 2, creationTimestamp: made.metadata.creationTimestamp })
      const stale = expect(yield* put({ ...made, spec: { ...made.spec, weight: 6 } }), 409)
      assert.include(stale.message, "the object has been modified")
      const { resourceVersion: _, ...metadata } = heavier.metadata
      assert.include(expect(yield* put({ ...heavier, metadata }), 422).message, "must be specified for an update")
      const renamed = { ...heavier, metadata: { ...heavier.metadata, uid: "other" } }
      assert.include(expect(yield* put(renamed), 409).message, "UID in precondition: other")

      const moody = { ...heavier, spec: { weight: 99, height: 1 }, status: { mood: "calm" } }
      const calm = expect(yield* put(moody, "/status"), 200)
      assert.deepStrictEqual(calm.status, { mood: "calm" })
      assert.deepStrictEqual(calm.spec, heavier.spec)
      assert.strictEqual(calm.metadata.generation, 2)
      const kept = expect(yield* put({ ...calm, status: { mood: "wild" }, spec: { ...calm.spec, weight: 7 } }), 200)
      assert.deepStrictEqual(kept.status, { mood: "calm" }, "a status is written through its subresource")
    })
  )

  it_(
    "know two kinds of patch, and say so of others",
    Effect.gen(function*() {
      const { call } = yield* scene
      yield* call("POST", llamas, { body: llama("a") })
      const patch = (headers: object, body: unknown) =>
        call("PATCH", `${llamas}/a`, { headers: headers as Record<string, string>, body })
      const merged = expect(yield* patch(merge, { spec: { color: "white" }, metadata: { labels: { a: "b" } } }), 200)
      assert.deepInclude(merged, { spec: { weight: 1, height: 2, color: "white" } })
      const back = expect(yield* patch(merge, { spec: { color: null } }), 200)
      assert.strictEqual(back.spec.color, "brown", "the default again")
      const replaced = expect(yield* patch(json, [{ op: "replace", path: "/spec/weight", value: 3 }]), 200)
      assert.strictEqual(replaced.spec.weight, 3)
      assert.strictEqual((yield* patch(json, [{ op: "test", path: "/spec/weight", value: 4 }])).status, 422)
      assert.strictEqual((yield* patch(merge, { spec: { weight: 0 } })).status, 422)
      assert.strictEqual((yield* patch(json, { no: "list" })).status, 400)
      for (const type of ["application/apply-patch+yaml", "application/strategic-merge-patch+json"]) {
        const refused = expect(yield* patch({ "content-type": type }, {}), 415)
        assert.strictEqual(refused.reason, "UnsupportedMediaType")
        assert.include(refused.message, "application/json-patch+json, application/merge-patch+json")
      }
      assert.strictEqual((yield* call("PATCH", `${llamas}/b`, { headers: merge, body: {} })).status, 404)
    })
  )
})

describe("delete", () => {
  it_(
    "minds preconditions, dry runs and finalizers",
    Effect.gen(function*() {
      const { call } = yield* scene
      const made = expect(yield* call("POST", llamas, { body: llama("a", undefined, { finalizers: ["x.y/z"] }) }), 201)
      const remove = (body?: object) => call("DELETE", `${llamas}/a`, body === undefined ? {} : { body })
      const wrong = expect(yield* remove({ preconditions: { uid: "other" } }), 409)
      assert.include(wrong.message, "does not match the UID in record")
      assert.strictEqual((yield* remove({ preconditions: { resourceVersion: "1" } })).status, 409)
      yield* remove({ dryRun: ["All"] })
      assert.notProperty(expect(yield* call("GET", `${llamas}/a`), 200).metadata, "deletionTimestamp")
      const marked = expect(yield* remove({ preconditions: { uid: made.metadata.uid } }), 200)
      assert.deepInclude(marked.metadata, { deletionTimestamp: "1970-01-01T00:10:00Z", generation: 2 })
      const taken = expect(yield* call("POST", llamas, { body: llama("a") }), 409)
      assert.include(taken.message, "object is being deleted")
      yield* call("PATCH", `${llamas}/a`, { headers: merge, body: { metadata: { finalizers: null } } })
      assert.strictEqual((yield* call("GET", `${llamas}/a`)).status, 404)
      yield* call("POST", llamas, { body: llama("b") })
      const gone = expect(yield* call("DELETE", `${llamas}/b`), 200)
      assert.deepInclude(gone, { kind: "Status", status: "Success" })
    })
  )

  it_(
    "of a collection takes what the selector says",
    Effect.gen(function*() {
      const { call } = yield* scene
      for (const name of ["a", "b", "c"]) {
        yield* call("POST", llamas, { body: llama(name, undefined, { labels: { even: String(name === "b") } }) })
      }
      const deleted = expect(yield* call("DELETE", llamas, { query: { labelSelector: "even=false" } }), 200)
      assert.deepStrictEqual(deleted.items.map(({ metadata }: any) => metadata.name), ["a", "c"])
      const left = expect(yield* call("GET", "llamas"), 200)
      assert.deepStrictEqual(left.items.map(({ metadata }: any) => metadata.name), ["b"])
    })
  )
})

describe("list and watch", () => {
  const herd = Effect.gen(function*() {
    const parts = yield* scene
    for (const name of ["a", "b", "c", "d", "e"]) {
      const spec = { weight: 1, height: 2, color: name < "c" ? "red" : "blue" }
      yield* parts.call("POST", llamas, { body: llama(name, spec, { labels: { name } }) })
    }
    const names = (body: any): string => body.items.map(({ metadata }: any) => metadata.name).join("")
    return { ...parts, names }
  })

  it_(
    "select by labels and fields, and page through one state",
    Effect.gen(function*() {
      const { call, names } = yield* herd
      const list = (query: Record<string, string>) => Effect.map(call("GET", llamas, { query }), (answer) => answer)
      assert.strictEqual(names(expect(yield* list({ labelSelector: "name in (a,e)" }), 200)), "ae")
      assert.strictEqual(names(expect(yield* list({ fieldSelector: "spec.color=red" }), 200)), "ab")
      assert.strictEqual(names(expect(yield* list({ fieldSelector: "metadata.name!=a" }), 200)), "bcde")
      const refused = expect(yield* list({ fieldSelector: "spec.weight=1" }), 400)
      assert.strictEqual(refused.message, "field label not supported: spec.weight")
      const first = expect(yield* list({ limit: "2" }), 200)
      assert.deepInclude(first.metadata, { remainingItemCount: 3 })
      yield* call("DELETE", `${llamas}/c`)
      yield* call("POST", llamas, { body: llama("cc") })
      const second = expect(yield* list({ limit: "2", continue: first.metadata.continue }), 200)
      const third = expect(yield* list({ limit: "2", continue: second.metadata.continue }), 200)
      assert.strictEqual(names(first) + names(second) + names(third), "abcde", "as it was")
      assert.strictEqual(third.metadata.continue, "")
      assert.strictEqual(first.metadata.resourceVersion, third.metadata.resourceVersion)
      assert.strictEqual(names(expect(yield* list({}), 200)), "abccde")
    })
  )

  it_(
    "are Tables for kubectl",
    Effect.gen(function*() {
      const { call } = yield* herd
      const list = expect(yield* call("GET", llamas, { headers: table }), 200)
      assert.strictEqual(list.kind, "Table")
      assert.deepStrictEqual(
        list.columnDefinitions.map(({ name, priority }: any) => [name, priority]),
        [["Name", 0], ["Weight", 0], ["Color", 1]]
      )
      assert.deepStrictEqual(list.rows[0].cells, ["a", 1, "red"])
      assert.strictEqual(list.rows[0].object.kind, "PartialObjectMetadata")
      const one = expect(yield* call("GET", `${llamas}/a`, { headers: table, query: { includeObject: "None" } }), 200)
      assert.isNull(one.rows[0].object)
      const events = yield* call("GET", llamas, { headers: table, query: { watch: "true" } })
      const [head, next] = yield* Stream.runCollect(Stream.take(events.events!, 2))
      assert.lengthOf(head.object.columnDefinitions, 3)
      assert.isNull(next.object.columnDefinitions)
    })
  )

  it_(
    "a watch goes on from a version, with bookmarks, and says when that is too old",
    Effect.gen(function*() {
      const { call } = yield* herd
      const { metadata: { resourceVersion } } = expect(yield* call("GET", llamas), 200)
      const watch = (query: Record<string, string>, count: number) =>
        Effect.flatMap(
          call("GET", llamas, { query: { watch: "true", ...query } }),
          ({ events }) => Effect.forkChild(Stream.runCollect(Stream.take(events!, count)), { startImmediately: true })
        )
      const following = yield* watch({ resourceVersion, allowWatchBookmarks: "true" }, 4)
      const red = yield* watch({ resourceVersion, fieldSelector: "spec.color=red" }, 2)
      const streamed = yield* watch({
        sendInitialEvents: "true",
        allowWatchBookmarks: "true",
        resourceVersionMatch: "NotOlderThan"
      }, 6)
      const old = yield* watch({ resourceVersion: "5" }, 1)
      yield* call("PATCH", `${llamas}/a`, { headers: merge, body: { spec: { color: "blue" } } })
      yield* call("PATCH", `${llamas}/e`, { headers: merge, body: { spec: { color: "red" } } })
      yield* call("DELETE", `${llamas}/b`)
      yield* TestClock.adjust("1 minute")
      const seen = (events: ReadonlyArray<any>) => events.map(({ object, type }) => [type, object.metadata?.name])
      assert.deepStrictEqual(seen(yield* Fiber.join(following)), [
        ["MODIFIED", "a"],
        ["MODIFIED", "e"],
        ["DELETED", "b"],
        ["BOOKMARK", undefined]
      ])
      assert.deepStrictEqual(seen(yield* Fiber.join(red)), [["DELETED", "a"], ["ADDED", "e"]])
      const initial = yield* Fiber.join(streamed)
      assert.strictEqual(seen(initial).map(([, name]) => name ?? ".").join(""), "abcde.")
      assert.strictEqual(initial[5].object.metadata.annotations["k8s.io/initial-events-end"], "true")
      const [{ object, type }] = yield* Fiber.join(old) as unknown as Effect.Effect<[any]>
      assert.deepStrictEqual([type, object.code, object.reason], ["ERROR", 410, "Expired"])
    })
  )

  it_(
    "a watch ends when the server does",
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const scope = yield* Scope.make()
      const { call } = yield* Scope.provide(direct(farm(ApiService.stored(Llama))), scope)
      yield* call("POST", llamas, { body: llama("a") })
      const { events } = yield* call("GET", llamas, { query: { watch: "true" } })
      const all = yield* Effect.forkChild(Stream.runCollect(events!), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.lengthOf(yield* Fiber.join(all), 1)
    })
  )
})

describe("handlers", () => {
  const kind = ApiService.stored(Llama, {
    initial: [{ metadata: { name: "old", namespace: "farm" }, spec: { weight: 1, height: 1, color: "grey" } }],
    create: (object, { user }) =>
      object.spec.color === "pink"
        ? Effect.fail(new ApiService.Refused({ message: "no pink llamas" }))
        : object.spec.color === "bug"
        ? Effect.die(new Error("a mistake"))
        : object.spec.color === "gone"
        ? Effect.interrupt
        : Effect.succeed({ ...object, spec: { ...object.spec, color: `${object.spec.color} of ${user.username}` } }),
    update: (object, old) =>
      object.spec.height < old.spec.height
        ? Effect.fail(new ApiService.Refused({ message: "llamas do not shrink" }))
        : Effect.succeed(object),
    delete: ({ metadata: { name } }) =>
      name === "old" ? Effect.fail(new ApiService.Refused({ message: "it stays" })) : Effect.void
  })

  it_(
    "see objects of the kind, and decide what is stored",
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const { call } = yield* direct(farm(kind))
      const color = (color: string) => ({ weight: 1, height: 2, color })
      const made = expect(yield* call("POST", llamas, { body: llama("a", color("red")) }), 201)
      assert.strictEqual(made.spec.color, "red of admin")
      const pink = expect(yield* call("POST", llamas, { body: llama("b", color("pink")) }), 403)
      assert.strictEqual(pink.message, `llamas.farm.example.com "b" is forbidden: no pink llamas`)
      assert.include(expect(yield* call("POST", llamas, { body: llama("c", color("bug")) }), 500).message, "a mistake")
      expect(yield* call("POST", llamas, { body: llama("d", color("gone")) }), 500)
      const smaller = yield* call("PATCH", `${llamas}/a`, { headers: merge, body: { spec: { height: 1 } } })
      assert.include(expect(smaller, 403).message, "llamas do not shrink")
      assert.include(expect(yield* call("DELETE", `${llamas}/old`), 403).message, "it stays")
      const status = { status: { mood: "calm" } }
      expect(yield* call("PATCH", `${llamas}/a/status`, { headers: merge, body: status }), 200)
      const left = expect(yield* call("GET", llamas), 200).items
      assert.deepStrictEqual(left.map(({ metadata }: any) => metadata.name), ["a", "old"])
    })
  )
})

describe("views", () => {
  const pod = (name: string, containers: ReadonlyArray<string>) => ({
    metadata: { namespace: "default", name },
    spec: { containers: containers.map((name) => ({ name, image: "i" })) }
  })

  it_(
    "follow another kind, and cannot be written",
    Effect.gen(function*() {
      const { call } = yield* scene
      const client = yield* KubeClient.KubeClient
      yield* client.create(Pod, pod("a", ["x"]))
      yield* client.create(Pod, pod("b", ["x", "y"]))
      yield* TestClock.adjust("1 second")
      const { items, metadata } = expect(yield* call("GET", "namespaces/default/farmpods"), 200)
      assert.deepStrictEqual(items.map(({ metadata, spec }: any) => [metadata.name, spec.containers]), [
        ["farm-a", 1],
        ["farm-b", 2]
      ])
      assert.strictEqual(items[0].metadata.creationTimestamp, "1970-01-01T00:10:00Z")
      const { resourceVersion } = metadata
      const { events } = yield* call("GET", "farmpods", { query: { watch: "true", resourceVersion } })
      const seen = yield* Effect.forkChild(Stream.runCollect(Stream.take(events!, 1)), { startImmediately: true })
      // What does not show in the view is no change of it.
      yield* client.patch(
        Pod,
        { namespace: "default", name: "b" },
        KubeClient.Patch.merge({ metadata: { labels: { a: "b" } } })
      )
      yield* client.delete(Pod, { namespace: "default", name: "a" }, { gracePeriodSeconds: 0 })
      yield* TestClock.adjust("1 second")
      const [event] = yield* Fiber.join(seen)
      assert.deepStrictEqual([event.type, event.object.metadata.name], ["DELETED", "farm-a"])
      const refused = expect(yield* call("DELETE", "namespaces/default/farmpods/farm-b"), 405)
      assert.include(refused.message, "delete is not supported on resources of kind \"farmpods.farm.example.com\"")
    })
  )

  it_(
    "leave out an object that cannot be computed, and say so once for each of its versions",
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const client = yield* KubeClient.KubeClient
      const logged: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Warn") logged.push(String(Array.isArray(message) ? message[0] : message))
      })
      const labelled = ApiService.derived(FarmPod, {
        from: Pod,
        make: ({ metadata: { labels, name, namespace }, spec }) => ({
          metadata: { name: `farm-${labels!["farm"]!.toLowerCase()}-${name}`, namespace },
          spec: { containers: spec.containers.length }
        })
      })
      const { call, status } = yield* Effect.provide(direct(farm(labelled)), Logger.layer([logger]))
      const names = Effect.map(
        Effect.andThen(TestClock.adjust("1 second"), call("GET", "farmpods")),
        (answer) => expect(answer, 200).items.map(({ metadata }: any) => metadata.name)
      )
      const label = (name: string, farm: string | null) =>
        client.patch(Pod, { namespace: "default", name }, KubeClient.Patch.merge({ metadata: { labels: { farm } } }))
      yield* client.create(Pod, pod("a", ["x"]))
      const b = pod("b", ["x"])
      yield* client.create(Pod, { ...b, metadata: { ...b.metadata, labels: { farm: "One" } } })
      assert.deepStrictEqual(yield* names, ["farm-one-b"])
      assert.include((yield* status).trouble, "does not exist", "nothing but its registration is amiss")
      assert.lengthOf(logged, 1)
      assert.include(logged[0], "FarmPod of Pod default/a is left out: `make` threw TypeError")
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(logged, 1)
      yield* label("a", "Two")
      assert.deepStrictEqual(yield* names, ["farm-one-b", "farm-two-a"])
      // What was shown has gone with what it was computed from.
      yield* label("b", null)
      assert.deepStrictEqual(yield* names, ["farm-two-a"])
      assert.lengthOf(logged, 2)
    })
  )

  it_(
    "leave out an object that cannot be shown any more, rather than show what it was",
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const client = yield* KubeClient.KubeClient
      const noted = ApiService.derived(FarmPod, {
        from: Pod,
        make: ({ metadata: { annotations, name, namespace }, spec }) => ({
          metadata: { name: `farm-${name}`, namespace, labels: { note: annotations?.["note"] ?? "" } },
          spec: { containers: spec.containers.length }
        })
      })
      const { call } = yield* direct(farm(noted))
      yield* client.create(Pod, pod("a", ["x"]))
      for (const [note, shown] of [["fit", 1], ["no label's value", 0], ["fit", 1]] as const) {
        const noting = KubeClient.Patch.merge({ metadata: { annotations: { note } } })
        yield* client.patch(Pod, { namespace: "default", name: "a" }, noting)
        yield* TestClock.adjust("1 second")
        assert.lengthOf(expect(yield* call("GET", "farmpods"), 200).items, shown, note)
      }
    })
  )

  it_(
    "of two replicas are the same, but have versions that mean nothing to the other, which says so",
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const client = yield* KubeClient.KubeClient
      for (const name of ["a", "b"]) yield* client.create(Pod, pod(name, ["x"]))
      const older = yield* direct(farm(farmPods))
      yield* TestClock.adjust("1 minute")
      const younger = yield* direct(farm(farmPods))
      yield* TestClock.adjust("1 second")
      const items = (replica: typeof older) =>
        Effect.map(
          replica.call("GET", "farmpods"),
          (answer) =>
            expect(answer, 200).items.map(({ metadata, ...rest }: any) => ({
              ...rest,
              metadata: { ...metadata, resourceVersion: "" }
            }))
        )
      assert.deepStrictEqual(yield* items(older), yield* items(younger))
      assert.lengthOf(new Set((yield* items(older)).map(({ metadata }: any) => metadata.uid)), 2)
      const first = { query: { limit: "1" } }
      for (const [of, at] of [[younger, older], [older, younger]] as const) {
        const { metadata } = expect(yield* of.call("GET", "farmpods", first), 200)
        const { resourceVersion } = metadata
        expect(yield* of.call("GET", "farmpods", { query: { ...first.query, continue: metadata.continue } }), 200)
        expect(yield* at.call("GET", "farmpods", { query: { ...first.query, continue: metadata.continue } }), 410)
        const watched = yield* at.call("GET", "farmpods", { query: { watch: "true", resourceVersion } })
        const [event] = yield* watched.events!.pipe(Stream.take(1), Stream.runCollect, Effect.timeout("1 hour"))
        assert.deepInclude(event.object, { code: 410, reason: "Expired" })
      }
    })
  )

  it_(
    "of two objects with one name show the later, and the other again when that is gone or has another name",
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const client = yield* KubeClient.KubeClient
      const named = ApiService.derived(FarmPod, {
        from: ConfigMap,
        make: ({ data = {}, metadata: { namespace } }) =>
          data["as"] === undefined
            ? undefined
            : {
              metadata: { name: data["as"], namespace, labels: { note: data["note"] ?? "fit" } },
              spec: { containers: Number(data["containers"]) }
            }
      })
      const { call } = yield* direct(farm(named))
      const shown = Effect.map(
        Effect.andThen(TestClock.adjust("1 second"), call("GET", "farmpods")),
        (answer) => expect(answer, 200).items.map(({ metadata, spec }: any) => `${metadata.name} ${spec.containers}`)
      )
      const put = (name: string, as: string, containers: string) =>
        client.create(ConfigMap, { metadata: { namespace: "default", name }, data: { as, containers } })
      const change = (name: string, data: Record<string, string>) =>
        client.patch(ConfigMap, { namespace: "default", name }, KubeClient.Patch.merge({ data }))
      yield* put("a", "x", "1")
      yield* put("b", "x", "2")
      assert.deepStrictEqual(yield* shown, ["x 2"])
      yield* client.delete(ConfigMap, { namespace: "default", name: "a" })
      assert.deepStrictEqual(yield* shown, ["x 2"], "the earlier one is gone")
      yield* put("a", "x", "1")
      assert.deepStrictEqual(yield* shown, ["x 1"])
      yield* change("b", { as: "y" })
      assert.deepStrictEqual(yield* shown, ["x 1", "y 2"], "the earlier one has another name")
      yield* change("b", { as: "x" })
      assert.deepStrictEqual(yield* shown, ["x 2"])
      yield* change("b", { note: "no label's value" })
      assert.deepStrictEqual(yield* shown, ["x 1"], "the later one cannot be shown")
      yield* change("b", { note: "fit" })
      assert.deepStrictEqual(yield* shown, ["x 2"])
      yield* client.delete(ConfigMap, { namespace: "default", name: "b" })
      assert.deepStrictEqual(yield* shown, ["x 1"], "the later one is gone")
      yield* client.delete(ConfigMap, { namespace: "default", name: "a" })
      assert.deepStrictEqual(yield* shown, [])
    })
  )

  it_(
    "of a stream are unknown until it has said something, and keep their identity",
    Effect.gen(function*() {
      yield* TestClock.adjust("10 minutes")
      const hub = yield* PubSub.unbounded<ReadonlyArray<ApiService.Computed<typeof FarmPod.Type>>>()
      const { call } = yield* direct(farm(ApiService.computed(FarmPod, Stream.fromPubSub(hub))))
      const early = yield* Effect.forkChild(call("GET", "farmpods"), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(expect(yield* Fiber.join(early), 503).reason, "ServiceUnavailable")
      const view = (name: string, containers: number, note = "fit") => ({
        metadata: { name, namespace: "n", labels: { note } },
        spec: { containers }
      })
      const show = (...objects: ReadonlyArray<ReturnType<typeof view>>) =>
        Effect.gen(function*() {
          yield* PubSub.publish(hub, objects)
          yield* TestClock.adjust("1 second")
          return expect(yield* call("GET", "farmpods"), 200)
        })
      const before = yield* show(view("a", 1), view("b", 1))
      const after = yield* show(view("a", 1), view("b", 2), view("Not a name", 1))
      assert.deepStrictEqual(after.items[0], before.items[0], "the same object, version and all")
      assert.strictEqual(after.items[1].metadata.uid, before.items[1].metadata.uid)
      assert.strictEqual(after.items[1].metadata.generation, 2)
      assert.lengthOf(after.items, 2)
      assert.deepStrictEqual((yield* show(view("b", 2))).items, [after.items[1]])
      assert.deepStrictEqual((yield* show(view("b", 2, "no label's value"))).items, [], "is not shown as it was")
    })
  )
})

describe("who may", () => {
  const jane = { "x-remote-user": "jane", "x-remote-group": "people" }

  it_(
    "is asked of the cluster, and remembered for a while",
    Effect.gen(function*() {
      const { call } = yield* scene
      const client = yield* KubeClient.KubeClient
      const list = call("GET", llamas, { headers: jane })
      const refused = expect(yield* list, 403)
      assert.strictEqual(
        refused.message,
        `llamas.farm.example.com is forbidden: User "jane" cannot list resource "llamas" in API group ` +
          `"farm.example.com" in the namespace "farm"`
      )
      const apiGroup = "rbac.authorization.k8s.io"
      yield* client.create(ClusterRole, {
        metadata: { name: "herders" },
        rules: [{ apiGroups: ["farm.example.com"], resources: ["llamas"], verbs: ["list"] }]
      })
      yield* client.create(ClusterRoleBinding, {
        metadata: { name: "herders" },
        roleRef: { apiGroup, kind: "ClusterRole", name: "herders" },
        subjects: [{ apiGroup, kind: "Group", name: "people" }]
      })
      assert.strictEqual((yield* list).status, 403, "remembered")
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual((yield* list).status, 200)
      assert.strictEqual((yield* call("POST", llamas, { headers: jane, body: llama("a") })).status, 403)
      assert.strictEqual(
        (yield* call("GET", `${llamas}/none`, { headers: jane })).status,
        403,
        "not even that it is not there"
      )
      assert.strictEqual((yield* call("GET", "/apis", { headers: jane })).status, 200, "as any known user")
      assert.strictEqual((yield* call("GET", "/healthz", { headers: jane })).body, "ok")
      const nobody = yield* call("GET", llamas, {
        headers: { "x-remote-user": "", "x-remote-group": "system:masters" }
      })
      assert.strictEqual(nobody.status, 401)
    })
  )
})

describe("behind the in-memory aggregator", () => {
  it_(
    "clients see no difference to a custom resource",
    Effect.gen(function*() {
      const client = yield* serve(farm(ApiService.stored(Llama), farmPods))
      yield* TestClock.adjust("1 second")
      const key = { namespace: "farm", name: "a" }
      yield* client.create(Llama, { metadata: key, spec: { weight: 1, height: 2, color: "red" } })
      const changed = yield* client.patch(Llama, key, KubeClient.Patch.merge({ spec: { weight: 2 } }))
      assert.strictEqual(changed.spec.weight, 2)
      assert.lengthOf(yield* Stream.runCollect(client.list(Llama)), 1)
      yield* client.delete(Llama, key)
      assert.lengthOf(yield* Stream.runCollect(client.list(Llama)), 0)
    })
  )

  it_(
    "what the cluster serves itself is not taken over",
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      yield* client.create(Namespace, { metadata: { name: "farm" } })
      yield* Crd.install(Llama)
      yield* TestClock.adjust("1 second")
      const api = farm(ApiService.stored(Llama))
      const refused = yield* Effect.flip(ApiService.install(api, { service, localhost: true }))
      assert.include(refused.message, "APIService v1alpha.farm.example.com is the cluster's own")
      const { status } = yield* direct(api)
      yield* TestClock.adjust("1 second")
      assert.include((yield* status).trouble, "choose another group or version")
    })
  )
})
