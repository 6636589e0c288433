import { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted, Stream } from "effect"
import * as Fs from "node:fs"
import * as Credentials from "../src/Credentials.ts"
import * as LiveClient from "../src/LiveClient.ts"
import { closed, cluster, ConfigMap, connect, json, key, object, serve, status } from "./support/liveServer.ts"

const line = (type: string, name: string, resourceVersion: string) =>
  JSON.stringify({ type, object: object(name, resourceVersion) }) + "\n"

describe("LiveClient requests", () => {
  it.live("sends method, path, query, body and headers as they are, and reads JSON", () =>
    Effect.gen(function*() {
      let body = ""
      const server = yield* serve((request, response) => {
        request.setEncoding("utf8").on("data", (text: string) => {
          body += text
        })
        request.on("end", () => json(response, 201, object("a")))
      })
      const { client } = yield* connect(cluster(`${server.url}/k8s/clusters/c-1/`))
      const created = yield* client.create(ConfigMap, { metadata: { namespace: "ns", name: "a" }, data: { k: "ü" } }, {
        fieldManager: "me & you"
      })
      assert.deepStrictEqual(created, object("a"))
      const [request] = server.requests
      assert.strictEqual(request?.method, "POST")
      assert.strictEqual(
        request?.url,
        "/k8s/clusters/c-1/api/v1/namespaces/ns/configmaps?fieldManager=me%20%26%20you"
      )
      assert.strictEqual(request?.headers["authorization"], "Bearer s3cret")
      assert.strictEqual(request?.headers["user-agent"], `effect-operator/${LiveClient.version}`)
      assert.strictEqual(request?.headers["accept"], "application/json")
      assert.strictEqual(request?.headers["content-type"], "application/json")
      assert.strictEqual(JSON.parse(body).data.k, "ü")
    }))

  it.live("goes to the server of its own layer, also where a program has clients of several clusters", () =>
    Effect.gen(function*() {
      const servers = yield* Effect.forEach(
        ["east", "west"],
        (name) => serve((_, response) => json(response, 200, object(name)))
      )
      const asking = Layer.effectDiscard(KubeClient.KubeClient.use((client) => client.get(ConfigMap, key)))
      const asked = (layer: (url: string) => Layer.Layer<KubeClient.KubeClient, unknown>) =>
        Layer.build(Layer.mergeAll(...servers.map(({ url }) => Layer.fresh(asking).pipe(Layer.provide(layer(url)))) as [
          Layer.Layer<never, unknown>
        ]))
      yield* asked((url) => LiveClient.layerCluster(cluster(url)))
      yield* asked((server) => LiveClient.layerOptions({ server }))
      assert.deepStrictEqual(servers.map(({ requests }) => requests.length), [2, 2])
    }))

  it.live("keeps the case and the escapes of a path", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const { client } = yield* connect(cluster(server.url))
      yield* client.get(ConfigMap, { namespace: "ns", name: "A:B_UpPer/x" })
      assert.strictEqual(server.requests[0]?.url, "/api/v1/namespaces/ns/configmaps/A%3AB_UpPer%2Fx")
    }))

  it.live("escapes in what is applied, which is read as YAML, what YAML would refuse or fold", () =>
    Effect.gen(function*() {
      let body = ""
      const server = yield* serve((request, response) => {
        request.setEncoding("utf8").on("data", (text: string) => {
          body += text
        })
        request.on("end", () => json(response, 200, object("a")))
      })
      const { client } = yield* connect(cluster(server.url))
      const data = { k: "ü🚀 \u0001\u007f\u0085\u2028\ufeff\uffff" }
      yield* client.apply(ConfigMap, { metadata: key, data })
      assert.include(body, `"ü🚀 \\u0001\\u007f\\u0085\\u2028\\ufeff\\uffff"`)
      assert.deepStrictEqual(JSON.parse(body).data, data)
    }))

  it.live("maps a Status to its reason, with Retry-After", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<readonly [number, unknown, Record<string, string>]> = [
        [404, status(404, "NotFound"), {}],
        [409, status(409, "Conflict"), {}],
        [409, status(409, "AlreadyExists"), {}],
        [422, status(422, "Invalid"), {}],
        [429, status(429, "TooManyRequests"), { "Retry-After": "17" }],
        [410, status(410, "Expired"), {}],
        [500, status(500, "InternalError"), {}],
        [504, status(504, "Timeout"), {}]
      ]
      const server = yield* serve((_, response, nth) => json(response, ...answers[nth - 1]!))
      const { client } = yield* connect(cluster(server.url))
      const seen: Array<unknown> = []
      for (const _ of answers) {
        const error = yield* Effect.flip(client.get(ConfigMap, key))
        seen.push([error.reason._tag, error.retryAfter])
      }
      assert.deepStrictEqual(seen, [
        ["NotFound", undefined],
        ["Conflict", undefined],
        ["AlreadyExists", undefined],
        ["Invalid", undefined],
        ["TooManyRequests", 17000],
        ["Gone", undefined],
        ["ServerError", undefined],
        ["Timeout", undefined]
      ])
    }))

  it.live("hands text through, reports an empty body as none, and JSON that is none as no answer", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response, nth) => {
        if (nth === 1) response.writeHead(502, { "content-type": "text/html", "X-Two": ["a", "b"] }).end("bad gateway")
        else if (nth === 2) response.writeHead(204).end()
        else response.writeHead(200, { "content-type": "application/json" }).end("{\"password\":\"hunter2")
      })
      const { transport } = yield* connect(cluster(server.url))
      const request = { method: "GET", path: "/x", query: [], headers: {} } as const
      const text = yield* transport.request(request)
      assert.strictEqual(text.body, "bad gateway")
      assert.strictEqual(text.headers["x-two"], "a, b")
      assert.isFalse("body" in (yield* transport.request(request)))
      const error = yield* Effect.flip(transport.request(request))
      assert.match(error.message, /the answer's Content-Type is JSON, but its body is not/)
      assert.notInclude(JSON.stringify(error) + String(error.cause), "hunter2")
    }))

  it.live("uses one or two connections for fifty requests", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const { client } = yield* connect(cluster(server.url))
      yield* Effect.repeat(client.get(ConfigMap, key), { times: 49 })
      assert.strictEqual(server.requests.length, 50)
      assert.isAtMost(server.sockets.length, 2)
    }))

  it.live("closes idle connections when the client goes", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      yield* Effect.scoped(
        Effect.flatMap(connect(cluster(server.url)), ({ client }) => client.get(ConfigMap, key))
      )
      yield* closed(server.sockets[0]!)
    }))

  it.live("aborts an interrupted request on the wire", () =>
    Effect.gen(function*() {
      const arrived = yield* Deferred.make<void>()
      const server = yield* serve(() => Deferred.doneUnsafe(arrived, Effect.void))
      const { client } = yield* connect(cluster(server.url))
      const fiber = yield* Effect.forkChild(client.get(ConfigMap, key))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* closed(server.sockets[0]!)
    }))

  it.live("aborts a request that is interrupted inside its answer", () =>
    Effect.gen(function*() {
      const arrived = yield* Deferred.make<void>()
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.write("{", () => Deferred.doneUnsafe(arrived, Effect.void))
      })
      const { client } = yield* connect(cluster(server.url))
      const fiber = yield* Effect.forkChild(client.get(ConfigMap, key))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* closed(server.sockets[0]!)
    }))

  it.live("is a Transport failure without an answer, or with half of one", () =>
    Effect.gen(function*() {
      const server = yield* serve((request, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "100" })
        response.write("{}", () => request.socket.destroy())
      })
      const half = yield* connect(cluster(server.url))
      const lost = yield* Effect.flip(half.client.get(ConfigMap, key))
      assert.strictEqual(lost.reason._tag, "Transport")
      assert.isTrue(lost.isRetryable)
      const nobody = yield* connect(cluster("http://127.0.0.1:1"))
      const refused = yield* Effect.flip(nobody.client.get(ConfigMap, key))
      assert.strictEqual(refused.message, "get configmaps ns/a: Transport: connect ECONNREFUSED 127.0.0.1:1")
    }))

  it.live("waits for ever where it is told to, also where no timer could wait as long", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => void setTimeout(() => json(response, 200, object("a")), 50))
      for (const long of ["Infinity", "60 days", "20 days"] as const) {
        const { client } = yield* connect(cluster(server.url), {
          connectTimeout: long,
          headersTimeout: long,
          bodyTimeout: long,
          idleTimeout: long,
          requestTimeout: long
        })
        for (let i = 0; i < 2; i++) assert.deepStrictEqual(yield* client.get(ConfigMap, key), object("a"))
        const watching = Stream.runHead(client.watch(ConfigMap, { namespace: "ns" }))
        const exit = yield* Effect.exit(watching)
        assert.notInclude(String(exit), "within", "20 days twice are too long for a timer")
      }
      assert.lengthOf(server.sockets, 6, "each kept for the next request")
    }))

  it.live("gives up on a server that does not answer", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => {})
      const { client } = yield* connect(cluster(server.url), { headersTimeout: "1 second" })
      const error = yield* Effect.flip(client.get(ConfigMap, key))
      assert.include(error.message, "no answer within 1s")
    }))
})

