// Some programs here must not compile.
// @effect-diagnostics missingEffectContext:off
import {
  Action,
  Cache,
  CacheIndex,
  Controller,
  CustomResource,
  KubeClient,
  type KubeObject,
  Manager,
  type Resource,
  type Supervisor,
  Watch
} from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { Part, Secret, Widget } from "./support/Kinds.ts"
import { operate } from "./support/Operating.ts"
import { Server } from "./support/Server.ts"
import { settle } from "./support/Time.ts"

const ref = (name: string) => ({ name, namespace: "default" })
const done = Effect.succeed(Action.done)

/** Widgets name a Secret by an annotation. */
const bySecret = CacheIndex.references(Widget, "secret", ({ metadata }) => {
  const name = metadata.annotations?.["secret"]
  return name === undefined ? [] : [name]
})

const naming = (secret: string) => ({ annotations: { secret } })

const recording = () => {
  const seen: Array<string> = []
  const reconcile = (object: KubeObject.KubeObject) =>
    Effect.sync(() => {
      seen.push(object.metadata.name)
      return Action.done
    })
  return { seen, reconcile, taken: () => seen.splice(0).sort() }
}

describe("Watch.referenced", () => {
  it.effect("a change of a referenced object reconciles the objects that refer to it, and no others", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Secret)
      server.put(Secret, "s")
      server.put(Secret, "t")
      for (const [name, secret] of [["a", "s"], ["b", "s"], ["c", "t"]] as const) {
        server.put(Widget, name, { spec: { size: 1 } }, naming(secret))
      }
      server.put(Widget, "far", { spec: { size: 1 } }, { namespace: "other", ...naming("s") })
      const { reconcile, taken } = recording()
      yield* operate(server, [
        Controller.make("widgets", { for: Widget, watches: [Watch.referenced(Secret, bySecret)], reconcile })
      ])
      yield* settle
      taken()
      server.patch(Secret, "s", { spec: { role: "x" } })
      yield* settle
      assert.deepStrictEqual(taken(), ["a", "b"])
      server.patch(Widget, "b", { metadata: naming("t") })
      yield* settle
      taken()
      server.delete(Secret, "t")
      yield* settle
      assert.deepStrictEqual(taken(), ["b", "c"])
      server.put(Secret, "t")
      yield* settle
      assert.deepStrictEqual(taken(), ["b", "c"])
    }))

  it.effect("can map the referring object to other objects", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part, Secret)
      const byRole = CacheIndex.references(Part, "secret", ({ spec }) => spec?.role === undefined ? [] : [spec.role])
      server.put(Widget, "a", { spec: { size: 1 } })
      server.put(Part, "p", { spec: { role: "s" } }, { annotations: { widget: "a" } })
      const { reconcile, taken } = recording()
      const watch = Watch.referenced(Secret, byRole, {
        map: ({ metadata }) => [{ ...ref(metadata.annotations!["widget"]!) }]
      })
      yield* operate(server, [
        Controller.make("widgets", { for: Widget, watches: [watch, Watch.cached(Part)], reconcile })
      ])
      yield* settle
      taken()
      server.put(Secret, "s")
      yield* settle
      assert.deepStrictEqual(taken(), ["a"])
    }))
})

describe("a map function that reads the cache", () => {
  it.effect("sees the kinds it declared", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Secret)
      for (const name of ["a", "b"]) server.put(Widget, name, { spec: { size: 1 } })
      const { reconcile, taken } = recording()
      const everyone = Watch.make(Secret, {
        reads: [Widget],
        map: ({ metadata }, cache) =>
          cache.get(Widget, metadata) === undefined
            ? cache.list(Widget, { namespace: metadata.namespace }).map(({ metadata }) => metadata)
            : [metadata]
      })
      yield* operate(server, [Controller.make("widgets", { for: Widget, watches: [everyone], reconcile })])
      yield* settle
      taken()
      server.put(Secret, "unknown")
      yield* settle
      assert.deepStrictEqual(taken(), ["a", "b"])
      server.put(Secret, "b")
      yield* settle
      assert.deepStrictEqual(taken(), ["b"])
    }))
})

