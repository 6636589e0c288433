/** The in-memory API server: the cost of a request, depending on the number of objects and watches, and its memory. */
import * as Certificates from "@effect-operator/k8s/Certificates"
import { ApiServer, HttpFacade } from "@effect-operator/k8s/testing"
import { Context, Effect, Layer, Stream } from "effect"
import * as Https from "node:https"
import * as Undici from "undici"
import { type Benchmark, cpuMicros, heapBytes, inTurns, result } from "./Benchmark.ts"
import { collection, json, send, type Server, widget } from "./Direct.ts"
import { definition } from "./Widget.ts"

/** The number of namespaces over which the objects are spread. */
const namespaces = 100

const fill = Effect.fnUntraced(function*(server: Server, objects: number) {
  yield* send(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
  for (let n = 0; n < namespaces; n++) {
    const metadata = { name: `ns-${n}` }
    yield* send(server, "POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata })
  }
  for (let n = 0; n < objects; n++) {
    yield* send(server, "POST", collection(`ns-${n % namespaces}`), widget(`w-${n}`))
  }
})

/** A new server, alive as long as the scope. */
const fresh = (options: ApiServer.Options = {}) =>
  Effect.map(
    Layer.build(ApiServer.ApiServer.layerOptions(options)),
    (context) => Context.get(context, ApiServer.ApiServer)
  )

const writes = 2_000

/** Microseconds of CPU per status change. */
const changes = (server: Server, turn: { n: number }): Effect.Effect<number> =>
  cpuMicros(Effect.gen(function*() {
    for (let n = 0; n < writes; n++) {
      const at = turn.n++ % 1_000
      const body = { spec: { size: turn.n } }
      const path = `${collection(`ns-${at % namespaces}`)}/w-${at}`
      const { status } = yield* send(server, "PATCH", path, body)
      if (status !== 200) return yield* Effect.die(new Error(`PATCH ${path}: ${status}`))
    }
  })).pipe(Effect.map((micros) => micros / writes))

const stored: Benchmark = {
  name: "server objects",
  run: ({ quick }) =>
    Effect.scoped(Effect.gen(function*() {
      const few = yield* fresh()
      const many = yield* fresh()
      yield* fill(few, 1_000)
      const stored = quick ? 10_000 : 100_000
      yield* fill(many, stored)
      const turn = { n: 0 }
      yield* inTurns(2, [changes(many, turn), changes(few, turn)])
      const [value, baseline] = yield* inTurns(quick ? 3 : 7, [changes(many, turn), changes(few, turn)])
      return [result({
        name: `server: a write among ${stored.toLocaleString("en")} objects against 1,000`,
        unit: "us",
        value,
        baseline,
        goal: { atMost: 1.3 }
      })]
    }))
}

const watch = (server: Server, path: string, seen: { n: number }) =>
  Effect.gen(function*() {
    const query: ReadonlyArray<readonly [string, string]> = [["watch", "true"], [
      "resourceVersion",
      String(yield* server.revision)
    ]]
    const { events } = yield* server.handle({ method: "GET", path, query, headers: json })
    yield* Effect.forkScoped(
      Stream.runForEachArray(events!, (chunk) =>
        Effect.sync(() => {
          seen.n += chunk.length
        })),
      { startImmediately: true }
    )
  })

const watched: Benchmark = {
  name: "server watchers",
  long: true,
  run: ({ quick }) =>
    Effect.scoped(Effect.gen(function*() {
      const seen = { n: 0 }
      const alone = yield* fresh()
      const elsewhere = yield* fresh()
      const crowd = yield* fresh()
      const few = yield* fresh()
      for (const server of [alone, elsewhere, crowd, few]) yield* fill(server, 1_000)
      const crowded = quick ? 300 : 1_000
      // Watches of single namespaces that the writes do not touch.
      for (let n = 0; n < 1_000; n++) yield* watch(elsewhere, collection(`other-${n}`), seen)
      for (let n = 0; n < crowded; n++) yield* watch(crowd, "/apis/bench.example.com/v1/widgets", seen)
      for (let n = 0; n < 100; n++) yield* watch(few, "/apis/bench.example.com/v1/widgets", seen)
      const turn = { n: 0 }
      const settled = (server: Server) =>
        Effect.tap(changes(server, turn), () => Effect.repeat(Effect.yieldNow, { times: 10 }))
      yield* inTurns(1, [settled(elsewhere), settled(alone)])
      const [aside, bare] = yield* inTurns(quick ? 3 : 5, [settled(elsewhere), settled(alone)])
      const perEvent = (server: Server) =>
        Effect.suspend(() => {
          const before = seen.n
          return Effect.map(cpuMicros(settled(server)), (micros) => micros / (seen.n - before))
        })
      const [each, single] = yield* inTurns(3, [perEvent(crowd), perEvent(few)])
      return [
        result({
          name: "server: a write beside 1,000 watches of other namespaces",
          unit: "us",
          value: aside,
          baseline: bare,
          goal: { atMost: 1.3 }
        }),
        result({
          name: `server: one event to one of ${crowded.toLocaleString("en")} watches against one of 100`,
          unit: "us",
          value: each,
          baseline: single,
          goal: { atMost: 1.3 }
        })
      ]
    }))
}

const kept: Benchmark = {
  name: "server memory",
  long: true,
  run: ({ quick }) =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* fresh({ historyLimit: 20_000 })
      yield* fill(server, 1_000)
      const turn = { n: 0 }
      const churn = (rounds: number) => Effect.repeat(changes(server, turn), { times: rounds - 1 })
      yield* churn(20)
      const baseline = yield* heapBytes
      const rounds = quick ? 20 : 100
      yield* churn(rounds)
      const value = yield* heapBytes
      return [result({
        name: `server: heap after ${(40_000 + rounds * writes).toLocaleString("en")} writes against 40,000`,
        unit: "MB",
        value: value / 1e6,
        baseline: baseline / 1e6,
        goal: { atMost: 1.1 }
      })]
    }))
}