describe("LiveClient credentials", () => {
  const changing = (tokens: ReadonlyArray<string>) => {
    let at = 0
    const headers = Effect.sync(() => Redacted.make({ authorization: `Bearer ${tokens[at]}` }))
    const fresh = Effect.suspend(() => {
      at = Math.min(at + 1, tokens.length - 1)
      return headers
    })
    return { headers, fresh }
  }

  it.live("asks for fresh credentials after a 401, and tries once more", () =>
    Effect.gen(function*() {
      const server = yield* serve((request, response) =>
        request.headers.authorization === "Bearer new"
          ? request.url?.includes("watch") === true
            ? response.writeHead(200).end(line("ADDED", "a", "1"))
            : json(response, 200, object("a"))
          : json(response, 401, status(401, "Unauthorized"))
      )
      const unary = yield* connect(cluster(server.url, { credentials: changing(["old", "new"]) }))
      assert.strictEqual((yield* unary.client.get(ConfigMap, key)).metadata.name, "a")
      assert.strictEqual(server.requests.length, 2)
      const watch = yield* connect(cluster(server.url, { credentials: changing(["old", "new"]) }))
      assert.strictEqual((yield* Stream.runCollect(watch.client.watch(ConfigMap))).length, 1)
      assert.strictEqual(server.requests.length, 4)
    }))

  it.live("tries no more than once, and not at all with the same credentials", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 401, status(401, "Unauthorized")))
      const wrong = yield* connect(cluster(server.url, { credentials: changing(["old", "new", "newer"]) }))
      assert.strictEqual((yield* Effect.flip(wrong.client.get(ConfigMap, key))).reason._tag, "Unauthorized")
      assert.strictEqual(server.requests.length, 2)
      const fixed = yield* connect(cluster(server.url))
      assert.strictEqual((yield* Effect.flip(fixed.client.get(ConfigMap, key))).reason._tag, "Unauthorized")
      assert.strictEqual(server.requests.length, 3)
    }))

  it.live("makes requests as the user of the call, or else as that of the kubeconfig", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const as = { "impersonate-user": "jane", "impersonate-group": ["dev"] }
      const { client } = yield* connect(
        cluster(server.url, { credentials: Credentials.token(Redacted.make("t"), as) })
      )
      yield* client.get(ConfigMap, key)
      yield* client.get(ConfigMap, key).pipe(Effect.provideService(KubeClient.Impersonated, "joe"))
      const seen = server.requests.map(({ headers }) => [
        headers.authorization,
        headers["impersonate-user"],
        headers["impersonate-group"]
      ])
      assert.deepStrictEqual(seen, [["Bearer t", "jane", "dev"], ["Bearer t", "joe", undefined]])
    }))

  it.live("shows no token in a failure, not even one that makes no header", () =>
    Effect.gen(function*() {
      const credentials = Credentials.token(Redacted.make("s3cret\nx"))
      const { client } = yield* connect(cluster("http://127.0.0.1:1", { credentials }))
      const exit = yield* Effect.exit(client.get(ConfigMap, key))
      assert.isTrue(Exit.isFailure(exit))
      assert.notInclude(String(exit) + JSON.stringify(exit), "s3cret")
      assert.include(String(exit), "authorization")
    }))
})

