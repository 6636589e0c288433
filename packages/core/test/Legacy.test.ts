import { Action, Cache, Controller, KubeClient, KubeObject, LeaderElection, Manager } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Part, Widget } from "./support/Kinds.ts"
import { Legacy } from "../src/internal/Legacy.ts"
import { informing } from "./support/Informing.ts"
import { late } from "./support/Replicas.ts"
import { Server } from "./support/Server.ts"
import { between, pass, settle } from "./support/Time.ts"

const { Lease } = LeaderElection

/** Makes a Part of each Widget where its cache shows none, under a name that is never the same. */
const making = (names: { next: number }) =>
  Controller.make("widgets", {
    for: Widget,
    owns: [Part],
    reconcile: Effect.fnUntraced(function*(widget) {
      const parts = yield* Cache.list(Part, { owner: widget })
      if (parts.length > 0) return Action.done
      yield* KubeClient.KubeClient.use((client) =>
        client.create(Part, {
          metadata: {
            namespace: "default",
            name: `part-${names.next++}`,
            ownerReferences: [KubeObject.controllerReference(widget)]
          }
        })
      )
      return Action.done
    })
  })

/** A process whose watch of Parts shows everything later than it is. */
const replica = Effect.fnUntraced(function*(
  server: Server,
  identity: string,
  per: LeaderElection.Per,
  names: { next: number },
  delay: Duration.Input
) {
  const scope = yield* Scope.make()
  const client = KubeClient.make(late(server, "/parts", delay).transport)
  yield* Layer.buildWithScope(
    Manager.layer([making(names)], { leaderElection: { namespace: "default", name: "op", identity, per } }).pipe(
      Layer.provide(Layer.succeed(KubeClient.KubeClient, client))
    ),
    scope
  )
  return { stop: Scope.close(scope, Exit.void) }
})

