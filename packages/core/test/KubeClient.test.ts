import { KubeClient, type KubeError, Resource, Transport } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Stream } from "effect"
import {
  failureOf,
  meta,
  Node,
  node,
  over,
  Pod,
  pod,
  podList,
  scale,
  sent,
  status,
  Web,
  web
} from "./support/Client.ts"
import { type Script, scripted } from "./support/Scripted.ts"

describe("get", () => {
  it.effect("requests one object", () =>
    Effect.gen(function*() {
      const one = yield* sent([{ body: pod("a") }], (c) => c.get(Pod, { namespace: "d", name: "a" }))
      assert.strictEqual(one.line, "GET /api/v1/namespaces/d/pods/a")
      assert.deepStrictEqual(one.headers, { accept: "application/json" })
      assert.isUndefined(one.body)
      assert.deepStrictEqual(one.result, pod("a"))
      const byObject = yield* sent([{ body: pod("a") }], (c) => c.get(Pod, pod("a"), { resourceVersion: "0" }))
      assert.strictEqual(byObject.line, "GET /api/v1/namespaces/d/pods/a?resourceVersion=0")
      const cluster = yield* sent([{ body: node }], (c) => c.get(Node, { namespace: "ignored", name: "n" }))
      assert.strictEqual(cluster.line, "GET /api/v1/nodes/n")
      const custom = yield* sent([{ body: web }], (c) => c.get(Web, { namespace: "d", name: "w" }))
      assert.strictEqual(custom.line, "GET /apis/test.io/v1/namespaces/d/webs/w")
      assert.deepStrictEqual(custom.result.spec, web.spec)
      assert.deepStrictEqual(custom.writes, [])
    }))

  it.effect("passes through a subresource of another kind, and decodes one of its own", () =>
    Effect.gen(function*() {
      const ref = { namespace: "d", name: "w" }
      const foreign = yield* sent([{ body: scale }], (c) => c.get(Web, ref, { subresource: "scale" }))
      assert.strictEqual(foreign.line, "GET /apis/test.io/v1/namespaces/d/webs/w/scale")
      assert.deepStrictEqual(foreign.result as unknown, scale)
      const { client } = over([{ body: { ...web, spec: {} } }])
      const error = yield* failureOf(client.get(Web, ref, { subresource: "status" }))
      assert.strictEqual(error.reason._tag, "Decode")
    }))
})

describe("connect", () => {
  const ref = { namespace: "d", name: "a" }

  it.effect("returns whatever a subresource answers: text, a value, nothing", () =>
    Effect.gen(function*() {
      for (const body of ["a\nb", { a: 1 }, undefined]) {
        const one = yield* sent([{ body }], (c) =>
          c.connect(Pod, ref, { subresource: "proxy/metrics", query: [["a", "1"], ["b", undefined], ["a", "2"]] }))
        assert.strictEqual(one.line, "GET /api/v1/namespaces/d/pods/a/proxy/metrics?a=1&a=2")
        assert.deepStrictEqual(one.headers, { accept: "*/*" })
        assert.deepStrictEqual(one.result, body)
        assert.deepStrictEqual(one.writes, [])
      }
    }))

  it.effect("fails like other requests, and before it is sent if it is a write that is not permitted", () =>
    Effect.gen(function*() {
      const { client, requests } = over([{ status: 404, body: status(404, "NotFound") }])
      const refused = yield* failureOf(client.connect(Pod, ref, { subresource: "log" }))
      assert.strictEqual(refused.reason._tag, "NotFound")
      assert.match(refused.message, /^connect pods\/log d\/a: NotFound/)
      const lost = yield* failureOf(client.connect(Pod, { name: "a" }, { subresource: "log" }))
      assert.strictEqual(lost.reason._tag, "BadRequest")
      const write = client.connect(Pod, ref, { subresource: "exec", method: "POST", process: { stdin: "x" } })
      const unpermitted = yield* failureOf(
        Effect.provideService(write, KubeClient.Writing, { permit: () => lost, wrote: () => {} })
      )
      assert.strictEqual(unpermitted, lost)
      assert.strictEqual(requests.length, 1)
    }))

  it.effect("a process is requested by an upgrade, with its options", () =>
    Effect.gen(function*() {
      const { client, requests } = over([{ body: { stdout: "", stderr: "", status: {} } }])
      yield* client.connect(Pod, ref, { subresource: "exec", method: "POST", process: { stdin: "x" } })
      const [{ headers, method, permit, process }] = requests as unknown as [Transport.Request]
      assert.deepStrictEqual([method, headers["upgrade"], process], ["POST", "websocket", { stdin: "x" }])
      assert.isTrue(permit?.())
    }))
})

