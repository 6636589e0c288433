/** The in-memory API server: what a write costs, by what is stored and by who watches, and what it keeps. */
import { ApiServer } from "@effect-operator/k8s/testing"
import { Context, Effect, Layer, Stream } from "effect"
import { type Benchmark, cpuMicros, heapBytes, inTurns, result } from "./Benchmark.ts"
import { definition } from "./Widget.ts"

type Server = ApiServer.ApiServer["Service"]

const json = { "content-type": "application/json", accept: "application/json" }

const send = (server: Server, method: "GET" | "POST" | "PUT" | "PATCH", path: string, body?: unknown) =>
  server.handle({
    method,
    path,
    query: [],
    headers: method === "PATCH" ? { ...json, "content-type": "application/merge-patch+json" } : json,
    ...(body === undefined ? {} : { body })
  })

const collection = (namespace: string): string => `/apis/bench.example.com/v1/namespaces/${namespace}/widgets`

const widget = (name: string) => ({
  apiVersion: "bench.example.com/v1",
  kind: "Widget",
  metadata: { name },
  spec: { size: 1, colour: "red" }
})

/** Namespaces the objects are spread over. */
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

/** A server of its own, alive as long as the scope. */
const fresh = (options: ApiServer.Options = {}) =>
  Effect.map(
    Layer.build(ApiServer.ApiServer.layerOptions(options)),
    (context) => Context.get(context, ApiServer.ApiServer)
  )

const writes = 2_000

/** Microseconds of CPU that one status change takes. */
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
      // Of one namespace each, none of which the writes touch.
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

export const server: ReadonlyArray<Benchmark> = [stored, watched, kept]