describe("the successor of another replica", () => {
  for (const per of ["manager", "controller", "object"] as const) {
    it.effect(`does not repeat what that one has just done, however late its watch is (per ${per})`, () =>
      Effect.gen(function*() {
        const server = new Server(Widget, Part, Lease)
        const names = { next: 0 }
        const { stop } = yield* replica(server, "a", per, names, 0)
        yield* pass("1 second")
        yield* replica(server, "b", per, names, "5 seconds")
        yield* pass("10 seconds")
        for (let i = 0; i < 8; i++) server.put(Widget, `w${i}`, { spec: { size: 1 } })
        yield* pass("10 millis")
        const before = server.objects(Part).length
        assert.isAbove(before, 2)
        yield* stop
        yield* pass("2 seconds")
        assert.strictEqual(server.objects(Part).length, per === "object" ? 8 : before, "not yet")
        yield* pass("1 minute")
        assert.strictEqual(server.objects(Part).length, 8)
        // And goes on as ever.
        server.put(Widget, "w8", { spec: { size: 1 } })
        yield* pass("1 minute")
        assert.strictEqual(server.objects(Part).length, 9)
      }))
  }

  it.effect("waits for half a minute, and then acts on its caches: a watch may be broken for good", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      const names = { next: 0 }
      const { stop } = yield* replica(server, "a", "manager", names, 0)
      yield* pass("1 second")
      yield* replica(server, "b", "manager", names, "1 hour")
      yield* pass("10 seconds")
      server.put(Widget, "a", { spec: { size: 1 } })
      yield* pass("1 second")
      yield* stop
      server.put(Widget, "b", { spec: { size: 1 } })
      yield* pass("25 seconds")
      assert.strictEqual(server.objects(Part).length, 1)
      yield* pass("10 seconds")
      assert.isAbove(server.objects(Part).length, 1)
    }))

  it.effect("does not wait for what its caches come to show at any moment of the wait", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { informers } = yield* informing(server)
      const { store } = yield* informers.get({ resource: Part })
      yield* settle
      const legacy = new Legacy(informers.written, informers.active)
      for (let steps = 1, goesOn = true; goesOn; steps++) {
        const version = `${steps * 1_000}`
        legacy.inherit(JSON.stringify({ "Part.v1|||": version }))
        const { fiber, reached } = yield* between(steps, legacy.caughtUp, () => {
          store.apply([{ type: "BOOKMARK", object: { ...Part, metadata: { resourceVersion: version } } }])
        })
        goesOn = reached
        yield* settle
        assert.strictEqual(fiber.pollUnsafe() !== undefined, reached, `after ${steps} steps`)
        yield* Fiber.interrupt(fiber)
      }
    }))

  it.effect("leaves nothing of the wait in the caches, however it ended", () =>
    Effect.gen(function*() {
      const { informers } = yield* informing(new Server(Part))
      const { store } = yield* informers.get({ resource: Part })
      yield* settle
      const { onChange } = store
      let listeners = 0
      store.onChange = (listener) => {
        const end = onChange.call(store, listener)
        listeners += 1
        return () => {
          listeners -= 1
          end()
        }
      }
      const legacy = new Legacy(informers.written, informers.active)
      for (const version of ["1000", "2000", "3000"]) {
        legacy.inherit(JSON.stringify({ "Part.v1|||": version }))
        const waiting = yield* Effect.forkChild(legacy.caughtUp, { startImmediately: true })
        assert.strictEqual(listeners, 1)
        if (version === "2000") yield* Fiber.interrupt(waiting)
        else if (version === "3000") yield* pass("1 minute")
        else store.apply([{ type: "BOOKMARK", object: { ...Part, metadata: { resourceVersion: version } } }])
        yield* settle
        assert.isDefined(waiting.pollUnsafe())
        assert.strictEqual(listeners, 0, version)
      }
    }))

  it.effect("ignores annotations of another program", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Lease)
      for (const [i, text] of ["{", "null", "[1]", `{"Part.v1|||": 7}`, `{"Part.v1|||": "many"}`].entries()) {
        server.put(Lease, `op${i}`, { spec: { holderIdentity: "" } }, {
          annotations: { "effect-operator.dev/wrote": text, other: "stays" },
          labels: { app: "op" }
        })
        const scope = yield* Scope.make()
        server.put(Widget, `w${i}`, { spec: { size: 1 } })
        yield* Layer.buildWithScope(
          Manager.layer([making({ next: i * 100 })], {
            leaderElection: { namespace: "default", name: `op${i}`, identity: "a" }
          }).pipe(Layer.provide(Layer.sync(KubeClient.KubeClient, () => KubeClient.make(server.transport)))),
          scope
        )
        yield* pass("3 seconds")
        assert.strictEqual(server.objects(Part).length, i + 1, text)
        yield* Scope.close(scope, Exit.void)
        const { annotations, labels } = server.get(Lease, `op${i}`)!.metadata
        assert.deepStrictEqual([annotations?.["other"], labels], ["stays", { app: "op" }])
        const [last] = server.objects(Part).slice(-1)
        assert.deepStrictEqual(JSON.parse(annotations!["effect-operator.dev/wrote"]!), {
          "Part.v1|||": last!.metadata.resourceVersion
        })
      }
    }))

  it.effect("is told of the caches that were last written to, however many there have been", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { informers } = yield* informing(server)
      const version = (i: number) => `${1_000_000 + i}`
      for (let i = 0; i < 500; i++) {
        yield* Effect.scoped(Effect.gen(function*() {
          yield* informers.get({ resource: Part, namespace: `n${i}` })
          yield* server.own.create(Part, { metadata: { namespace: `n${i}`, name: "a" } })
        }))
      }
      assert.strictEqual(informers.written().size, 200)
      const legacy = new Legacy(informers.written, informers.active)
      const told = () => Object.keys(JSON.parse(legacy.text!))
      assert.deepStrictEqual(told(), Array.from({ length: 200 }, (_, i) => `Part.v1|n${499 - i}||`))
      for (let i = 0; i < 300; i++) legacy.inherit(JSON.stringify({ [`Part.v1|m${i}||`]: version(i) }))
      assert.deepStrictEqual(told(), Array.from({ length: 200 }, (_, i) => `Part.v1|m${299 - i}||`))
    }))
})