describe("list", () => {
  it.effect("follows the pages, and requests a snapshot only for the first one", () =>
    Effect.gen(function*() {
      const { client, requests } = over([
        podList([{ metadata: meta("a") }], { resourceVersion: "9", continue: "t1" }),
        podList([], { resourceVersion: "9", continue: "t2" }),
        podList([{ metadata: meta("b") }], { resourceVersion: "9", continue: "" })
      ])
      const all = yield* Stream.runCollect(client.list(Pod, {
        namespace: "d",
        labels: [{ operator: "in", key: "a", values: ["1", "2"] }],
        fields: "status.phase=Running",
        limit: 2,
        resourceVersion: "7",
        resourceVersionMatch: "NotOlderThan"
      }))
      // The items of a list carry neither apiVersion nor kind.
      assert.deepStrictEqual(all, [pod("a"), pod("b")])
      const selection = [["labelSelector", "a in (1,2)"], ["fieldSelector", "status.phase=Running"], ["limit", "2"]]
      assert.deepStrictEqual(requests.map(({ query }) => query), [
        [...selection, ["resourceVersion", "7"], ["resourceVersionMatch", "NotOlderThan"]],
        [...selection, ["continue", "t1"]],
        [...selection, ["continue", "t2"]]
      ] as never)
      assert.deepStrictEqual([...new Set(requests.map(({ path }) => path))], ["/api/v1/namespaces/d/pods"])
    }))

  it.effect("requests pages of 500, or everything at once, in all namespaces or the kind's scope", () =>
    Effect.gen(function*() {
      const line = <A>(call: (c: KubeClient.Client) => Effect.Effect<A, KubeError.KubeError>) =>
        Effect.map(sent([podList(null)], call), ({ line }) => line)
      assert.strictEqual(yield* line((c) => c.listPage(Pod)), "GET /api/v1/pods?limit=500")
      assert.strictEqual(yield* line((c) => c.listPage(Pod, { limit: 0 })), "GET /api/v1/pods")
      assert.strictEqual(
        yield* line((c) => c.listPage(Pod, { labels: { b: "2", a: "1" }, fields: "" })),
        "GET /api/v1/pods?labelSelector=a=1,b=2&limit=500"
      )
      assert.strictEqual(yield* line((c) => c.listPage(Node, { namespace: "d" })), "GET /api/v1/nodes?limit=500")
    }))

  it.effect("returns a page with its continue token", () =>
    Effect.gen(function*() {
      const { client } = over([
        podList([pod("a")], { resourceVersion: "9", continue: "t", remainingItemCount: 1 }),
        podList(null)
      ])
      assert.deepStrictEqual(yield* client.listPage(Pod), { items: [pod("a")], resourceVersion: "9", continue: "t" })
      assert.deepStrictEqual(yield* client.listPage(Pod), { items: [], resourceVersion: "9" })
    }))

  it.effect("fails on an expired token, and on an object that does not decode", () =>
    Effect.gen(function*() {
      const { client } = over([
        podList([pod("a")], { resourceVersion: "9", continue: "t" }),
        status(410, "Expired", "The provided continue parameter is too old"),
        { body: { kind: "WebList", metadata: { resourceVersion: "1" }, items: [web, { ...web, spec: { size: "x" } }] } }
      ])
      assert.strictEqual((yield* failureOf(Stream.runDrain(client.list(Pod)))).reason._tag, "Gone")
      const error = yield* failureOf(Stream.runDrain(client.list(Web)))
      assert.match(error.message, /^list webs\.test\.io: Decode: the answer is not a valid Web: spec\.size: Expected/)
    }))

  it.effect("does not follow a page that continues with itself", () =>
    Effect.gen(function*() {
      const same = podList([pod("a")], { resourceVersion: "9", continue: "t" })
      const { client, requests } = over([same, same, same])
      const error = yield* failureOf(Stream.runDrain(client.list(Pod)))
      assert.strictEqual(
        error.message,
        "list pods: Decode: the list does not end: the next page has the same continue token: t"
      )
      assert.strictEqual(requests.length, 2)
    }))

  it.effect("lists what a server computes for each request, without any versions", () =>
    Effect.gen(function*() {
      const PodMetrics = Resource.make<Pod>()({
        group: "metrics.k8s.io",
        version: "v1beta1",
        kind: "PodMetrics",
        plural: "pods",
        scope: "Namespaced"
      })
      const usage = { cpu: "12m", memory: "30Mi" }
      const item = { metadata: { name: "a", namespace: "d" }, window: "15s", containers: [{ name: "web", usage }] }
      const list = (items: ReadonlyArray<unknown>) => ({
        body: { kind: "PodMetricsList", apiVersion: "metrics.k8s.io/v1beta1", metadata: {}, items }
      })
      const { client } = over([list([item]), list([item]), list([{ metadata: {} }])])
      const typed = { ...item, apiVersion: "metrics.k8s.io/v1beta1", kind: "PodMetrics" }
      assert.deepStrictEqual(yield* client.listPage(PodMetrics), { items: [typed as never], resourceVersion: "" })
      assert.deepStrictEqual(yield* Stream.runCollect(client.list(PodMetrics, { namespace: "d" })), [typed as never])
      assert.strictEqual((yield* failureOf(client.listPage(PodMetrics))).reason._tag, "Decode")
    }))

  it.effect("treats a response that is not a list as a failure, never as an empty list", () =>
    Effect.gen(function*() {
      const bodies = ["<html>log in</html>", undefined, {}, { metadata: {}, items: [] }, pod("a"), {
        metadata: { resourceVersion: "1" }
      }]
      for (const body of bodies) {
        const { client } = over([{ body }])
        const error = yield* failureOf(client.listPage(Pod))
        assert.strictEqual(error.reason._tag, "Decode", JSON.stringify(body))
      }
    }))
})

