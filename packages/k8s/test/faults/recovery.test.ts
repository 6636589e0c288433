/** How soon a reflector is itself again, over real sockets and in real time where that is short. */
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as Reflector from "@effect-operator/core/Reflector"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, type Scope } from "effect"
import * as LiveClient from "../../src/LiveClient.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as FastClock from "./FastClock.ts"
import type * as Fault from "./Fault.ts"
import * as Follower from "./Follower.ts"
import * as Proxy from "./Proxy.ts"
import * as Rotation from "./Rotation.ts"
import * as Subject from "./Subject.ts"

const { namespace, resources: [ConfigMap] } = Subject
const path = "/api/v1/namespaces/default/configmaps"

interface Scene {
  readonly server: ApiServer["Service"]
  readonly proxy: Proxy.Proxy
  readonly follower: Follower.Follower
  readonly put: (name: string, text?: string) => Effect.Effect<unknown>
  readonly remove: (name: string) => Effect.Effect<unknown>
  readonly inflict: (kind: Fault.Kind, on: Fault.Target, times?: number) => Proxy.Infliction
  /** Waits for something, in real time; how long it took by the clock in context. */
  readonly waitFor: (holds: () => boolean) => Effect.Effect<number>
  readonly lists: () => number
}

const scene = (objects: number, by: "Pages" | "Stream" = "Pages") =>
  Effect.gen(function*() {
    const server = yield* ApiServer
    const facade = yield* HttpFacade.HttpFacade
    const clock = yield* Clock.Clock
    const send = (method: "POST" | "PUT" | "DELETE", path: string, body?: unknown) =>
      server.handle({ method, path, query: [], headers: { "content-type": "application/json" }, body })
    const put = (name: string, text = "") => {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { text } }
      return Effect.flatMap(
        send("POST", path, body),
        ({ status }) => status === 409 ? send("PUT", `${path}/${name}`, body) : Effect.void
      )
    }
    for (let i = 0; i < objects; i++) yield* put(`o${i}`)
    const proxy = yield* Proxy.make({ url: facade.url, caPem: facade.caPem })
    const kubeconfig = HttpFacade.kubeconfig({ url: proxy.url, caPem: proxy.caPem, token: facade.token })
    const client = yield* Effect.provide(
      KubeClient.KubeClient,
      yield* Layer.build(LiveClient.layerOptions({ kubeconfig }))
    )
    const follower = yield* Effect.provideService(
      Follower.make(client, ConfigMap, { namespace }),
      Reflector.ListBy,
      by
    )
    const waitFor = (holds: () => boolean) =>
      Effect.gen(function*() {
        const began = clock.currentTimeMillisUnsafe()
        while (!holds()) yield* Effect.provideService(Effect.sleep(2), Clock.Clock, Clock.Clock.defaultValue())
        return clock.currentTimeMillisUnsafe() - began
      })
    yield* waitFor(() => follower.status()._tag === "Live")
    return {
      server,
      proxy,
      follower,
      put,
      remove: (name) => send("DELETE", `${path}/${name}`),
      inflict: (kind, on, times = 1) => proxy.inflict({ kind, on: [on], times, after: 0, seed: 1 }),
      waitFor,
      lists: () => proxy.exchanges.filter(({ target }) => target === "list").length
    } satisfies Scene as Scene
  })

const within = <A, E>(effect: Effect.Effect<A, E, ApiServer | HttpFacade.HttpFacade | Scope.Scope>, speed?: number) => {
  const provided = Effect.provide(effect, Layer.provideMerge(HttpFacade.layer(), ApiServer.layer))
  return speed === undefined ? provided : Effect.provideService(provided, Clock.Clock, FastClock.make(speed))
}

