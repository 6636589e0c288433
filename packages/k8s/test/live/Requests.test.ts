import { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Metric, Redacted, Result, Stream, Tracer } from "effect"
import { TestClock } from "effect/testing"
import type * as Net from "node:net"
import * as Zlib from "node:zlib"
import { eventually } from "../support/eventually.ts"
import { arrive, cluster, ConfigMap, connect, json, key, object, serve, status } from "../support/liveServer.ts"

const request = (method: "GET" | "POST", path = "/x") => ({ method, path, query: [], headers: {} }) as const

describe("LiveClient repeats", () => {
  it.live("a read whose connection broke, and a write that was never sent; never a write that may have arrived", () =>
    Effect.gen(function*() {
      const server = yield* serve((incoming, response, nth) => {
        if (nth === 1 || incoming.method === "POST") incoming.socket.destroy()
        else json(response, 200, object("a"))
      })
      const { client, transport } = yield* connect(cluster(server.url))
      yield* client.get(ConfigMap, key)
      assert.strictEqual(server.requests.length, 2)
      const lost = yield* Effect.flip(transport.request(request("POST")))
      assert.strictEqual(lost._tag, "Transport")
      assert.strictEqual(server.requests.length, 3)
    }))

  it.live("a write to a server that is not there yet", () =>
    Effect.gen(function*() {
      const gone = yield* Effect.scoped(serve(() => {}))
      const { transport } = yield* connect(cluster(gone.url), { retry: { backoff: "200 millis" } })
      const writing = yield* Effect.forkChild(transport.request(request("POST")), { startImmediately: true })
      yield* Effect.sleep("100 millis")
      const server = yield* serve((_, response) => json(response, 201, object("a")), undefined, {
        port: Number(new URL(gone.url).port)
      })
      assert.strictEqual((yield* Fiber.join(writing)).status, 201)
      assert.strictEqual(server.requests.length, 1)
    }))

  it.live("what a server that sheds load refused, after the pause it asked for, which holds for all but leases", () =>
    Effect.gen(function*() {
      const at: Array<readonly [path: string, millis: number]> = []
      const start = Date.now()
      const server = yield* serve((incoming, response, nth) => {
        at.push([incoming.url ?? "", Date.now() - start])
        if (nth === 1) response.writeHead(429, { "retry-after": "3", "content-type": "text/plain" }).end("too many")
        else json(response, 200, object("a"))
      })
      const { transport } = yield* connect(cluster(server.url))
      const first = yield* Effect.forkChild(transport.request(request("POST", "/first")), { startImmediately: true })
      while (at.length === 0) yield* Effect.sleep("10 millis")
      yield* arrive
      const lease = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"
      const others = [transport.request(request("GET", "/second")), transport.request(request("GET", lease))]
      yield* Effect.all(others, { concurrency: "unbounded" })
      assert.strictEqual((yield* Fiber.join(first)).status, 200)
      const when = (path: string) => at.findLast(([url]) => url === path)?.[1] ?? 0
      const pause = at[0]![1] + 2950
      assert.isBelow(when(lease), pause)
      assert.isAtLeast(when("/second"), pause)
      assert.isAtLeast(when("/first"), pause)
    }))

  it.live("nothing that may not go out any more, whatever it has waited for: a pause, a turn, a connection", () =>
    Effect.gen(function*() {
      let permitted = true
      const guarded = (path: string) => ({ ...request("POST", path), permit: () => permitted })
      const server = yield* serve((incoming, response, nth) => {
        if (incoming.url === "/slow") return void setTimeout(() => json(response, 200, object("a")), 300)
        if (nth === 1) response.writeHead(429, { "retry-after": "1", "content-type": "text/plain" }).end("too many")
        else json(response, 200, object("a"))
      })
      const { transport } = yield* connect(cluster(server.url), { connections: 1 })
      const begin = (asked: Parameters<typeof transport.request>[0]) =>
        Effect.forkChild(Effect.result(transport.request(asked)), { startImmediately: true })
      const paused = yield* begin(guarded("/paused"))
      while (server.requests.length === 0) yield* Effect.sleep("10 millis")
      permitted = false
      const isRefused = (result: Result.Result<unknown, Error>) =>
        Result.isFailure(result) && result.failure.message.includes("ERR_NOT_PERMITTED")
      assert.isTrue(isRefused(yield* Fiber.join(paused)))
      permitted = true
      const slow = yield* begin(request("GET", "/slow"))
      const queued = yield* begin(guarded("/queued"))
      yield* arrive
      permitted = false
      assert.isTrue(isRefused(yield* Fiber.join(queued)))
      assert.isTrue(Result.isSuccess(yield* Fiber.join(slow)))
      const other = yield* connect(cluster(server.url))
      permitted = true
      const connecting = yield* Effect.forkChild(Effect.result(other.transport.request(guarded("/connecting"))), {
        startImmediately: true
      })
      permitted = false
      assert.isTrue(isRefused(yield* Fiber.join(connecting)))
      assert.deepStrictEqual(server.requests.map(({ url }) => url), ["/paused", "/slow"])
      // What may go out does.
      permitted = true
      assert.strictEqual((yield* transport.request(guarded("/allowed"))).status, 200)
    }))

  it.live("nothing that a Status refused for everybody else: no pause for others", () =>
    Effect.gen(function*() {
      const server = yield* serve((incoming, response) =>
        incoming.url === "/evict"
          ? json(response, 429, status(429, "TooManyRequests"), { "retry-after": "30" })
          : json(response, 200, object("a"))
      )
      const { transport } = yield* connect(cluster(server.url))
      assert.strictEqual((yield* transport.request(request("POST", "/evict"))).status, 429)
      assert.strictEqual((yield* transport.request(request("GET"))).status, 200)
    }))

  it.live("nothing at all where it is told so", () =>
    Effect.gen(function*() {
      const server = yield* serve((incoming) => incoming.socket.destroy())
      const { transport } = yield* connect(cluster(server.url), { retry: { times: 0 } })
      yield* Effect.flip(transport.request(request("GET")))
      assert.strictEqual(server.requests.length, 1)
    }))
})