describe("watch", () => {
  const collect = (script: Script, options?: KubeClient.WatchOptions) =>
    Effect.gen(function*() {
      const { client, requests } = over(script)
      const seen: Array<string> = []
      const exit = yield* Effect.exit(
        client.watch(Pod, options).pipe(
          Stream.runForEach(({ object, type }) =>
            Effect.sync(() => seen.push(`${type} ${"name" in object.metadata ? object.metadata.name : ""}`))
          )
        )
      )
      const error = Exit.isSuccess(exit) ? undefined : yield* Effect.flip(exit)
      return { seen, error, requests }
    })
  const event = (type: string, name: string) => ({ type, object: pod(name) })
  const bookmark = { type: "BOOKMARK", object: { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion: "8" } } }

  it.effect("opens one stream with all options", () =>
    Effect.gen(function*() {
      const { requests } = yield* collect([{}], {
        namespace: "d",
        labels: "a",
        fields: [{ operator: "=", field: "metadata.name", value: "x" }],
        resourceVersion: "7",
        resourceVersionMatch: "NotOlderThan",
        sendInitialEvents: true,
        timeoutSeconds: 300
      })
      assert.deepStrictEqual(requests.map(({ method, path }) => `${method} ${path}`), ["GET /api/v1/namespaces/d/pods"])
      assert.deepStrictEqual(Object.fromEntries(requests[0]!.query), {
        watch: "true",
        labelSelector: "a",
        fieldSelector: "metadata.name=x",
        allowWatchBookmarks: "true",
        resourceVersion: "7",
        resourceVersionMatch: "NotOlderThan",
        sendInitialEvents: "true",
        timeoutSeconds: "300"
      })
      const plain = yield* collect([{}], { allowWatchBookmarks: false })
      assert.deepStrictEqual(plain.requests[0]!.query, [["watch", "true"]])
      const cluster = over([{}])
      yield* Stream.runDrain(cluster.client.watch(Node, { namespace: "d" }))
      assert.strictEqual(cluster.requests[0]!.path, "/api/v1/nodes")
    }))

  it.effect("gives the events in order, and ends when the server ends it", () =>
    Effect.gen(function*() {
      const { error, seen } = yield* collect([{
        chunks: [[event("ADDED", "a"), event("MODIFIED", "a")], [bookmark], [event("DELETED", "a")]]
      }])
      assert.deepStrictEqual(seen, ["ADDED a", "MODIFIED a", "BOOKMARK ", "DELETED a"])
      assert.isUndefined(error)
    }))

  it.effect("fails with the reason of an ERROR event, after the events before it in the same chunk", () =>
    Effect.gen(function*() {
      for (const [code, reason, tag] of [[410, "Expired", "Gone"], [403, "Forbidden", "Forbidden"]] as const) {
        const { error, seen } = yield* collect([{
          chunks: [[event("ADDED", "a"), { type: "ERROR", object: status(code, reason).body }, event("ADDED", "b")]]
        }])
        assert.deepStrictEqual(seen, ["ADDED a"])
        assert.strictEqual(error?.reason._tag, tag)
        assert.strictEqual(error?.verb, "watch")
      }
    }))

  it.effect("fails if the server refuses it, the connection breaks, or there is none", () =>
    Effect.gen(function*() {
      const refused = yield* collect([status(410, "Expired", "too old resource version: 1 (9)")], { namespace: "d" })
      assert.strictEqual(refused.error?.reason._tag, "Gone")
      assert.strictEqual(refused.error?.message, "watch pods in d: Gone: too old resource version: 1 (9)")
      const proxy = yield* collect([{ status: 502, body: "bad gateway" }])
      assert.strictEqual(proxy.error?.reason._tag, "ServerError")
      const broken = yield* collect([{ chunks: [[event("ADDED", "a")]], broken: "reset" }])
      assert.deepStrictEqual([broken.seen, broken.error?.reason._tag], [["ADDED a"], "Transport"])
      const down = yield* collect([{ down: "ECONNREFUSED" }])
      assert.strictEqual(down.error?.message, "watch pods: Transport: ECONNREFUSED")
    }))

  it.effect("fails on a value that is not an event", () =>
    Effect.gen(function*() {
      for (const value of [null, 5, "text", {}, { type: "ADDED" }, { type: "ADDED", object: {} }]) {
        const { error, seen } = yield* collect([{ chunks: [[event("ADDED", "a"), value]] }])
        assert.deepStrictEqual(seen, ["ADDED a"], JSON.stringify(value))
        assert.strictEqual(error?.reason._tag, "Decode", JSON.stringify(value))
      }
    }))

  it.effect("reports when the server has accepted it, and only then", () =>
    Effect.gen(function*() {
      let opened = 0
      const onOpen = Effect.sync(() => {
        opened += 1
      })
      yield* collect([status(403, "Forbidden")], { onOpen })
      assert.strictEqual(opened, 0)
      yield* collect([{}], { onOpen })
      assert.strictEqual(opened, 1)
    }))
})