describe("recovery", () => {
  it.live("a dropped stream is resumed within a second and its jitter, without a list", () =>
    within(Effect.gen(function*() {
      const { follower, inflict, lists, put, waitFor } = yield* scene(10)
      inflict("cut", "watch")
      yield* put("meanwhile")
      yield* waitFor(() => follower.status()._tag === "Degraded")
      const took = yield* waitFor(() => follower.status()._tag === "Live")
      yield* waitFor(() => follower.store.get("default/meanwhile") !== undefined)
      assert.isAtMost(took, 1_000 + Reflector.defaults.backoff.initial * Reflector.defaults.backoff.jitter)
      assert.strictEqual(lists(), 1)
    })))

  it.live("a clean end is resumed at once, without a failure and without a list", () =>
    within(Effect.gen(function*() {
      const { follower, inflict, lists, proxy, put, waitFor } = yield* scene(3)
      yield* Effect.sleep("1100 millis")
      inflict("end", "watch")
      yield* waitFor(() => proxy.exchanges.filter(({ target }) => target === "watch").length === 2)
      yield* put("later")
      const took = yield* waitFor(() => follower.store.get("default/later") !== undefined)
      assert.isBelow(took, 500)
      assert.strictEqual(lists(), 1)
      assert.isFalse(follower.statuses.some(({ status }) => status._tag === "Degraded"))
    })))

  for (const by of ["Pages", "Stream"] as const) {
    it.live(`410 with 10,000 objects: listed again (${by}) and swapped within 2 s, and only differences are seen`, () =>
      within(Effect.gen(function*() {
        const { follower, inflict, put, remove, server, waitFor } = yield* scene(10_000, by)
        const seen = follower.deltas.length
        assert.strictEqual(seen, 10_000)
        inflict("error410", "watch")
        const before = yield* server.revision
        yield* remove("o17")
        yield* put("o18", "changed")
        yield* put("new")
        yield* server.compact()
        const took = yield* waitFor(() => Number(follower.store.resourceVersion) > before + 2)
        const deltas = follower.deltas.slice(seen)
        // By event or by list, but each once.
        assert.deepStrictEqual(
          deltas.map((delta) => delta._tag === "Invalid" ? delta._tag : `${delta._tag} ${delta.object.metadata.name}`)
            .sort(),
          ["Added new", "Deleted o17", "Updated o18"]
        )
        assert.strictEqual(follower.store.size, 10_000)
        assert.strictEqual(follower.entries.filter(({ _tag }) => _tag === "Replaced").length, 2)
        assert.isBelow(took, 2_000)
      })))
  }

  it.live("client-node #364, #596, #958, #2127: a half-open connection is found by the idle deadline", () =>
    within(
      Effect.gen(function*() {
        const { follower, inflict, lists, put, waitFor } = yield* scene(3)
        const stalled = inflict("stall", "watch")
        yield* put("unseen")
        yield* waitFor(() => stalled.struck === 1)
        const took = yield* waitFor(() => follower.store.get("default/unseen") !== undefined)
        assert.isAtLeast(took, Reflector.defaults.idleTimeout - 10_000)
        assert.isAtMost(took, Reflector.defaults.idleTimeout + 10_000)
        assert.strictEqual(lists(), 1)
      }),
      100
    ))

  it.live("a server with a certificate of another authority is trusted once the file says so", () =>
    Effect.scoped(Effect.flatMap(Subject.inMemory, Rotation.survives)).pipe(
      Effect.provide(Layer.provideMerge(HttpFacade.layer(), ApiServer.layer))
    ))

  it.live("ten minutes of outage: few attempts, and no list afterwards (fast clock)", () =>
    within(
      Effect.gen(function*() {
        const { follower, inflict, lists, proxy, put, waitFor } = yield* scene(3)
        const accepted = proxy.accepted()
        const requests = proxy.exchanges.length
        inflict("outage", "watch")
        yield* Effect.sleep("10 minutes")
        // 0.8, 1.6, … 25.6, then every 30 s, each stretched to double by its jitter at most.
        assert.isAtMost(proxy.accepted() - accepted, 26)
        assert.strictEqual(proxy.exchanges.length, requests)
        assert.strictEqual(follower.status()._tag, "Degraded")
        yield* put("meanwhile")
        proxy.relent()
        yield* waitFor(() => follower.store.get("default/meanwhile") !== undefined)
        assert.strictEqual(lists(), 1)
        assert.strictEqual(proxy.exchanges.length, requests + 1)
      }),
      100
    ))
})
