import { KubeClient, Manager, Transport } from "@effect-operator/core"
import { type KubeObject } from "@effect-operator/core/KubeObject"
import type { Any, TypeOf } from "@effect-operator/core/Resource"
import { ApiServer, TestClient, TestCluster } from "@effect-operator/k8s/testing"
import { assert } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Example } from "../../src/Example.ts"

/** A cluster in virtual time with the example's kinds installed. */
export const cluster = (example: Example) =>
  TestCluster.layer({ resources: example.resources, kubelet: example.kubelet })

/** The same with the operator on it. */
export const operated = (example: Example) =>
  Manager.layer(example.controllers).pipe(Layer.provideMerge(cluster(example)))

/** Every object of a kind. */
export const all = <R extends Any>(resource: R) =>
  KubeClient.KubeClient.use((client) =>
    Effect.map(
      Stream.runCollect(client.list(resource)),
      (items) => items as ReadonlyArray<KubeObject> as ReadonlyArray<TypeOf<R>>
    )
  )

/**
 * Runs an operator whose process dies at its `n`-th write: the request is carried out, the answer never arrives, and
 * nothing the operator does afterwards reaches the server.
 */
export const crashAtWrite = Effect.fnUntraced(function*(example: Example, n: number, alive: Effect.Effect<unknown>) {
  const transport = yield* Effect.map(Layer.build(TestClient.transportLayer), Context.get(Transport.Transport))
  let writes = 0
  const dying = Transport.Transport.of({
    request: (request) => {
      if (writes >= n) return Effect.never
      if (request.method !== "GET") writes += 1
      return writes < n || request.method === "GET"
        ? transport.request(request)
        : Effect.andThen(transport.request(request), Effect.never)
    },
    stream: transport.stream
  })
  const scope = yield* Scope.make()
  yield* Layer.buildWithScope(
    Manager.layer(example.controllers, { drain: "1 second" }).pipe(
      Layer.provide(KubeClient.KubeClient.layer),
      Layer.provide(Layer.succeed(Transport.Transport, dying))
    ),
    scope
  )
  yield* alive
  const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
  yield* TestClock.adjust("10 seconds")
  yield* Fiber.join(closing)
  return writes
})

/** Requests answered so far, watches aside. */
const requests = ApiServer.ApiServer.use((server) =>
  Effect.map(
    server.requestCounts,
    (counts) => Object.fromEntries(Object.entries(counts).filter(([request]) => !request.startsWith("watch ")))
  )
)

/** Minutes pass until one goes by without a request; at most an hour. */
export const settle = Effect.gen(function*() {
  for (let minute = 0; minute < 60; minute++) {
    const before = yield* requests
    yield* TestClock.adjust("1 minute")
    if (JSON.stringify(yield* requests) === JSON.stringify(before)) return
  }
  assert.fail("the operator still sends requests after an hour")
})

/** An hour passes in which nobody writes, and nobody reads but by watching. */
export const assertQuiet = Effect.gen(function*() {
  const before = yield* requests
  yield* TestClock.adjust("1 hour")
  assert.deepStrictEqual(yield* requests, before)
})
