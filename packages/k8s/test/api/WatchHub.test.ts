import { initialEventsEnd, type WireEvent } from "@effect-operator/core/WatchEvent"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Ref, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as TestClient from "../../src/testing/TestClient.ts"
import {
  configMap,
  configMaps,
  crds,
  del,
  get,
  layer,
  patch,
  post,
  watch,
  widget,
  widgetDefinition,
  widgets
} from "../testing/support/server.ts"

const show = (event: WireEvent) =>
  `${event.type} ${
    "name" in event.object.metadata ? event.object.metadata.name : event.object.metadata.resourceVersion ?? ""
  }`

/** Runs a watch behind the test; what it saw so far, and whether it ended. */
const observe = Effect.fnUntraced(function*(url: string) {
  const seen = yield* Ref.make<ReadonlyArray<WireEvent>>([])
  const fiber = yield* Effect.forkScoped(
    Stream.runForEach(watch(url), (event) => Ref.update(seen, (events) => [...events, event]))
  )
  yield* TestClock.adjust(0)
  return {
    fiber,
    /** Everything that is under way arrives first. */
    events: Effect.andThen(TestClock.adjust(0), Ref.get(seen)),
    shown: Effect.andThen(TestClock.adjust(0), Effect.map(Ref.get(seen), (events) => events.map(show)))
  }
})

const withLabel = (name: string, value: string) => configMap(name, { metadata: { labels: { k: value } } })