describe("LiveClient watches", () => {
  const collect = (client: KubeClient.KubeClient["Service"]) => {
    const seen: Array<string> = []
    const run = client.watch(ConfigMap, { resourceVersion: "1" }).pipe(
      Stream.runForEach((event) =>
        Effect.sync(() => seen.push(`${event.type} ${event.object.metadata.resourceVersion}`))
      )
    )
    return { seen, run }
  }

  it.live("reads events however the server cuts them, and ends when the server ends the watch", () =>
    Effect.gen(function*() {
      const text = line("ADDED", "zoë", "2") + line("MODIFIED", "日本", "3") + line("DELETED", "a", "4")
      const all = Buffer.from(text)
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        const next = (from: number): void => {
          if (from >= all.length) return void response.end()
          response.write(all.subarray(from, from + 7), () => setImmediate(next, from + 7))
        }
        next(0)
      })
      const { client } = yield* connect(cluster(server.url))
      const { run, seen } = collect(client)
      yield* run
      assert.deepStrictEqual(seen, ["ADDED 2", "MODIFIED 3", "DELETED 4"])
      const { pathname, searchParams } = new URL(server.requests[0]?.url ?? "", server.url)
      assert.strictEqual(pathname, "/api/v1/configmaps")
      assert.deepStrictEqual([searchParams.get("watch"), searchParams.get("resourceVersion")], ["true", "1"])
    }))

  it.live("is a Transport failure if the connection breaks, or ends inside a line", () =>
    Effect.gen(function*() {
      const server = yield* serve((request, response, nth) => {
        response.useChunkedEncodingByDefault = nth === 1
        response.writeHead(200, { "content-type": "application/json", ...(nth === 2 ? { connection: "close" } : {}) })
        if (nth === 1) {
          response.write(line("ADDED", "a", "2") + "{\"type", () => setImmediate(() => request.socket.destroy()))
        }
        if (nth === 2) response.end(line("ADDED", "a", "2") + "{\"type\":\"ADDED\"}")
        if (nth === 3) response.end(line("ADDED", "a", "2") + "<html>\n")
      })
      const { client } = yield* connect(cluster(server.url))
      const broken = collect(client)
      assert.strictEqual((yield* Effect.flip(broken.run)).reason._tag, "Transport")
      const cut = collect(client)
      assert.include((yield* Effect.flip(cut.run)).message, "the connection ended inside line 2 of the watch")
      assert.deepStrictEqual(cut.seen, ["ADDED 2"])
      const malformed = collect(client)
      assert.include((yield* Effect.flip(malformed.run)).message, "line 2 of the watch is not JSON")
      assert.deepStrictEqual(malformed.seen, ["ADDED 2"])
    }))

  it.live("fails with the reason of a refusal", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) =>
        json(response, 429, status(429, "TooManyRequests"), { "retry-after": "3" })
      )
      const { client } = yield* connect(cluster(server.url))
      const error = yield* Effect.flip(collect(client).run)
      assert.strictEqual(error.reason._tag, "TooManyRequests")
      assert.strictEqual(error.retryAfter, 3000)
    }))

  it.live("fails at once where a page for people is answered in the place of events", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).write("<html>log in</html>")
      })
      const { client } = yield* connect(cluster(server.url))
      const error = yield* Effect.flip(collect(client).run)
      assert.match(
        error.message,
        /the answer is not a watch, but text\/html; charset=utf-8: is this an API server's address\?$/
      )
      while (!server.sockets[0]!.destroyed) yield* Effect.sleep("10 millis")
    }))

  it.live("closes the connection when it is interrupted, when enough was taken, and when the client goes", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.write(line("ADDED", "a", "2"))
      })
      const { client } = yield* connect(cluster(server.url))
      const first = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Stream.runForEach(client.watch(ConfigMap), () => Deferred.succeed(first, undefined))
      )
      yield* Deferred.await(first)
      assert.isFalse(server.sockets[0]!.destroyed)
      yield* Fiber.interrupt(fiber)
      yield* closed(server.sockets[0]!)

      yield* Stream.runDrain(Stream.take(client.watch(ConfigMap), 1))
      yield* closed(server.sockets[1]!)

      yield* Effect.scoped(Effect.gen(function*() {
        const scoped = yield* connect(cluster(server.url))
        yield* scoped.transport.stream({ method: "GET", path: "/x", query: [["watch", "true"]], headers: {} })
      }))
      yield* closed(server.sockets[2]!)
    }))

  it.live("lets a slow consumer slow the socket down", () =>
    Effect.gen(function*() {
      const text = line("ADDED", "a".repeat(1000), "2").repeat(64)
      let sent = 0
      let blocked = false
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        const write = (): void => {
          while (sent < 64 * 1024 * 1024) {
            sent += text.length
            if (!response.write(text)) {
              blocked = true
              return void response.once("drain", write)
            }
          }
        }
        write()
      })
      const { client } = yield* connect(cluster(server.url))
      yield* client.watch(ConfigMap).pipe(Stream.take(1), Stream.runForEach(() => Effect.sleep("200 millis")))
      assert.isTrue(blocked)
      assert.isBelow(sent, 32 * 1024 * 1024)
    }))
})

it("LiveClient.version is the package's", () => {
  const manifest = JSON.parse(Fs.readFileSync(new URL("../package.json", import.meta.url), "utf8"))
  assert.strictEqual(LiveClient.version, manifest.version)
})