/** The minimum that a server must do: parse a body, merge it into an object, and respond with the result. */
const plain = Effect.gen(function*() {
  const now = Date.now()
  const authority = yield* Certificates.authority({ now })
  const { certPem, keyPem } = yield* Certificates.issue(authority, { now, commonName: "plain", hosts: ["127.0.0.1"] })
  const objects = new Map<string, object>()
  const node = Https.createServer({ cert: certPem, key: keyPem }, (request, response) => {
    let text = ""
    request.on("data", (bytes: Buffer) => {
      text += bytes.toString()
    })
    request.on("end", () => {
      const path = request.url!
      const object = { ...widget(path), ...objects.get(path), ...JSON.parse(text) as object }
      objects.set(path, object)
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(object))
    })
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      node.listen(0, "127.0.0.1", () => resume(Effect.succeed((node.address() as { readonly port: number }).port)))
    }),
    () => Effect.sync(() => node.close())
  )
  return { url: `https://127.0.0.1:${port}`, caPem: authority.certPem, token: "anybody's" }
})

type Access = Pick<HttpFacade.HttpFacade["Service"], "url" | "caPem" | "token">

/** Microseconds of CPU per status change, server and client together: eight loops over undici. */
const overHttps = Effect.fnUntraced(function*({ caPem, token, url }: Access) {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Undici.Agent({ connections: 8, connect: { ca: caPem } })),
    (agent) => Effect.promise(() => agent.close())
  )
  const headers = {
    ...json,
    authorization: `Bearer ${token}`,
    "content-type": "application/merge-patch+json"
  }
  const burst = async (): Promise<void> => {
    let n = 0
    const loop = async () => {
      while (n < writes) {
        const at = n++ % 1_000
        const path = `${collection(`ns-${at % namespaces}`)}/w-${at}`
        const body = JSON.stringify({ spec: { size: Math.floor(Math.random() * 1e6) } })
        const answer = await agent.request({ origin: url, path, method: "PATCH", headers, body })
        await answer.body.json()
        if (answer.statusCode !== 200) throw new Error(`PATCH ${path}: ${answer.statusCode}`)
      }
    }
    await Promise.all(Array.from({ length: 8 }, loop))
  }
  return Effect.map(cpuMicros(Effect.promise(burst)), (micros) => micros / writes)
})

const requests: Benchmark = {
  name: "server requests",
  long: true,
  run: () =>
    Effect.scoped(Effect.gen(function*() {
      const direct = yield* fresh()
      const served = yield* fresh()
      for (const server of [direct, served]) yield* fill(server, 1_000)
      const context = yield* Layer.build(
        HttpFacade.layer().pipe(Layer.provide(Layer.succeed(ApiServer.ApiServer, served)))
      )
      const turn = { n: 0 }
      const contestants = [
        changes(direct, turn),
        yield* overHttps(Context.get(context, HttpFacade.HttpFacade)),
        yield* overHttps(yield* plain)
      ] as const
      yield* inTurns(2, contestants)
      const [called, ours, least] = yield* inTurns(7, contestants)
      return [
        result({
          name: "server: a write over HTTPS, client and all, against a server that parses and answers",
          unit: "us",
          value: ours,
          baseline: least,
          goal: { atMost: 3 }
        }),
        result({
          name: "server: writes per second of CPU, called directly, against over HTTPS",
          unit: "/s",
          value: 1e6 / called,
          baseline: 1e6 / ours,
          goal: { atLeast: 2 }
        })
      ]
    })).pipe(Effect.orDie)
}

export const server: ReadonlyArray<Benchmark> = [stored, requests, watched, kept]