describe("LiveClient's turns", () => {
  const bearer = (token: string) => Redacted.make({ authorization: `Bearer ${token}` })

  it.live("who had to wait gets in with the credentials of then, and a place that is given up is free", () =>
    Effect.gen(function*() {
      const answers: Array<() => void> = []
      const server = yield* serve((_, response) => void answers.push(() => json(response, 200, object("a"))))
      let token = "old"
      const headers = Effect.sync(() => bearer(token))
      const { transport } = yield* connect(cluster(server.url, { credentials: { headers, fresh: headers } }), {
        connections: 1
      })
      const get = (path: string) =>
        Effect.forkChild(transport.request(request("GET", path)), { startImmediately: true })
      const first = yield* get("/first")
      const second = yield* get("/second")
      const third = yield* get("/third")
      yield* eventually(() => answers.length === 1)
      yield* arrive
      token = "new"
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      yield* eventually(() => answers.length === 2)
      answers[1]!()
      assert.strictEqual((yield* Fiber.join(third)).status, 200)
      assert.deepStrictEqual(server.requests.map(({ headers, url }) => [url, headers.authorization]), [
        ["/first", "Bearer old"],
        ["/third", "Bearer new"]
      ])
    }))
})

describe("LiveClient deadlines", () => {
  it.live("end an answer that trickles in for ever, and the connection with it", () =>
    Effect.gen(function*() {
      const server = yield* serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        const timer = setInterval(() => response.write(" "), 50)
        response.once("close", () => clearInterval(timer))
      })
      const { transport } = yield* connect(cluster(server.url), {
        bodyTimeout: "2 seconds",
        requestTimeout: "3 seconds"
      })
      const error = yield* Effect.flip(transport.request(request("GET")))
      assert.include(error.message, "no complete answer within 3s")
      while (!server.sockets[0]!.destroyed) yield* Effect.sleep("10 millis")
      assert.strictEqual(server.requests.length, 1)
    }))

  it.live("wait twice as long for the head of a watch, which a proxy may hold back until the first bookmark comes", () =>
    Effect.gen(function*() {
      const server = yield* serve((incoming, response) => {
        const text = incoming.url?.includes("watch=true")
          ? `${JSON.stringify(bookmark)}\n`
          : JSON.stringify(object("a"))
        setTimeout(() => {
          response.writeHead(200, { "content-type": "application/json" })
          response.end(text)
        }, 1200)
      })
      const bookmark = { type: "BOOKMARK", object: { ...object(""), metadata: { resourceVersion: "5" } } }
      const { client, transport } = yield* connect(cluster(server.url), { headersTimeout: "1 second" })
      const [late, events] = yield* Effect.all([
        Effect.flip(transport.request(request("GET"))),
        Stream.runCollect(client.watch(ConfigMap, { resourceVersion: "1" }))
      ], { concurrency: "unbounded" })
      assert.include(late.message, "no answer within 1s")
      assert.deepStrictEqual(events.map(({ type }) => type), ["BOOKMARK"])
    }))

  it.effect("are real time, whatever the clock of a test says", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => {})
      const { transport } = yield* connect(cluster(server.url), { requestTimeout: "300 millis" })
      const error = yield* Effect.flip(transport.request(request("GET")))
      assert.include(error.message, "no complete answer within 300ms")
      yield* TestClock.adjust("1 hour")
    }))
})

