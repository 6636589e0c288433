import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { Transport } from "@effect-operator/core/KubeError"
import * as Client from "@effect-operator/core/KubeClient"
import * as TransportService from "@effect-operator/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import { TestClock } from "effect/testing"
import { ConfigMap } from "../../../src/kinds/core.v1.ts"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import { follow } from "../../../src/testing/sim/Follow.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"

const server = TestClient.layer.pipe(Layer.provideMerge(ApiServer.layer))

const key = (name: string) => ({ namespace: "default", name })

const create = (name: string) => KubeClient.use((client) => client.create(ConfigMap, { metadata: key(name) }))

const touch = (name: string, value: string) =>
  KubeClient.use((client) => client.patch(ConfigMap, key(name), Patch.merge({ data: { value } })))

const remove = (name: string) => KubeClient.use((client) => client.delete(ConfigMap, key(name)))

/** Follows ConfigMaps; the answer gives what it has handed over since the last time. */
const following = Effect.gen(function*() {
  const seen: Array<string> = []
  const told = (mark: string) => ({ data, metadata }: ConfigMap) => {
    seen.push(`${mark}${metadata.name}${data?.["value"] ?? ""}`)
  }
  yield* Effect.forkScoped(follow(ConfigMap, { onPresent: told("+"), onGone: told("-") }))
  return { told: Effect.sync(() => seen.splice(0)) }
})

const second = TestClock.adjust("1 second")

describe("Follow", () => {
  it.effect("hands over what is there, then every change", () =>
    Effect.gen(function*() {
      yield* create("a")
      const { told } = yield* following
      yield* second
      assert.deepStrictEqual(yield* told, ["+a"])
      yield* create("b")
      yield* touch("a", "1")
      yield* remove("b")
      yield* second
      assert.deepStrictEqual(yield* told, ["+b", "+a1", "-b"])
    }).pipe(Effect.provide(server)))

  it.effect("resumes a watch that ended where it stopped, and lists anew where that is forgotten", () =>
    Effect.gen(function*() {
      const api = yield* ApiServer
      yield* Effect.forEach(["a", "b", "c"], create)
      const { told } = yield* following
      yield* second
      yield* touch("a", "1")
      yield* second
      assert.deepStrictEqual(yield* told, ["+a", "+b", "+c", "+a1"])
      yield* api.endWatches()
      yield* touch("a", "2")
      yield* second
      assert.deepStrictEqual(yield* told, ["+a2"])
      assert.strictEqual((yield* api.requestCounts)["list configmaps"], 1)

      // The first end is followed by a watch at once, the second, of a watch that brought nothing, by a pause.
      yield* api.endWatches()
      yield* second
      yield* api.endWatches()
      yield* touch("a", "3")
      yield* remove("b")
      yield* remove("c")
      yield* create("c")
      yield* create("d")
      yield* api.compact()
      yield* TestClock.adjust("3 seconds")
      // Only the differences, and a re-created object as one that went and one that came.
      assert.deepStrictEqual((yield* told).toSorted(), ["+a3", "+c", "+d", "-b", "-c"])
      yield* touch("d", "1")
      yield* second
      assert.deepStrictEqual(yield* told, ["+d1"])
      assert.strictEqual((yield* api.requestCounts)["list configmaps"], 2)
    }).pipe(Effect.provide(server)))

  it.effect("gives a server that does not answer a second, again and again", () =>
    Effect.gen(function*() {
      const down = yield* Ref.make(true)
      const failing = Effect.gen(function*() {
        const inner = yield* TransportService.Transport
        const lost = new Transport({ message: "connection refused" })
        const whenUp = <A, R>(call: Effect.Effect<A, Transport, R>) =>
          Effect.flatMap(Ref.get(down), (isDown) => isDown ? Effect.fail(lost) : call)
        return Client.make({
          request: (request) => whenUp(inner.request(request)),
          stream: (request) => whenUp(inner.stream(request))
        })
      })
      const { told } = yield* Effect.provideServiceEffect(following, KubeClient, failing)
      yield* create("a")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* told, [])
      yield* Ref.set(down, false)
      yield* second
      assert.deepStrictEqual(yield* told, ["+a"])
    }).pipe(Effect.provide(TestClient.transportLayer.pipe(Layer.provideMerge(server)))))

  it.effect("asks no more often than once a second, and not at all while nothing happens", () =>
    Effect.gen(function*() {
      const api = yield* ApiServer
      yield* following
      yield* TestClock.adjust("20 minutes")
      const counts = yield* api.requestCounts
      assert.deepStrictEqual([counts["list configmaps"], counts["watch configmaps"]], [1, 1])
      assert.strictEqual(yield* api.watchers, 1)
    }).pipe(Effect.provide(server)))
})