describe("watch", () => {
  it.effect("without resourceVersion begins with what is there", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("b"))
      yield* post(configMaps, configMap("a"))
      const { shown } = yield* observe(configMaps)
      yield* del(`${configMaps}/a`)
      assert.deepStrictEqual(yield* shown, ["ADDED a", "ADDED b", "DELETED a"])
    }).pipe(Effect.provide(layer)))

  it.effect("that has less than no time tells nothing and ends", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      const { fiber, shown } = yield* observe(`${configMaps}?timeoutSeconds=-1`)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* shown, [])
    }).pipe(Effect.provide(layer)))

  it.effect("from a resourceVersion sees what was missed", () =>
    Effect.gen(function*() {
      const { body } = yield* post(configMaps, configMap("a"))
      yield* post(configMaps, configMap("b"))
      yield* patch(`${configMaps}/b`, "merge", { data: { k: "v" } })
      const { events, shown } = yield* observe(`${configMaps}?resourceVersion=${body.metadata.resourceVersion}`)
      assert.deepStrictEqual(yield* shown, ["ADDED b", "MODIFIED b"])
      const versions = (yield* events).map(({ object }) => Number(object.metadata.resourceVersion))
      assert.deepStrictEqual(versions, versions.toSorted((a, b) => a - b))
    }).pipe(Effect.provide(layer)))

  it.effect("an object entering the selector is ADDED, one leaving is DELETED as it was before", () =>
    Effect.gen(function*() {
      const { events } = yield* observe(`${configMaps}?labelSelector=k%3D1`)
      yield* post(configMaps, withLabel("a", "2"))
      yield* patch(`${configMaps}/a`, "merge", { metadata: { labels: { k: "1" } } })
      yield* patch(`${configMaps}/a`, "merge", { data: { x: "y" } })
      const { body } = yield* patch(`${configMaps}/a`, "merge", { metadata: { labels: { k: "3" } } })
      yield* del(`${configMaps}/a`)
      const seen = yield* events
      assert.deepStrictEqual(seen.map(({ type }) => type), ["ADDED", "MODIFIED", "DELETED"])
      const last = seen[2] as Extract<WireEvent, { type: "DELETED" }>
      assert.deepStrictEqual(last.object.metadata.labels, { k: "1" })
      assert.strictEqual(last.object.metadata.resourceVersion, body.metadata.resourceVersion)
    }).pipe(Effect.provide(layer)))

  it.effect("field selectors follow the fields", () =>
    Effect.gen(function*() {
      const { shown } = yield* observe(`${configMaps}?fieldSelector=metadata.name%3Db`)
      for (const name of ["a", "b", "c"]) yield* post(configMaps, configMap(name))
      assert.deepStrictEqual(yield* shown, ["ADDED b"])
    }).pipe(Effect.provide(layer)))

  it.effect("one namespace does not see another", () =>
    Effect.gen(function*() {
      const { shown } = yield* observe("/api/v1/namespaces/kube-system/configmaps")
      const all = yield* observe("/api/v1/configmaps")
      yield* post(configMaps, configMap("a"))
      assert.deepStrictEqual(yield* shown, [])
      assert.deepStrictEqual(yield* all.shown, ["ADDED a"])
    }).pipe(Effect.provide(layer)))

  it.effect("what is in the log before a compaction is gone: 410, then the end", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const old = yield* server.revision
      yield* post(configMaps, configMap("a"))
      yield* server.compact()
      const { events, fiber } = yield* observe(`${configMaps}?resourceVersion=${old}`)
      const [event, ...rest] = yield* events
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(rest, [])
      assert.strictEqual(event?.type, "ERROR")
      assert.strictEqual((event as { object: { reason: string } }).object.reason, "Expired")
      const revision = yield* server.revision
      assert.strictEqual(
        (event as { object: { message: string } }).object.message,
        `too old resource version: ${old} (${revision})`
      )
      const current = yield* observe(`${configMaps}?resourceVersion=${revision}`)
      assert.deepStrictEqual(yield* current.events, [])
    }).pipe(Effect.provide(layer)))

  it.effect("a future resourceVersion waits for its time", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const { shown } = yield* observe(`${configMaps}?resourceVersion=${(yield* server.revision) + 1}`)
      yield* post(configMaps, configMap("a"))
      yield* post(configMaps, configMap("b"))
      assert.deepStrictEqual(yield* shown, ["ADDED b"])
    }).pipe(Effect.provide(layer)))

  it.effect("bookmarks come once a minute, before the end, and only if they are asked for", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      // One that does not say where it begins is told where its beginning ends, too.
      const from = `resourceVersion=${yield* server.revision}&timeoutSeconds=150`
      const asked = yield* observe(`${configMaps}?allowWatchBookmarks=true&${from}`)
      const other = yield* observe(`${configMaps}?${from}`)
      yield* post("/api/v1/namespaces/kube-system/secrets", { metadata: { name: "s" } })
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* asked.events, [])
      yield* TestClock.adjust("1 second")
      const [bookmark] = yield* asked.events
      assert.deepStrictEqual(bookmark, {
        type: "BOOKMARK",
        object: {
          kind: "ConfigMap",
          apiVersion: "v1",
          metadata: { resourceVersion: String(yield* server.revision) }
        }
      })
      yield* TestClock.adjust("60 seconds")
      assert.lengthOf(yield* asked.events, 2)
      yield* TestClock.adjust("28 seconds")
      assert.lengthOf(yield* asked.events, 3)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(asked.fiber)
      yield* Fiber.join(other.fiber)
      assert.deepStrictEqual(yield* other.events, [])
      assert.strictEqual(yield* server.watchers, 0)
    }).pipe(Effect.provide(layer)))

  it.effect("a watch ends in its time, whatever somebody makes of the time of day", () =>
    Effect.gen(function*() {
      const clock = yield* Clock.Clock
      let behind = 0
      const today = () => clock.currentTimeMillisUnsafe() - behind
      const settable = { ...clock, currentTimeMillisUnsafe: today, currentTimeMillis: Effect.sync(today) }
      const { fiber } = yield* Effect.provideService(observe(`${configMaps}?timeoutSeconds=90`), Clock.Clock, settable)
      yield* TestClock.adjust("60 seconds")
      behind = 3_600_000
      yield* TestClock.adjust("30 seconds")
      assert.isDefined(fiber.pollUnsafe())
    }).pipe(Effect.provide(layer)))

  it.effect("sendInitialEvents marks where they end", () =>
    Effect.gen(function*() {
      yield* post(configMaps, configMap("a"))
      const url = `${configMaps}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`
      const { events } = yield* observe(url)
      yield* post(configMaps, configMap("b"))
      const [first, end, next] = yield* events
      assert.strictEqual(show(first!), "ADDED a")
      assert.deepStrictEqual((end as Extract<WireEvent, { type: "BOOKMARK" }>).object.metadata.annotations, {
        [initialEventsEnd]: "true"
      })
      assert.strictEqual(show(next!), "ADDED b")
    }).pipe(Effect.provide(layer)))

  it.effect("a watch ends with its reader and leaves nothing behind", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const { fiber } = yield* observe(configMaps)
      assert.strictEqual(yield* server.watchers, 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* server.watchers, 0)
    }).pipe(Effect.provide(layer)))

  it.effect("a reader that falls too far behind is cut off after what it was given", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const seen = yield* Ref.make(0)
      const fiber = yield* Effect.forkScoped(
        Stream.runForEach(watch(configMaps), () =>
          Effect.andThen(Ref.update(seen, (n) => n + 1), Effect.sleep("1 second")))
      )
      yield* TestClock.adjust(0)
      for (let i = 0; i < 20; i++) {
        yield* post(configMaps, configMap(`a${i}`))
      }
      assert.strictEqual(yield* server.watchers, 0)
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      assert.isBelow(yield* Ref.get(seen), 20)
      assert.isAtLeast(yield* Ref.get(seen), 4)
    }).pipe(Effect.provide(TestClient.layer.pipe(Layer.provideMerge(ApiServer.layerOptions({ watchBacklog: 4 }))))))

  it.effect("the end of a definition ends its watches, after the deletions", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a"))
      const { fiber, shown } = yield* observe(widgets)
      yield* del(`${crds}/widgets.example.com`)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* shown, ["ADDED a", "DELETED a"])
      assert.strictEqual((yield* get(widgets)).status, 404)
    }).pipe(Effect.provide(layer)))

  it.effect("a watch that is read only after its definition is gone tells of the end, and ends", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      yield* post(crds, widgetDefinition())
      const { body } = yield* get(widgets)
      const response = yield* server.handle({
        method: "GET",
        path: widgets,
        query: [["watch", "true"], ["resourceVersion", body.metadata.resourceVersion]],
        headers: {}
      })
      yield* post(widgets, widget("a"))
      yield* del(`${crds}/widgets.example.com`)
      const events = yield* Stream.runCollect(response.events!)
      assert.deepStrictEqual(events.map(show), ["ADDED a", "DELETED a"])
      assert.strictEqual(yield* server.watchers, 0)
    }).pipe(Effect.provide(layer)))

  it.effect("what a fresh server holds has no history", () =>
    Effect.gen(function*() {
      const { events } = yield* observe("/api/v1/namespaces?resourceVersion=1")
      assert.deepInclude((yield* events)[0]?.object, { code: 410, reason: "Expired" })
      const now = yield* observe("/api/v1/namespaces")
      assert.include(yield* now.shown, "ADDED default")
    }).pipe(Effect.provide(layer)))

  it.effect("there is no watch in YAML", () =>
    Effect.gen(function*() {
      const { body, status } = yield* get(`${configMaps}?watch=true`, { accept: "application/yaml" })
      assert.strictEqual(status, 406)
      assert.include(body.message, "application/json;stream=watch")
      assert.strictEqual((yield* get(configMaps, { accept: "application/yaml" })).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("a server can be made to drop all watches", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const { fiber } = yield* observe(configMaps)
      yield* server.endWatches()
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(layer)))
})