describe("LiveClient answers", () => {
  it.live("may be compressed, unless the cluster says no", () =>
    Effect.gen(function*() {
      const server = yield* serve((incoming, response, nth) => {
        const accepts = String(incoming.headers["accept-encoding"] ?? "").includes("gzip")
        const text = JSON.stringify(object("ä".repeat(1000)))
        if (!accepts || nth > 2) {
          response.writeHead(200, {
            "content-type": "application/json",
            ...(nth > 2 ? { "content-encoding": "gzip" } : {})
          })
          return void response.end(text)
        }
        response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        response.end(Zlib.gzipSync(text))
      })
      const zipped = yield* connect(cluster(server.url))
      assert.strictEqual((yield* zipped.client.get(ConfigMap, key)).metadata.name.length, 1000)
      const plain = yield* connect(cluster(server.url, { compression: false }))
      assert.strictEqual((yield* plain.client.get(ConfigMap, key)).metadata.name.length, 1000)
      assert.isUndefined(server.requests[1]?.headers["accept-encoding"])
      const asked = { ...request("GET"), headers: { "accept-encoding": "gzip" } }
      assert.strictEqual((yield* zipped.transport.request(asked)).headers["content-encoding"], "gzip")
      const broken = yield* Effect.flip(zipped.transport.request(request("GET")))
      assert.include(broken.message, "the answer's Content-Encoding is gzip, but its body is not")
    }))

  it.live("log a warning of the server once for each text", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => {
        logged.push(String(message))
      })
      const server = yield* serve((_, response) => {
        response.setHeader("warning", ["299 - \"v1beta1 is deprecated\"", "299 - \"unknown field \\\"x\\\"\""])
        json(response, 200, object("a"))
      })
      yield* Effect.gen(function*() {
        const { client } = yield* connect(cluster(server.url))
        yield* Effect.repeat(client.get(ConfigMap, key), { times: 3 })
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(logged, [
        "the API server warns: v1beta1 is deprecated",
        "the API server warns: unknown field \"x\""
      ])
    }))
})

describe("LiveClient fairness", () => {
  it.live("lets a controller with one request pass one with a hundred", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const server = yield* serve((incoming, response) => {
        order.push(incoming.url ?? "")
        setTimeout(() => json(response, 200, object("a")), 5)
      })
      const { transport } = yield* connect(cluster(server.url), { connections: 2 })
      const send = (manager: string, path: string) =>
        transport.request(request("GET", path)).pipe(Effect.provideService(KubeClient.FieldManager, manager))
      const busy = Array.from({ length: 100 }, (_, at) => send("busy", `/busy/${at}`))
      const all = yield* Effect.forkChild(Effect.all(busy, { concurrency: "unbounded" }), { startImmediately: true })
      while (order.length === 0) yield* Effect.sleep("1 millis")
      const before = order.length
      yield* send("quiet", "/quiet")
      assert.isBelow(order.indexOf("/quiet") - before, 20)
      yield* Fiber.join(all)
      assert.strictEqual(order.length, 101)
      assert.isAtMost(server.sockets.length, 2)
    }))

  it.live("keeps to a rate, watches included", () =>
    Effect.gen(function*() {
      const server = yield* serve((incoming, response) =>
        incoming.url?.includes("watch") === true ? response.writeHead(200).end() : json(response, 200, object("a"))
      )
      const { client } = yield* connect(cluster(server.url), { qps: 20, burst: 2 })
      const start = Date.now()
      yield* Effect.repeat(client.get(ConfigMap, key), { times: 5 })
      yield* Effect.repeat(Stream.runDrain(client.watch(ConfigMap)), { times: 5 })
      assert.isAtLeast(Date.now() - start, 450)
    }))
})

