/**
 * What users of `@kubernetes/client-node` ran into, each by the name it has there (measured on 2.0.1, or the number of
 * the report), and how the live client fares.
 */
import { KubeClient, type KubeObject, Reflector, Resource } from "@effect-operator/core"
import { Transport } from "@effect-operator/core/KubeError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, Stream, SubscriptionRef } from "effect"
import * as Fs from "node:fs"
import type * as Http from "node:http"
import * as Path from "node:path"
import * as Credentials from "../../src/Credentials.ts"
import * as KubeConfig from "../../src/KubeConfig.ts"
import type * as LiveClient from "../../src/LiveClient.ts"
import { folder } from "../support/folder.ts"
import { closed, cluster, ConfigMap, connect, json, key, object, serve, status } from "../support/liveServer.ts"

const isWatch = (request: Http.IncomingMessage) => request.url?.includes("watch=true") === true

const list = (response: Http.ServerResponse, ...items: ReadonlyArray<KubeObject.KubeObject>) =>
  json(response, 200, { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items })

const line = (type: string, of: object) => `${JSON.stringify({ type, object: of })}\n`

/** A reflector over sockets, and what it has of the objects. */
const reflect = (url: string, options?: LiveClient.Options, credentials?: Credentials.Credentials) =>
  Effect.gen(function*() {
    const { client } = yield* connect(cluster(url, credentials === undefined ? {} : { credentials }), options)
    const objects = new Map<string, string>()
    const reflector = yield* Reflector.make(client, ConfigMap, {}, {
      replace: (items) => {
        objects.clear()
        for (const { metadata } of items) objects.set(metadata.name, metadata.resourceVersion)
      },
      apply: (events) => {
        for (const { object: { metadata }, type } of events) {
          if (type === "DELETED") objects.delete((metadata as KubeObject.ObjectMeta).name)
          else if (type !== "BOOKMARK") objects.set((metadata as KubeObject.ObjectMeta).name, metadata.resourceVersion)
        }
      }
    })
    const fiber = yield* Effect.forkScoped(reflector.run)
    return { objects, reflector, fiber }
  })

const until = (holds: () => boolean) => Effect.repeat(Effect.sleep("5 millis"), { until: holds })