describe("responses", () => {
  it.effect("with an error status become the server's reason, readable", () =>
    Effect.gen(function*() {
      const { client } = over([
        status(404, "NotFound", `pods "a" not found`),
        { status: 404, body: "404 page not found\n" },
        { ...status(429, "TooManyRequests"), headers: { "retry-after": "2" } },
        { down: "ECONNRESET" }
      ])
      const get = failureOf(client.get(Pod, { namespace: "d", name: "a" }))
      assert.strictEqual((yield* get).message, `get pods d/a: NotFound: pods "a" not found`)
      assert.strictEqual((yield* get).message, "get pods d/a: NotFound: 404 page not found")
      assert.strictEqual((yield* get).retryAfter, 2_000)
      const down = yield* get
      assert.deepStrictEqual([down.reason._tag, down.isRetryable], ["Transport", true])
    }))

  it.effect("that are not an object of the kind fail, whatever their status", () =>
    Effect.gen(function*() {
      for (const body of ["<html>", undefined, null, 5, {}, []]) {
        const { client, writes } = over(() => ({ body }))
        const ref = { namespace: "d", name: "a" }
        for (const call of [client.get(Pod, ref), client.replace(Pod, pod("a"))]) {
          assert.strictEqual((yield* failureOf(call)).reason._tag, "Decode", JSON.stringify(body))
        }
        assert.deepStrictEqual(writes, [])
      }
    }))
})

