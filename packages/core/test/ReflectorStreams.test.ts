import { KubeClient, KubeError, WatchEvent } from "@effect-operator/core"
import * as Reflector from "@effect-operator/core/Reflector"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue, Stream, SubscriptionRef } from "effect"
import { Part } from "./support/Kinds.ts"
import { item, lists, reflect, watchedFrom } from "./support/Reflecting.ts"
import { parameter, Server, statusOf } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const { defaults } = Reflector

describe("Reflector with streaming lists", () => {
  const streaming = (server: Server) => reflect(server).pipe(Effect.provideService(Reflector.ListBy, "Stream"))

  it.effect("the list is the beginning of the watch, which continues", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.streams = true
      for (let i = 0; i < 3; i++) server.put(Part, `p${i}`)
      const reflected = yield* streaming(server)
      assert.isTrue(yield* reflected.synced)
      assert.strictEqual((yield* reflected.status)._tag, "Live")
      server.put(Part, "later")
      yield* settle
      assert.deepStrictEqual(reflected.names(), ["later", "p0", "p1", "p2"])
      assert.strictEqual(server.requests.length, 1)
      assert.strictEqual(parameter(server.requests[0]!, "resourceVersionMatch"), "NotOlderThan")
      assert.strictEqual(parameter(server.requests[0]!, "resourceVersion"), undefined)
      server.watches[0]!.end()
      yield* settle
      assert.deepStrictEqual(watchedFrom(server), [undefined, "14"])
    }))

  it.effect("nothing of it is visible before its end; what comes with the end is", () =>
    Effect.gen(function*() {
      const end = {
        type: "BOOKMARK",
        object: {
          kind: "Part",
          apiVersion: "v1",
          metadata: { resourceVersion: "20", annotations: { [WatchEvent.initialEventsEnd]: "true" } }
        }
      }
      const added = (name: string, rv: number) => ({ type: "ADDED", object: item(name, rv) })
      const chunks = yield* Queue.unbounded<ReadonlyArray<unknown>>()
      const server = new Server(Part)
      const client = KubeClient.make({
        request: server.transport.request,
        stream: () =>
          Effect.succeed({
            status: 200,
            headers: {},
            values: Stream.flatMap(Stream.fromQueue(chunks), Stream.fromIterable)
          })
      })
      const seen: Array<string> = []
      const reflector = yield* Reflector.make(client, Part, {}, {
        replace: (items, rv) => seen.push(`list of ${items.length} at ${rv}`),
        apply: (events) => seen.push(...events.map(({ object, type }) => `${type} ${object.metadata.resourceVersion}`))
      })
      yield* Effect.forkScoped(reflector.run.pipe(Effect.provideService(Reflector.ListBy, "Stream")))
      yield* Queue.offer(chunks, [added("a", 7), added("b", 3)])
      yield* settle
      assert.deepStrictEqual(seen, [])
      assert.strictEqual((yield* SubscriptionRef.get(reflector.status))._tag, "Listing")
      yield* Queue.offer(chunks, [added("c", 12), { type: "DELETED", object: item("a", 19) }, end, added("d", 21)])
      yield* settle
      assert.deepStrictEqual(seen, ["list of 2 at 20", "ADDED 21"])
      assert.strictEqual((yield* SubscriptionRef.get(reflector.status))._tag, "Live")
    }))

  it.effect("a streamed list that falls silent halfway is given up after the idle timeout", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const client = KubeClient.make({
        request: server.transport.request,
        stream: (request) =>
          parameter(request, "sendInitialEvents") === "true"
            ? Effect.succeed({
              status: 200,
              headers: {},
              values: Stream.concat(Stream.make({ type: "ADDED", object: item("b", 7) }), Stream.never)
            })
            : server.transport.stream(request)
      })
      const listed: Array<ReadonlyArray<string>> = []
      const reflector = yield* Reflector.make(client, Part, {}, {
        replace: (items) => listed.push(items.map(({ metadata }) => metadata.name)),
        apply: () => {}
      })
      yield* Effect.forkScoped(reflector.run.pipe(Effect.provideService(Reflector.ListBy, "Stream")))
      yield* pass(defaults.idleTimeout)
      assert.strictEqual((yield* SubscriptionRef.get(reflector.status))._tag, "Degraded")
      yield* pass("1600 millis")
      assert.deepStrictEqual(listed, [["a"]])
      assert.strictEqual((yield* SubscriptionRef.get(reflector.status))._tag, "Live")
    }))

  it.effect("a relist is streamed, swapped in as a whole, and shows only differences", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.streams = true
      for (const name of ["kept", "changed", "deleted"]) server.put(Part, name)
      const reflected = yield* streaming(server)
      reflected.deltas.length = 0
      yield* pass("2 seconds")
      server.hold()
      server.patch(Part, "changed", { spec: { role: "b" } })
      server.delete(Part, "deleted")
      server.put(Part, "new")
      server.compact()
      server.watches[0]!.push({ type: "ERROR", object: statusOf(410, "Expired") })
      server.release()
      yield* settle
      // What the broken watch still brought came first, in order; the list added nothing to it.
      assert.deepStrictEqual([...reflected.deltas].sort(), ["Added new", "Deleted deleted", "Updated changed"])
      assert.strictEqual(lists(server).length, 0)
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  it.effect("a server that refuses gets requests for pages, at once and from then on", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const reflected = yield* streaming(server)
      assert.deepStrictEqual(reflected.names(), ["a"])
      assert.strictEqual((yield* reflected.status)._tag, "Live")
      server.watches[0]!.push({ type: "ERROR", object: statusOf(410, "Expired") })
      yield* settle
      const streamed = server.requests.filter((request) => parameter(request, "sendInitialEvents") === "true")
      assert.strictEqual(streamed.length, 1)
      assert.strictEqual(lists(server).length, 2)
    }))

  it.effect("a server that does not know the parameter shows it by a bookmark without the annotation", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.streams = true
      server.put(Part, "a")
      const { initialEventsEnd } = WatchEvent
      const reflector = yield* Reflector.make(forgetful(server, initialEventsEnd), Part, {}, {
        replace: (items) => listed.push(items.length),
        apply: () => {}
      })
      const listed: Array<number> = []
      yield* Effect.forkScoped(reflector.run.pipe(Effect.provideService(Reflector.ListBy, "Stream")))
      yield* settle
      assert.deepStrictEqual(listed, [1])
      assert.strictEqual(lists(server).length, 1)
    }))

  it.effect("a stream that breaks halfway is followed, after a pause, by pages; the next list is a stream again", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.streams = true
      server.put(Part, "a")
      let broken = 0
      server.fault = (request) =>
        parameter(request, "sendInitialEvents") === "true" && broken++ === 0
          ? Effect.fail(new KubeError.Transport({ message: "connection reset" }))
          : Effect.undefined
      const reflected = yield* streaming(server)
      assert.strictEqual((yield* reflected.status)._tag, "Degraded")
      yield* pass("1600 millis")
      assert.strictEqual(lists(server).length, 1)
      assert.deepStrictEqual(reflected.names(), ["a"])
      yield* pass("2 minutes")
      server.watches[0]!.push({ type: "ERROR", object: statusOf(410, "Expired") })
      yield* settle
      assert.strictEqual(lists(server).length, 1)
      assert.strictEqual(broken, 2)
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))
})

/** The client of a server that leaves an annotation out. */
const forgetful = (server: Server, annotation: string) =>
  KubeClient.make({
    ...server.transport,
    stream: (request) =>
      Effect.map(server.transport.stream(request), (response) => ({
        ...response,
        values: Stream.map(
          response.values,
          (value): unknown => JSON.parse(JSON.stringify(value).replaceAll(annotation, "other"))
        )
      }))
  })