describe("client-node's defects", () => {
  it.live("a dispatcher per request: 50 sequential lists take 50 connections", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => list(response))
      const { client } = yield* connect(cluster(server.url))
      yield* Effect.repeat(Stream.runDrain(client.list(ConfigMap)), { times: 49 })
      assert.strictEqual(server.requests.length, 50)
      assert.isAtMost(server.sockets.length, 2)
    }))

  it.live("#3020: a healthy, quiet watch is given up after 30 s", () =>
    Effect.gen(function*() {
      let last: Http.ServerResponse | undefined
      const server = yield* serve((_, response) => {
        last = response
        response.writeHead(200, { "content-type": "application/json" }).flushHeaders()
      })
      // Every deadline of a request is far below the watch's silence.
      const { client } = yield* connect(cluster(server.url), {
        bodyTimeout: "200 millis",
        headersTimeout: "500 millis",
        requestTimeout: "500 millis"
      })
      const event = yield* Effect.forkChild(Stream.runHead(client.watch(ConfigMap)), { startImmediately: true })
      yield* Effect.sleep("2500 millis")
      last?.write(line("ADDED", object("a", "2")))
      assert.strictEqual((yield* Fiber.join(event))._tag, "Some")
      assert.strictEqual(server.requests.length, 1)
    }))

  it.live("a watch asks for no bookmarks, and resumes from an ageing resourceVersion", () =>
    Effect.gen(function*() {
      const server = yield* serve((request, response, nth) => {
        if (!isWatch(request)) return list(response, object("a", "1"))
        response.writeHead(200, { "content-type": "application/json" })
        const bookmark = { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion: "77" } }
        if (nth === 2) response.end(line("BOOKMARK", bookmark))
      })
      yield* reflect(server.url)
      yield* until(() => server.requests.length >= 3)
      const [, first, second] = server.requests
      assert.include(first?.url, "allowWatchBookmarks=true")
      assert.include(first?.url, "resourceVersion=1&")
      assert.include(second?.url, "resourceVersion=77&")
    }))

  it.live("a line that is no JSON is skipped without a word", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(line("ADDED", object("a", "2")) + "not json\n" + line("ADDED", object("b", "3")))
      })
      const { client } = yield* connect(cluster(server.url))
      const error = yield* Effect.flip(Stream.runDrain(client.watch(ConfigMap)))
      assert.include(error.message, "line 2 of the watch is not JSON")
    }))

  it.live("an exception of the consumer is swallowed, and the watch goes on", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.write(line("ADDED", object("a", "2")))
      })
      const { client } = yield* connect(cluster(server.url))
      const consumer = Stream.runForEach(client.watch(ConfigMap), () => Effect.fail("mine" as const))
      assert.strictEqual(yield* Effect.flip(consumer), "mine")
      yield* closed(server.sockets[0]!)
    }))

  it.live("a refused watch loses the Status and Retry-After", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) =>
        json(response, 403, status(403, "Forbidden", { message: "no, because" }))
      )
      const { client } = yield* connect(cluster(server.url))
      const error = yield* Effect.flip(Stream.runDrain(client.watch(ConfigMap)))
      assert.deepStrictEqual([error.reason._tag, error.reason.message], ["Forbidden", "no, because"])
    }))

  it.live("#1496, #589, #680: an informer stops for good after a 500, a reset or an in-stream ERROR", () => {
    type Fault = (request: Http.IncomingMessage, response: Http.ServerResponse) => unknown
    const internal: Fault = (_, response) => json(response, 500, status(500, "InternalError"))
    const reset: Fault = (request) => request.socket.destroy()
    const event: Fault = (_, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(line("ERROR", status(500, "InternalError")))
    }
    const survives = (fault: Fault, at: number) =>
      Effect.gen(function*() {
        const server = yield* serve((request, response, nth) => {
          if (nth === at) return fault(request, response)
          if (!isWatch(request)) return list(response, object("a", "1"))
          response.writeHead(200, { "content-type": "application/json" })
          response.write(line("ADDED", object("b", "5")))
        })
        const { objects, reflector } = yield* reflect(server.url)
        const phases: Array<string> = []
        yield* Effect.forkScoped(
          Stream.runForEach(
            SubscriptionRef.changes(reflector.status),
            ({ _tag }) => Effect.sync(() => phases.push(_tag))
          )
        )
        yield* until(() => objects.has("b"))
        assert.deepStrictEqual([...objects], [["a", "1"], ["b", "5"]])
        assert.include(phases, "Degraded")
      })
    return Effect.all(
      [survives(internal, 1), survives(internal, 2), survives(reset, 2), survives(event, 2)],
      { concurrency: "unbounded" }
    )
  })

  it.live("an auth failure on reconnect ends as an unhandled rejection", () =>
    Effect.gen(function*() {
      let asked = 0
      const credentials = Credentials.issued(
        Effect.suspend(() =>
          ++asked === 2
            ? Effect.fail(new Transport({ message: "the plugin crashed" }))
            : Effect.succeed({ token: Redacted.make(`t${asked}`) })
        ),
        { name: "the plugin" }
      )
      const server = yield* serve((request, response) => {
        if (request.headers.authorization === "Bearer t3") {
          response.writeHead(200, { "content-type": "application/json" })
          return response.write(line("ADDED", object("b", "5")))
        }
        return isWatch(request) ? json(response, 401, status(401, "Unauthorized")) : list(response, object("a", "1"))
      })
      const { objects } = yield* reflect(server.url, undefined, credentials)
      yield* until(() => objects.has("b"))
      assert.strictEqual(asked, 3)
    }))

  it.live("#1933: tens of watch requests per second after a reconnect", () =>
    Effect.gen(function*() {
      const server = yield* serve((request, response) => {
        if (!isWatch(request)) return list(response)
        response.writeHead(200, { "content-type": "application/json" }).end()
      })
      yield* reflect(server.url)
      yield* Effect.sleep("2 seconds")
      assert.isAtMost(server.requests.length, 5)
    }))

  it.live("#494, #956: a stopped watch keeps its connection", () =>
    Effect.gen(function*() {
      const server = yield* serve((request, response) =>
        isWatch(request)
          ? void response.writeHead(200, { "content-type": "application/json" }).flushHeaders()
          : list(response)
      )
      const { fiber, reflector } = yield* reflect(server.url)
      yield* reflector.synced
      yield* until(() => server.requests.length === 2)
      yield* Fiber.interrupt(fiber)
      yield* closed(server.sockets[1]!)
      const before = server.requests.length
      yield* Effect.sleep("1500 millis")
      assert.strictEqual(server.requests.length, before)
    }))

  it.live("#2432: a call hangs for ever", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => {})
      const { client } = yield* connect(cluster(server.url), { requestTimeout: "300 millis" })
      assert.include((yield* Effect.flip(client.get(ConfigMap, key))).message, "no complete answer within 300ms")
    }))

  it.live("#140, #443, #862, #1398: a patch goes out with a content type the server refuses (415)", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const { client } = yield* connect(cluster(server.url))
      yield* client.patch(ConfigMap, key, KubeClient.Patch.merge({}))
      yield* client.patch(ConfigMap, key, KubeClient.Patch.json([]))
      yield* client.patch(ConfigMap, key, KubeClient.Patch.strategic({}))
      yield* client.apply(ConfigMap, { metadata: key })
      assert.deepStrictEqual(server.requests.map(({ headers }) => headers["content-type"]), [
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml"
      ])
    }))

  it.live("#487, #2189: unknown fields are dropped, times become Dates; paths lose their case", () =>
    Effect.gen(function*() {
      const odd = { ...object("A:B_UpPer"), future: { field: [1] } }
      let sent = ""
      const server = yield* serve((request, response) => {
        request.setEncoding("utf8").on("data", (text: string) => {
          sent += text
        })
        request.on("end", () => json(response, 200, odd))
      })
      const { client } = yield* connect(cluster(server.url))
      const read = yield* client.get(ConfigMap, { namespace: "ns", name: "A:B_UpPer" })
      assert.deepStrictEqual(read, odd)
      assert.strictEqual(typeof read.metadata.creationTimestamp, "string")
      yield* client.replace(ConfigMap, read)
      assert.deepStrictEqual(JSON.parse(sent), odd)
      assert.include(server.requests[0]?.url, "/A%3AB_UpPer")
    }))

  it.live("subresources of custom kinds cannot be written", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const { client } = yield* connect(cluster(server.url))
      const Widget = Resource.make<KubeObject.KubeObject>()({
        group: "example.org",
        version: "v1",
        kind: "Widget",
        plural: "widgets",
        scope: "Namespaced"
      })
      yield* client.patch(Widget, key, KubeClient.Patch.merge({ status: {} }), { subresource: "status" })
      assert.strictEqual(
        server.requests[0]?.url,
        "/apis/example.org/v1/namespaces/ns/widgets/a/status?fieldManager=effect-operator"
      )
    }))

  const kubeconfig = (user: object, server: string) =>
    JSON.stringify({
      "current-context": "c",
      "clusters": [{ name: "k", cluster: { server } }],
      "contexts": [{ name: "c", context: { cluster: "k", user: "u" } }],
      "users": [{ name: "u", user }]
    })

  it.live("plain http is refused unless certificates are not verified", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const config = yield* KubeConfig.load({ kubeconfig: kubeconfig({ token: "t" }, server.url) })
      const { client } = yield* connect(config)
      yield* client.get(ConfigMap, key)
      assert.strictEqual(server.requests[0]?.headers.authorization, "Bearer t")
    }))

  it.live("tokenFile and as-groups, as-uid and as-user-extra are not read; a token keeps its line end", () =>
    Effect.gen(function*() {
      const path = yield* folder({ token: "from-file\n" })
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const user = {
        "tokenFile": Path.join(path, "token"),
        "as": "alice",
        "as-uid": "7",
        "as-groups": ["g1", "g2"],
        "as-user-extra": { scope: ["s"] }
      }
      const { client } = yield* connect(yield* KubeConfig.load({ kubeconfig: kubeconfig(user, server.url) }))
      yield* client.get(ConfigMap, key)
      const { headers } = server.requests[0]!
      assert.strictEqual(headers.authorization, "Bearer from-file")
      assert.strictEqual(headers["impersonate-user"], "alice")
      assert.strictEqual(headers["impersonate-uid"], "7")
      assert.strictEqual(headers["impersonate-group"], "g1, g2")
      assert.strictEqual(headers["impersonate-extra-scope"], "s")
    }))

  it.live("#228, #389: an exec plugin runs ten times for ten calls, and not again after a 401", () =>
    Effect.gen(function*() {
      const path = yield* folder({})
      const runs = Path.join(path, "runs")
      const count = () => Fs.readFileSync(runs, "utf8").length
      const program = `require("node:fs").appendFileSync(process.argv[1], "x");
        console.log(JSON.stringify({ kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1beta1",
          status: { token: "t" + require("node:fs").readFileSync(process.argv[1], "utf8").length } }))`
      const exec = {
        apiVersion: "client.authentication.k8s.io/v1beta1",
        command: process.execPath,
        args: ["--eval", program, runs]
      }
      let valid = "Bearer t1"
      const server = yield* serve((request, response) =>
        request.headers.authorization === valid
          ? json(response, 200, object("a"))
          : json(response, 401, status(401, "Unauthorized"))
      )
      const { client } = yield* connect(yield* KubeConfig.load({ kubeconfig: kubeconfig({ exec }, server.url) }))
      const ten = Effect.all(Array.from({ length: 10 }, () => client.get(ConfigMap, key)), { concurrency: "unbounded" })
      yield* ten
      assert.strictEqual(count(), 1)
      valid = "Bearer t2"
      yield* ten
      assert.strictEqual(count(), 2)
    }))

  it.live("#483: a list holds instances of classes, a watch plain objects", () =>
    Effect.gen(function*() {
      const server = yield* serve((request, response) => {
        if (!isWatch(request)) return list(response, object("a"))
        response.writeHead(200, { "content-type": "application/json" }).end(line("ADDED", object("a")))
      })
      const { client } = yield* connect(cluster(server.url))
      const [listed] = yield* Stream.runCollect(client.list(ConfigMap))
      const [watched] = yield* Stream.runCollect(client.watch(ConfigMap))
      assert.deepStrictEqual(listed, object("a"))
      assert.deepStrictEqual(watched?.object, object("a"))
    }))
})