describe("LiveClient connections", () => {
  it.live("are some 202 for 200 watches and 50 requests, with no warning about listeners", () =>
    Effect.gen(function*() {
      const warnings: Array<string> = []
      const onWarning = (warning: Error) => warnings.push(warning.name)
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("warning", onWarning)),
        () => Effect.sync(() => process.off("warning", onWarning))
      )
      const server = yield* serve((incoming, response) =>
        incoming.url?.includes("watch") === true
          ? void response.writeHead(200, { "content-type": "application/json" }).flushHeaders()
          : json(response, 200, object("a"))
      )
      const { client } = yield* connect(cluster(server.url))
      const open = Array.from({ length: 200 }, () => Deferred.makeUnsafe<void>())
      const watches = yield* Effect.forEach(open, (opened) =>
        Effect.forkChild(
          Stream.runDrain(
            client.watch(ConfigMap, { onOpen: Effect.asVoid(Deferred.succeed(opened, undefined)) })
          )
        ))
      yield* Effect.forEach(open, Deferred.await)
      yield* Effect.repeat(client.get(ConfigMap, key), { times: 49 })
      assert.isAtMost(server.sockets.length, 202)
      assert.strictEqual(server.requests.length, 250)
      yield* Effect.forEach(watches, Fiber.interrupt, { concurrency: "unbounded" })
      const living = () => server.sockets.filter((socket: Net.Socket) => !socket.destroyed).length
      while (living() > 2) yield* Effect.sleep("10 millis")
      assert.deepStrictEqual(warnings, [])
    }))
})

describe("LiveClient tells", () => {
  it.live("its requests under client-go's names", () =>
    Effect.gen(function*() {
      const server = yield* serve((incoming, response, nth) => {
        if (nth === 2) incoming.socket.destroy()
        else json(response, nth === 1 ? 404 : 200, nth === 1 ? status(404, "NotFound") : object("a"))
      })
      const { client, metrics } = yield* Effect.gen(function*() {
        const { client } = yield* connect(cluster(server.url))
        yield* Effect.flip(client.get(ConfigMap, key))
        yield* client.get(ConfigMap, key)
        return { client, metrics: yield* Metric.snapshot }
      }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
      assert.isDefined(client)
      const { host } = new URL(server.url)
      const counters = metrics.filter(({ id }) => id.endsWith("_total")).map(({ attributes, id, state }) => [
        id,
        attributes,
        (state as { readonly count: number }).count
      ])
      assert.sameDeepMembers(counters, [
        ["rest_client_requests_total", { code: "404", method: "GET", host }, 1],
        ["rest_client_requests_total", { code: "<error>", method: "GET", host }, 1],
        ["rest_client_requests_total", { code: "200", method: "GET", host }, 1],
        ["rest_client_request_retries_total", { code: "200", verb: "GET", host }, 1]
      ])
      const duration = metrics.find(({ id }) => id === "rest_client_request_duration_seconds")
      assert.strictEqual((duration!.state as { readonly count: number }).count, 3)
      assert.deepStrictEqual(duration!.attributes, { verb: "GET", host })
      assert.isTrue(metrics.some(({ id }) => id === "rest_client_rate_limiter_duration_seconds"))
    }))

  it.live("how long a request took, whatever somebody makes of the time of day meanwhile", () =>
    Effect.gen(function*() {
      const { now } = Date
      yield* Effect.addFinalizer(() => Effect.sync(() => void (Date.now = now)))
      const server = yield* serve((_, response) => {
        Date.now = () => now() - 3_600_000
        json(response, 200, object("a"))
      })
      const metrics = yield* Effect.gen(function*() {
        const { client } = yield* connect(cluster(server.url))
        yield* client.get(ConfigMap, key)
        return yield* Metric.snapshot
      }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
      const duration = metrics.find(({ id }) => id === "rest_client_request_duration_seconds")
      assert.isAtLeast((duration!.state as { readonly sum: number }).sum, 0)
    }))

  it.live("a tracer and the server of each call, and nobody if there is no tracer", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.Span> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const server = yield* serve((_, response) => json(response, 200, object("a")))
      const { client } = yield* connect(cluster(server.url))
      yield* client.get(ConfigMap, key).pipe(Effect.withTracer(tracer))
      yield* client.get(ConfigMap, key)
      const span = spans.find(({ name }) => name === "http.client GET")
      assert.strictEqual(span?.kind, "client")
      assert.deepStrictEqual(Object.fromEntries(span?.attributes ?? []), {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(server.url).port),
        "url.path": "/api/v1/namespaces/ns/configmaps/a",
        "url.scheme": "http"
      })
      assert.strictEqual(server.requests[0]?.headers["traceparent"], `00-${span?.traceId}-${span?.spanId}-01`)
      assert.isUndefined(server.requests[1]?.headers["traceparent"])
    }))
})