describe("reading an undeclared kind does not compile", () => {
  type Runs = Effect.Effect<never, Supervisor.PartFailed>
  const server = new Server(Widget)
  const launch = <R>(controller: Controller.Controller<R>) =>
    Manager.launch(Manager.layer([controller]).pipe(Layer.provide(server.layer)))
  const bySize = CacheIndex.make(Part, "role", () => [])

  it("by an index, by a wait, by changes, by a map function", () => {
    const reads = [
      () => Effect.as(Cache.byIndex(bySize, "x"), Action.done),
      () => Effect.as(Cache.awaitObserved(Part, { resourceVersion: "1" }), Action.done),
      () => Effect.as(Stream.runDrain(Cache.changes(Part)), Action.done)
    ] as const
    for (const reconcile of reads) {
      // @ts-expect-error: nothing provides Cached<"Part.v1">
      const undeclared: Runs = launch(Controller.make("w", { for: Widget, reconcile }))
      const declared: Runs = launch(Controller.make("w", { for: Widget, owns: [Part], reconcile }))
      assert.isDefined([undeclared, declared])
    }
    const unread = Watch.make(Secret, {
      reads: [Widget],
      // @ts-expect-error: Part is not among the kinds this function reads
      map: (_, cache) => cache.list(Part).map(({ metadata }) => metadata)
    })
    const reading = Watch.make(Secret, {
      reads: [Widget, Part],
      map: (_, cache) => cache.list(Part).map(({ metadata }) => metadata)
    })
    // @ts-expect-error: the map function reads Part, which the controller does not declare
    const missing: Runs = launch(Controller.make("w", { for: Widget, watches: [reading], reconcile: () => done }))
    const referring = Watch.referenced(Secret, bySize)
    // @ts-expect-error: the index is of Part, which the controller does not declare
    const indexed: Runs = launch(Controller.make("w", { for: Widget, watches: [referring], reconcile: () => done }))
    const complete: Runs = launch(
      Controller.make("w", { for: Widget, watches: [reading, referring, Watch.cached(Part)], reconcile: () => done })
    )
    assert.isDefined([unread, missing, indexed, complete])
  })

  it("among declarations that the type checker does not know", () => {
    const kinds: ReadonlyArray<Resource.Any> = [Secret]
    const reads = () => Effect.as(Cache.list(Part), Action.done)
    // @ts-expect-error: of the kinds it owns, none need be Part
    const owning: Runs = launch(Controller.make("w", { for: Widget, owns: kinds, reconcile: reads }))
    const watches = kinds.map((kind) => Watch.cached(kind))
    // @ts-expect-error: nor of those that it watches
    const watching: Runs = launch(Controller.make("w", { for: Widget, watches, reconcile: reads }))
    const all: ReadonlyArray<Watch.Watch> = watches
    const unread: Runs = launch(Controller.make("w", { for: Widget, owns: kinds, watches: all, reconcile: () => done }))
    const some = Cache.list(Part).pipe(Effect.provide(Layer.provide(Cache.layer(kinds), server.layer)))
    // @ts-expect-error: nor of those in a layer
    const layered: Effect.Effect<unknown> = some
    const known: Runs = launch(
      Controller.make("w", { for: Widget, owns: kinds, watches: [Watch.cached(Part)], reconcile: reads })
    )
    assert.isDefined([owning, watching, layered, known, unread])
  })
})

describe("own writes and others'", () => {
  it.effect("a change by another client while an own write is pending wakes the controller", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 1 } })
      const seen: Array<readonly [size: number, ready: boolean]> = []
      server.hold()
      yield* operate(server, [
        Controller.make("widgets", {
          for: Widget,
          reconcile: (widget) =>
            Effect.gen(function*() {
              seen.push([widget.spec.size, widget.status?.ready === true])
              if (widget.status?.ready === true) return Action.done
              const body = { status: { ready: true } }
              yield* server.own.patch(Widget, widget, { _tag: "Merge", body }, { subresource: "status" })
              return Action.done
            })
        })
      ])
      yield* settle
      assert.deepStrictEqual(seen, [[1, false]])
      // The own write is laid over, its event under way: now somebody changes the object.
      server.patch(Widget, "a", { spec: { size: 2 } })
      server.release()
      yield* settle
      assert.deepStrictEqual(seen, [[1, false], [2, true]])
    }))

  it.effect("a status written by another client while a no-op own write is pending wakes the controller", () =>
    Effect.gen(function*() {
      const Report = CustomResource.make({
        group: "test.io",
        version: "v1",
        kind: "Report",
        spec: Schema.Struct({ size: Schema.Int }),
        status: Schema.Struct({ ready: Schema.Boolean, by: Schema.optionalKey(Schema.String) })
      })
      const server = new Server(Report)
      server.put(Report, "a", { spec: { size: 1 }, status: { ready: true } }, { generation: 1 })
      const seen: Array<string | undefined> = []
      yield* operate(server, [
        Controller.make("reports", {
          for: Report,
          reconcile: (report) =>
            Effect.gen(function*() {
              seen.push(report.status?.by)
              if (seen.length === 1) {
                server.hold()
                server.patch(Report, "a", { status: { by: "others" } })
              }
              const body = { status: { ready: true } }
              yield* KubeClient.KubeClient.use((client) =>
                client.patch(Report, report, { _tag: "Merge", body }, { subresource: "status" })
              )
              return Action.done
            })
        })
      ])
      yield* settle
      server.release()
      yield* settle
      assert.deepStrictEqual(seen, [undefined, "others"])
    }))

  it.effect("own writes of another manager on the same client are visible too", () =>
    Effect.gen(function*() {
      const server = new Server(Widget, Part)
      server.put(Widget, "w", { spec: { size: 1 } })
      const seen: Array<number> = []
      const layer = (name: string, reconcile: () => Effect.Effect<Action.Action, unknown, any>) =>
        Manager.layer([Controller.make(name, { for: Widget, owns: [Part], reconcile })])
      const count = Effect.map(Cache.list(Part), (parts) => {
        seen.push(parts.length)
        return Action.done
      })
      yield* Layer.build(layer("reads", () => count).pipe(Layer.provide(server.layer)))
      yield* settle
      server.hold()
      yield* Layer.build(
        layer("writes", () => Effect.as(server.own.create(Part, { metadata: ref("p") }), Action.done)).pipe(
          Layer.provide(server.layer)
        )
      )
      yield* settle
      assert.strictEqual(server.objects(Part).length, 1)
      for (const watch of server.watchesOf(Widget)) {
        watch.push({
          type: "MODIFIED",
          object: {
            ...server.get(Widget, "w")!,
            metadata: { ...server.get(Widget, "w")!.metadata, resourceVersion: "99" }
          }
        })
      }
      yield* settle
      assert.strictEqual(seen.at(-1), 1)
    }))
})
