import type { Delta, Informers, KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Metric, Scope } from "effect"
import { informing } from "./support/Informing.ts"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { Prng } from "./support/Prng.ts"
import { isWatch, parameter, refuse, Server, statusOf } from "./support/Server.ts"
import { between, pass, settable, settle } from "./support/Time.ts"

const text = (delta: Delta.Delta): string => {
  const { metadata } = delta._tag === "Invalid" ? delta.raw : delta.object
  return `${delta._tag} ${metadata.name}`
}

/** What a subscriber makes of an empty map; fails on a delta that does not fit. */
const replay = () => {
  const objects = new Map<string, KubeObject.KubeObject>()
  const take: Informers.Subscriber = (deltas) => {
    for (const delta of deltas) {
      const { metadata } = delta._tag === "Invalid" ? delta.raw : delta.object
      const had = objects.has(metadata.name)
      assert.strictEqual(had, delta._tag !== "Added", `${text(delta)}, ${had ? "there" : "not there"} before`)
      if (delta._tag === "Deleted" || delta._tag === "Invalid") objects.delete(metadata.name)
      else objects.set(metadata.name, delta.object)
    }
  }
  return { objects, take }
}

describe("Informers", () => {
  it.effect("what was written last is known, whichever answer comes last, until the server is restored", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { informers } = yield* informing(server)
      const informer = yield* informers.get({ resource: Part })
      yield* settle
      const restore = server.backup()
      server.advance(10)
      const create = (name: string) => server.own.create(Part, { metadata: { name, namespace: "default" } })
      server.latency = () => Effect.sleep("1 second")
      const first = yield* Effect.forkChild(create("a"), { startImmediately: true })
      server.latency = () => Effect.void
      const { metadata } = yield* create("b")
      yield* pass("2 seconds")
      yield* Fiber.join(first)
      assert.deepStrictEqual([...informers.written().values()], [metadata.resourceVersion])
      server.fault = (request) =>
        Effect.succeed(
          isWatch(request) && Number(parameter(request, "resourceVersion")) > server.rv
            ? refuse(410, "Expired")
            : undefined
        )
      restore()
      yield* pass("1 minute")
      assert.deepStrictEqual([...informers.written().values()], [])
      assert.strictEqual(informer.store.size, 0)
    }))

  it.effect("equal selections share one list and one watch, however they are written", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { informers } = yield* informing(server)
      const a = yield* informers.get({ resource: Part, labels: "app=web" })
      const b = yield* informers.get({ resource: Part, labels: [{ operator: "=", key: "app", value: "web" }] })
      const c = yield* informers.get({ resource: Part, labels: { app: "web" } })
      yield* settle
      assert.strictEqual(a, b)
      assert.strictEqual(a, c)
      assert.strictEqual(server.requests.length, 2)
      assert.strictEqual(informers.active().length, 1)
    }))

  it.effect("other kinds, namespaces, labels and fields have their own", () =>
    Effect.gen(function*() {
      const server = new Server(Part, Secret)
      const { informers } = yield* informing(server)
      yield* informers.get({ resource: Part })
      yield* informers.get({ resource: Secret })
      yield* informers.get({ resource: Part, namespace: "a" })
      yield* informers.get({ resource: Part, labels: "app=web" })
      yield* informers.get({ resource: Part, fields: "metadata.name=x" })
      yield* settle
      const watches = server.requests.filter(isWatch)
      assert.deepStrictEqual(watches.map(({ path }) => path), [
        "/api/v1/parts",
        "/api/v1/secrets",
        "/api/v1/namespaces/a/parts",
        "/api/v1/parts",
        "/api/v1/parts"
      ])
      assert.deepStrictEqual(
        watches.map((request) => parameter(request, "labelSelector") ?? parameter(request, "fieldSelector")),
        [undefined, undefined, undefined, "app=web", "metadata.name=x"]
      )
      assert.strictEqual(informers.active().length, 5)
    }))

  it.effect("an informer stops after its last user, and starts afresh for the next", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { informers, supervisor } = yield* informing(server)
      const [first, second] = [yield* Scope.make(), yield* Scope.make()]
      const a = yield* Scope.provide(informers.get({ resource: Part }), first)
      yield* Scope.provide(informers.get({ resource: Part }), second)
      yield* settle
      yield* Scope.close(first, Exit.void)
      yield* settle
      assert.strictEqual(server.watches.length, 1)
      assert.strictEqual(supervisor.running().length, 1)
      yield* Scope.close(second, Exit.void)
      yield* settle
      assert.strictEqual(server.watches.length, 0)
      assert.deepStrictEqual(informers.active(), [])
      assert.deepStrictEqual(supervisor.running(), [])
      server.put(Part, "a")
      assert.strictEqual(a.store.size, 0)
      const again = yield* informers.get({ resource: Part })
      yield* settle
      assert.notStrictEqual(again, a)
      assert.strictEqual(again.store.size, 1)
    }))

  it.effect("an informer that is released before it ran leaves nothing behind", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { informers, supervisor } = yield* informing(server)
      yield* Effect.scoped(informers.get({ resource: Part }))
      yield* settle
      assert.strictEqual(server.watches.length, 0)
      assert.deepStrictEqual(informers.active(), [])
      assert.deepStrictEqual(supervisor.running(), [])
    }))

  it.effect("a late subscriber gets a snapshot, then every change, until its scope closes", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const { informers } = yield* informing(server)
      const informer = yield* informers.get({ resource: Part })
      yield* informer.synced
      server.put(Part, "b")
      yield* settle
      const seen: Array<string> = []
      const scope = yield* Scope.make()
      yield* Scope.provide(informer.subscribe((deltas) => seen.push(...deltas.map(text))), scope)
      assert.deepStrictEqual(seen, ["Added a", "Added b"])
      server.put(Part, "c")
      server.delete(Part, "a")
      yield* settle
      assert.deepStrictEqual(seen.slice(2), ["Added c", "Deleted a"])
      yield* Scope.close(scope, Exit.void)
      server.put(Part, "d")
      yield* settle
      assert.strictEqual(seen.length, 4)
    }))

  it.effect("a subscriber sees no gap and nothing twice, whenever it comes (200 random runs)", () =>
    Effect.gen(function*() {
      const first = Number(process.env["SEED"] ?? 1)
      for (let seed = first; seed < first + (process.env["SEED"] === undefined ? 200 : 1); seed++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const random = new Prng(seed)
          const server = new Server(Part)
          const { informers } = yield* informing(server)
          const informer = yield* informers.get({ resource: Part })
          const subscribers: Array<ReturnType<typeof replay>> = []
          for (let i = 0; i < 30; i++) {
            const name = `p${random.int(0, 3)}`
            if (random.chance(0.5)) server.put(Part, name, { spec: { role: String(i) } })
            else server.delete(Part, name)
            if (random.chance(0.1)) server.compact()
            if (random.chance(0.1)) server.watches[0]?.push({ type: "ERROR", object: statusOf(410, "Expired") })
            if (random.chance(0.2)) {
              const subscriber = replay()
              subscribers.push(subscriber)
              yield* informer.subscribe(subscriber.take)
            }
            if (random.chance(0.7)) yield* settle
          }
          yield* settle
          const expected = server.objects(Part)
          for (const { objects } of subscribers) {
            assert.sameDeepMembers([...objects.values()], [...informer.store.values()], `SEED=${seed}`)
          }
          if (server.watches.length > 0) assert.strictEqual(informer.store.size, expected.length, `SEED=${seed}`)
        }))
      }
    }))

  it.effect("an own write is overlaid on the stores of its kind that select it, and on no others", () =>
    Effect.gen(function*() {
      const server = new Server(Part, Secret)
      const { informers } = yield* informing(server)
      const every = yield* informers.get({ resource: Part })
      const web = yield* informers.get({ resource: Part, labels: "app=web" })
      const other = yield* informers.get({ resource: Part, namespace: "other" })
      const named = yield* informers.get({ resource: Part, fields: "spec.role=front" })
      const secrets = yield* informers.get({ resource: Secret })
      yield* settle
      server.hold()
      const client = server.own
      const sizes = () => [every, web, other, named, secrets].map(({ store }) => store.size)
      yield* client.create(Part, {
        metadata: { name: "a", namespace: "default", labels: { app: "web" } },
        spec: { role: "front" }
      })
      assert.deepStrictEqual(sizes(), [1, 1, 0, 1, 0])
      const before = server.get(Part, "a")!
      yield* client.replace(Part, { ...before, metadata: { ...before.metadata, labels: {} }, spec: { role: "back" } })
      assert.deepStrictEqual(sizes(), [1, 0, 0, 0, 0])
      yield* client.delete(Part, { name: "a", namespace: "default" })
      assert.deepStrictEqual(sizes(), [0, 0, 0, 0, 0])
      server.release()
      yield* settle
      assert.deepStrictEqual(sizes(), [0, 0, 0, 0, 0])
      // What never was in a selection makes no event there: a bookmark says that the watch has passed it.
      for (const watch of server.watches) watch.bookmark(server.rv)
      yield* settle
      assert.deepStrictEqual([every, web, other, named].map(({ store }) => store.unconfirmed), [0, 0, 0, 0])
    }))

  it.effect("an own write that is answered during the list is not lost with the list", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.hold()
      const { informers } = yield* informing(server)
      const gate = yield* Deferred.make<void>()
      const body = { metadata: { resourceVersion: String(server.rv) }, items: [] }
      server.fault = (request) =>
        isWatch(request) || request.method !== "GET"
          ? Effect.undefined
          : Effect.as(Deferred.await(gate), { status: 200, headers: {}, body })
      const informer = yield* informers.get({ resource: Widget })
      yield* settle
      const created = yield* server.own.create(Widget, {
        metadata: { name: "a", namespace: "default" },
        spec: { size: 1 }
      })
      assert.deepStrictEqual(informer.store.get("default/a"), created)
      // The list that is answered now is one from before the write.
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.strictEqual(informer.store.resourceVersion, "10")
      assert.deepStrictEqual(informer.store.get("default/a"), created)
      assert.strictEqual(informer.store.unconfirmed, 1)
      server.release()
      yield* settle
      assert.deepStrictEqual(informer.store.get("default/a"), created)
      assert.strictEqual(informer.store.unconfirmed, 0)
    }))

  it.effect("the idle time of a watch does not depend on the time of day, which can be set", () =>
    Effect.gen(function*() {
      const { clock, putBack } = yield* settable
      const { informers } = yield* informing(new Server(Part))
      yield* Effect.provideService(informers.get({ resource: Part }), Clock.Clock, clock)
      yield* pass("10 seconds")
      putBack(3_600_000)
      const ages = (yield* Metric.snapshot).filter(({ id }) => id === "effect_operator_watch_last_event_age_seconds")
      assert.deepStrictEqual(ages.map(({ state }) => state), [{ value: 10 }])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))

  it.effect("a new user gets its own informer if the last user is just leaving, at whatever point", () =>
    Effect.gen(function*() {
      let reached = true
      for (let steps = 1; reached; steps++) {
        reached = yield* Effect.scoped(Effect.gen(function*() {
          const server = new Server(Part)
          const { informers } = yield* informing(server)
          const first = yield* Scope.make()
          yield* Scope.provide(informers.get({ resource: Part }), first)
          yield* settle
          let next: Fiber.Fiber<Informers.Informer> | undefined
          const come = Effect.runForkWith(yield* Effect.context<Scope.Scope>())
          const left = yield* between(steps, Scope.close(first, Exit.void), () => {
            next = come(informers.get({ resource: Part }))
          })
          if (next === undefined) return false
          const { store } = yield* Fiber.join(next)
          yield* settle
          assert.deepStrictEqual(informers.active().map((informer) => informer.store), [store], `after ${steps} steps`)
          assert.lengthOf(server.watches, 1, `after ${steps} steps`)
          return left.reached
        }))
      }
    }))
})