describe("observe", () => {
  it.effect("shows each accepted write to every observer before the caller gets the response", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const { transport } = scripted(() => ({ body: pod("a") }))
      const client = KubeClient.make(transport)
      yield* client.observe(({ _tag }) => order.push(`first ${_tag}`))
      yield* client.observe(({ _tag }) => order.push(`second ${_tag}`))
      yield* client.create(Pod, pod("a"))
      order.push("created")
      yield* client.delete(Pod, pod("a"))
      order.push("deleted")
      yield* client.patch(Pod, pod("a"), KubeClient.Patch.merge({}), { dryRun: true })
      yield* client.get(Pod, pod("a"))
      assert.deepStrictEqual(order, [
        "first Written",
        "second Written",
        "created",
        "first Deleted",
        "second Deleted",
        "deleted"
      ])
    }))

  it.effect("shows a write even if its response does not decode: it happened", () =>
    Effect.gen(function*() {
      const { client, writes } = over([{ body: { ...web, spec: {} } }])
      const error = yield* failureOf(client.patch(Web, web, KubeClient.Patch.merge({})))
      assert.strictEqual(error.reason._tag, "Decode")
      assert.deepStrictEqual(writes.map(({ _tag }) => _tag), ["Written"])
    }))

  it.effect("shows the object as the server wrote it, before the schema changes anything", () =>
    Effect.gen(function*() {
      const { client, writes } = over([{ body: web }])
      yield* client.replace(Web, web)
      assert.deepStrictEqual(writes.map((write) => write._tag === "Written" && write.object), [web])
    }))
})

it.effect("KubeClient.layerOver is a separate client for each transport, and shared if one is used twice", () =>
  Effect.gen(function*() {
    const seen: Array<KubeClient.Client> = []
    const using = (layer: Layer.Layer<KubeClient.KubeClient>) =>
      Layer.effectDiscard(Effect.map(KubeClient.KubeClient, (client) => void seen.push(client))).pipe(
        Layer.provide(layer)
      )
    const over = (name: string) =>
      KubeClient.KubeClient.layerOver(
        Layer.sync(Transport.Transport, () =>
          scripted([{ body: { ...node, metadata: { ...node.metadata, name } } }]).transport)
      )
    const east = over("east")
    yield* Layer.build(Layer.mergeAll(using(east), using(over("west")), using(east)))
    const [first, second, third] = seen
    assert.strictEqual(first, third)
    const names = yield* Effect.forEach([first!, second!], (client) => client.get(Node, { name: "n" }))
    assert.deepStrictEqual(names.map(({ metadata }) => metadata.name), ["east", "west"])
  }))

it.effect("KubeClient.layer uses the transport in context", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    assert.deepStrictEqual(yield* client.get(Node, { name: "n" }), node)
  }).pipe(
    Effect.provide(Layer.provide(
      KubeClient.KubeClient.layer,
      Layer.succeed(Transport.Transport, scripted([{ body: node }]).transport)
    ))
  ))

it.effect("KubeClient.Impersonated makes requests of every kind as another user", () =>
  Effect.gen(function*() {
    const user = KubeClient.serviceAccount("team-a", "deployer")
    assert.strictEqual(user, "system:serviceaccount:team-a:deployer")
    const { client, requests } = over([{ body: pod("a") }, { status: 201, body: pod("a") }, {}, {}, { body: pod("a") }])
    const key = { namespace: "d", name: "a" }
    yield* client.get(Pod, key).pipe(
      Effect.andThen(client.create(Pod, { metadata: key })),
      Effect.andThen(Stream.runDrain(client.watch(Pod))),
      Effect.andThen(Stream.runDrain(client.lines(Pod, key, { subresource: "log" }))),
      Effect.provideService(KubeClient.Impersonated, user)
    )
    yield* client.get(Pod, key)
    assert.deepStrictEqual(requests.map(({ headers }) => headers["impersonate-user"]), [
      user,
      user,
      user,
      user,
      undefined
    ])
  }))
