import { Backoff, KubeClient, KubeError, type Transport } from "@effect-operator/core"
import * as Reflector from "@effect-operator/core/Reflector"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Random, Stream, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { Part } from "./support/Kinds.ts"
import { Prng } from "./support/Prng.ts"
import { failWhile, item, lists, opened, reflect, type Reflected, watchedFrom } from "./support/Reflecting.ts"
import { isWatch, parameter, refuse, Server, statusOf } from "./support/Server.ts"
import { pass, settable, settle } from "./support/Time.ts"

const { defaults } = Reflector

describe("Reflector", () => {
  it.effect("lists in pages, swaps in the whole list, and watches from its resourceVersion", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      for (let i = 0; i < 1201; i++) server.put(Part, `p${i}`)
      const listed = server.rv
      const sizes: Array<number> = []
      server.fault = () => Effect.as(Effect.sync(() => sizes.push(reflected?.store.size ?? 0)), undefined)
      let reflected: Reflected | undefined
      reflected = yield* reflect(server)
      assert.deepStrictEqual(lists(server).map((request) => parameter(request, "limit")), ["500", "500", "500"])
      assert.deepStrictEqual(watchedFrom(server), [String(listed)])
      assert.strictEqual(reflected.store.size, 1201)
      assert.isTrue(yield* reflected.synced)
      assert.deepStrictEqual(yield* reflected.status, { _tag: "Live", since: 0 })
      server.put(Part, "late")
      yield* settle
      assert.strictEqual(reflected.store.size, 1202)
    }))

  it.effect("reports every sign of life, and a change only if its state changes", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const told: Array<Reflector.Status> = []
      const reflected = yield* reflect(server)
      yield* Effect.forkScoped(Stream.runForEach(reflected.changes, (now) => Effect.sync(() => told.push(now))))
      yield* pass("10 seconds")
      assert.strictEqual(reflected.lastEventAt(), 0)
      server.put(Part, "a")
      yield* pass("10 seconds")
      assert.strictEqual(reflected.lastEventAt(), 10_000)
      server.watches[0]?.bookmark(server.rv)
      yield* pass("10 seconds")
      assert.strictEqual(reflected.lastEventAt(), 20_000)
      assert.deepStrictEqual(told, [{ _tag: "Live", since: 0 }])
    }))

  it.effect("nothing of a list is visible before its last page", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      for (let i = 0; i < 501; i++) server.put(Part, `p${i}`)
      failWhile(server, (request) => parameter(request, "continue") !== undefined, Effect.never)
      const reflected = yield* reflect(server)
      assert.strictEqual(reflected.store.size, 0)
      assert.isFalse(yield* reflected.synced)
      assert.strictEqual((yield* reflected.status)._tag, "Listing")
    }))

  it.effect("requests bookmarks, and an end after five to ten minutes", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      yield* reflect(server)
      for (let i = 0; i < 20; i++) {
        yield* pass("1 minute")
        server.watches[0]?.end()
        yield* settle
      }
      const timeouts = opened(server).map((request) => Number(parameter(request, "timeoutSeconds")))
      assert.isTrue(timeouts.length > 20 && timeouts.every((seconds) => seconds >= 300 && seconds <= 600))
      assert.isAbove(new Set(timeouts).size, 5)
      assert.isTrue(opened(server).every((request) => parameter(request, "allowWatchBookmarks") === "true"))
    }))

  it.effect("resumes at once after an end, from the last event or bookmark, without a list", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reflected = yield* reflect(server)
      server.put(Part, "a")
      yield* settle
      const event = server.rv
      server.watches[0]!.end()
      yield* settle
      server.advance(100)
      server.watches[0]!.bookmark(server.rv)
      yield* settle
      server.watches[0]!.end()
      yield* settle
      assert.deepStrictEqual(watchedFrom(server), ["10", String(event), String(server.rv)])
      assert.strictEqual(lists(server).length, 1)
      server.put(Part, "b")
      yield* settle
      assert.deepStrictEqual(reflected.names(), ["a", "b"])
      assert.deepStrictEqual(reflected.deltas, ["Added a", "Added b"])
    }))

  it.effect("a broken connection resumes after a delay, with everything that happened meanwhile and nothing twice", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reflected = yield* reflect(server)
      server.put(Part, "a")
      yield* settle
      server.watches[0]!.break()
      yield* settle
      server.put(Part, "b")
      const status = yield* reflected.status
      assert.strictEqual(status._tag === "Degraded" ? status.reason.message : status._tag, "connection reset")
      yield* pass("1600 millis")
      assert.deepStrictEqual(reflected.deltas, ["Added a", "Added b"])
      assert.strictEqual(lists(server).length, 1)
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  for (const form of ["status", "event"] as const) {
    it.effect(`410 as ${form} leads to a list at once, of which only differences are visible`, () =>
      Effect.gen(function*() {
        const server = new Server(Part)
        for (const name of ["kept", "changed", "deleted"]) server.put(Part, name)
        const reflected = yield* reflect(server)
        reflected.deltas.length = 0
        yield* pass("2 seconds")
        server.hold()
        server.patch(Part, "changed", { spec: { role: "b" } })
        server.delete(Part, "deleted")
        server.put(Part, "new")
        server.compact()
        const [watch] = server.watches
        if (form === "event") watch!.push({ type: "ERROR", object: statusOf(410, "Expired", "too old") })
        else watch!.end()
        server.release()
        yield* settle
        assert.deepStrictEqual(reflected.deltas, ["Deleted deleted", "Updated changed", "Added new"])
        assert.strictEqual(lists(server).length, 2)
        assert.strictEqual((yield* reflected.status)._tag, "Live")
        server.put(Part, "later")
        yield* settle
        assert.deepStrictEqual(reflected.names(), ["changed", "kept", "later", "new"])
      }))
  }

  it.effect("a relist is reported as such, not as a healthy watch", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reflected = yield* reflect(server)
      failWhile(server, (request) => !isWatch(request), Effect.never)
      server.watches[0]!.push({ type: "ERROR", object: statusOf(410, "Expired") })
      yield* settle
      assert.deepStrictEqual(yield* reflected.status, { _tag: "Listing" })
    }))

  it.effect("repeated 410s back off, and alternate with lists", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      failWhile(server, isWatch, Effect.succeed(refuse(410, "Expired")))
      const reflected = yield* reflect(server)
      assert.strictEqual(lists(server).length, 2)
      yield* pass("2 minutes")
      assert.isBelow(lists(server).length, 10)
      assert.isAbove(lists(server).length, 4)
      assert.strictEqual((yield* reflected.status)._tag, "Degraded")
    }))

  it.effect("a resourceVersion that goes back is rejected: first the events with it, then a list", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const reflected = yield* reflect(server)
      server.watches[0]!.push(
        { type: "ADDED", object: item("good", 99) },
        { type: "ADDED", object: item("bad", 5) }
      )
      yield* settle
      assert.deepStrictEqual(reflected.names(), ["a"])
      const status = yield* reflected.status
      assert.include(status._tag === "Degraded" ? status.reason.message : "", "went back from 99 to 5")
      assert.strictEqual(server.watches.length, 0)
      yield* pass("1600 millis")
      assert.strictEqual(lists(server).length, 2)
      assert.deepStrictEqual(reflected.names(), ["a"])
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  it.effect("a server restored from a backup is checked once its watch has shown nothing, and listed", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "old")
      const reflected = yield* reflect(server)
      const restore = server.backup()
      server.advance(1_000)
      server.put(Part, "lost")
      yield* settle
      assert.deepStrictEqual(reflected.names(), ["lost", "old"])
      restore()
      yield* pass("10 seconds")
      server.put(Part, "new")
      yield* pass(defaults.idleTimeout - 10_000)
      assert.deepStrictEqual(reflected.names(), ["lost", "old"], "it watches from where the server has not been yet")
      yield* pass("10 seconds")
      assert.deepStrictEqual(reflected.names(), ["new", "old"])
      assert.deepStrictEqual(lists(server).map((request) => parameter(request, "limit")), ["500", "1", "500"])
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  it.effect("a server is checked after a connection broke, unless it has shown something since", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reflected = yield* reflect(server)
      const looks = () => lists(server).length - 1
      // Idle, or ended in time: nobody else can have come.
      yield* pass("1 hour")
      for (let i = 0; i < 6; i++) {
        server.watches[0]!.bookmark(server.rv)
        yield* pass("1 minute")
      }
      server.watches[0]!.end()
      yield* pass("1 hour")
      assert.strictEqual(looks(), 0)
      server.watches[0]!.break()
      yield* pass("10 seconds")
      server.watches[0]!.bookmark(server.rv)
      yield* pass("1 hour")
      assert.strictEqual(looks(), 0)
      server.watches[0]!.break()
      yield* pass("1 hour")
      assert.strictEqual(looks(), 1)
      // A server that stops says goodbye, and whoever comes after it need not be it.
      yield* pass("10 seconds")
      server.watches[0]!.end()
      yield* pass("1 hour")
      assert.strictEqual(looks(), 2)
      failWhile(server, (request) => !isWatch(request), Effect.fail(new KubeError.Transport({ message: "away" })))
      server.watches[0]!.break()
      yield* pass("5 minutes")
      assert.isAbove(looks(), 2)
      assert.deepStrictEqual(reflected.names(), [])
      const row = looks()
      server.fault = () => Effect.undefined
      yield* pass("1 hour")
      assert.strictEqual(looks(), row + 1)
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  it.effect("a silent connection is given up after the idle timeout, and resumed", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reflected = yield* reflect(server)
      yield* pass(defaults.idleTimeout - 1)
      assert.strictEqual(opened(server).length, 1)
      server.watches[0]!.bookmark(50)
      yield* pass(defaults.idleTimeout - 1)
      assert.strictEqual(opened(server).length, 1)
      const [silent] = server.watches
      yield* pass(1)
      assert.deepStrictEqual(watchedFrom(server), ["10", "50"])
      assert.notInclude(server.watches, silent)
      server.advance(100)
      server.put(Part, "a")
      yield* settle
      assert.deepStrictEqual(reflected.names(), ["a"])
    }))

  it.effect("a watch that the server never answers is not healthy", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      failWhile(server, isWatch, Effect.never)
      const reflected = yield* reflect(server)
      assert.notStrictEqual((yield* reflected.status)._tag, "Live")
      yield* pass(defaults.idleTimeout)
      assert.strictEqual((yield* reflected.status)._tag, "Degraded")
      // Again and again it is a row of failures, though each takes its time.
      yield* pass("10 minutes")
      const status = yield* reflected.status
      assert.isAbove(status._tag === "Degraded" ? status.failures : 0, 2)
      server.fault = () => Effect.undefined
      yield* pass("3 minutes")
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  it.effect("a server that is too slow for a page gets requests for smaller ones from then on", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      for (let i = 0; i < 200; i++) server.put(Part, `p${i}`)
      const tooMany = (request: Transport.Request) => !isWatch(request) && Number(parameter(request, "limit")) > 125
      const limits = () => lists(server).map((request) => Number(parameter(request, "limit")))
      failWhile(server, tooMany, Effect.never)
      const reflected = yield* reflect(server)
      yield* pass("5 minutes")
      assert.deepStrictEqual(limits(), [500, 250, 125, 125])
      assert.strictEqual(reflected.names().length, 200)
      assert.strictEqual((yield* reflected.status)._tag, "Live")
      server.watches[0]!.push({ type: "ERROR", object: statusOf(410, "Expired") })
      yield* pass("1 minute")
      assert.deepStrictEqual(limits().slice(4), [125, 125])
      // What a server says of itself in time has nothing to do with how much it was asked for.
      failWhile(server, (request) => !isWatch(request), Effect.succeed(refuse(503, "ServiceUnavailable")))
      server.watches[0]!.push({ type: "ERROR", object: statusOf(410, "Expired") })
      yield* pass("1 minute")
      assert.deepStrictEqual(new Set(limits().slice(6)), new Set([125]))
      // But that it gave up itself has.
      failWhile(server, (request) => !isWatch(request), Effect.succeed(refuse(504, "Timeout")))
      yield* pass("10 minutes")
      assert.deepStrictEqual(new Set(limits().slice(-5)), new Set([25]))
    }))

  it.effect("a list that the server never answers is given up and retried", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      failWhile(server, (request) => !isWatch(request), Effect.never)
      const reflected = yield* reflect(server)
      yield* pass(defaults.listTimeout)
      assert.strictEqual((yield* reflected.status)._tag, "Degraded")
      server.fault = () => Effect.undefined
      yield* pass("1600 millis")
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  it.effect("backs off exactly: 800 ms doubled to 30 s, each with jitter from Random (seed printed)", () =>
    Effect.gen(function*() {
      const seed = "reflector-1"
      const server = new Server(Part)
      const times = failWhile(server, () => true, Effect.succeed(refuse(500, "InternalError")))
      const draws = yield* Effect.all(Array.from({ length: 12 }, () => Random.next)).pipe(Random.withSeed(seed))
      const reflected = yield* reflect(server).pipe(Random.withSeed(seed))
      yield* pass("5 minutes")
      let at = 0
      const expected = [0, ...draws.map((draw, i) => at += Backoff.delay(defaults.backoff, i + 1, draw))]
      const seen = times.map(Math.round)
      assert.isAtLeast(seen.length, 8)
      assert.deepStrictEqual(seen, expected.slice(0, seen.length).map(Math.round), `seed ${seed}`)
      const status = yield* reflected.status
      assert.deepStrictEqual(
        status._tag === "Degraded" ? [status.since, status.failures] : status._tag,
        [0, seen.length]
      )
    }))

  it.effect("two minutes of health reset earlier failures; less does not", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      failWhile(server, () => true, Effect.succeed(refuse(500, "InternalError")))
      const reflected = yield* reflect(server)
      yield* pass("2 minutes")
      server.fault = () => Effect.undefined
      yield* pass("1 minute")
      const failures = Effect.map(reflected.status, (status) => status._tag === "Degraded" ? status.failures : 0)
      assert.strictEqual(yield* failures, 0)
      server.watches[0]!.break()
      yield* settle
      assert.isAbove(yield* failures, 5)
      yield* pass("1 minute")
      const health = (yield* reflected.status) as { readonly since: number }
      server.watches[0]!.bookmark(60)
      yield* TestClock.setTime(health.since + defaults.resetAfter)
      server.watches[0]!.break()
      yield* settle
      assert.strictEqual(yield* failures, 1)
    }))

  it.effect("how long a watch lasted and was healthy does not depend on the time of day, which can be set", () =>
    Effect.gen(function*() {
      const { clock, putBack } = yield* settable
      const server = new Server(Part)
      failWhile(server, () => true, Effect.succeed(refuse(500, "InternalError")))
      const reflected = yield* Effect.provideService(reflect(server), Clock.Clock, clock)
      yield* pass("2 minutes")
      server.fault = () => Effect.undefined
      yield* pass("1 minute")
      const failures = Effect.map(reflected.status, (status) => status._tag === "Degraded" ? status.failures : 0)
      putBack(3_600_000)
      server.watches[0]!.end()
      yield* settle
      assert.strictEqual(yield* failures, 0, "a minute is not too short")
      yield* pass("1 minute")
      server.watches[0]!.bookmark(server.rv)
      yield* pass("1 minute")
      server.watches[0]!.break()
      yield* settle
      assert.strictEqual(yield* failures, 1, "it was healthy for more than two minutes")
    }))

  for (
    const [what, answer, tag] of [
      ["a kind that is not served yet", refuse(404, "NotFound"), "NotFound"],
      ["a permission that is missing", refuse(403, "Forbidden"), "Forbidden"]
    ] as const
  ) {
    it.effect(`${what} is reported, and the watch starts by itself once it is available`, () =>
      Effect.gen(function*() {
        const server = new Server(Part)
        server.put(Part, "a")
        failWhile(server, () => true, Effect.succeed(answer))
        const reflected = yield* reflect(server)
        yield* pass("10 minutes")
        const status = yield* reflected.status
        assert.strictEqual(status._tag === "Degraded" ? status.reason._tag : status._tag, tag)
        assert.isFalse(yield* reflected.synced)
        server.fault = () => Effect.undefined
        yield* pass("1 minute")
        assert.strictEqual((yield* reflected.status)._tag, "Live")
        assert.isTrue(yield* reflected.synced)
        assert.deepStrictEqual(reflected.names(), ["a"])
      }))
  }

  it.effect("a kind that is removed while it is watched is reported, and resumed where it was left", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reflected = yield* reflect(server)
      failWhile(server, () => true, Effect.succeed(refuse(404, "NotFound")))
      server.watches[0]!.break()
      yield* pass("1 minute")
      const status = yield* reflected.status
      assert.strictEqual(status._tag === "Degraded" ? status.reason._tag : status._tag, "NotFound")
      // Since the connection broke, though the reason is another now.
      assert.strictEqual(status._tag === "Degraded" ? status.since : -1, 0)
      server.fault = () => Effect.undefined
      server.put(Part, "a")
      yield* pass("1 minute")
      assert.deepStrictEqual(reflected.names(), ["a"])
    }))

  it.effect("a continue token that expires halfway leads to one consistent list", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      for (let i = 0; i < 1100; i++) server.put(Part, `p${i}`)
      let pages = 0
      server.fault = (request) =>
        Effect.sync(() => {
          if (parameter(request, "continue") !== undefined && ++pages === 2) {
            server.delete(Part, "p0")
            server.compact()
          }
          return undefined
        })
      const reflected = yield* reflect(server)
      assert.deepStrictEqual(lists(server).map((request) => parameter(request, "limit")), [
        "500",
        "500",
        "500",
        undefined
      ])
      assert.strictEqual(reflected.store.size, 1099)
      assert.strictEqual(reflected.deltas.length, 1099)
      assert.strictEqual((yield* reflected.status)._tag, "Live")
    }))

  it.effect("respects the server's Retry-After, up to five minutes", () =>
    Effect.gen(function*() {
      for (const [seconds, expected] of [[20, 20_000], [86_400, defaults.longestRetryAfter]] as const) {
        yield* Effect.scoped(Effect.gen(function*() {
          const server = new Server(Part)
          const tooMany = refuse(429, "TooManyRequests", "slow down", { retryAfterSeconds: seconds })
          const times = failWhile(server, () => true, Effect.succeed(tooMany))
          const started = yield* Clock.currentTimeMillis
          const reflected = yield* reflect(server)
          yield* pass(expected - 1)
          assert.strictEqual(times.length, 1)
          const status = yield* reflected.status
          assert.strictEqual(status._tag === "Degraded" ? status.reason._tag : status._tag, "TooManyRequests")
          yield* pass(1)
          assert.deepStrictEqual(times.map((at) => at - started), [0, expected])
        }))
      }
    }))

  for (
    const [what, break_, tag] of [
      ["an in-stream error", (server: Server) => {
        server.watches[0]!.push({ type: "ERROR", object: statusOf(500, "InternalError", "etcd is away") })
      }, "ServerError"],
      ["an event that is none", (server: Server) => server.watches[0]!.push({ type: "NONE" } as never), "Decode"]
    ] as const
  ) {
    it.effect(`${what} is visible, and the watch resumes where it was, without a list`, () =>
      Effect.gen(function*() {
        const server = new Server(Part)
        const reflected = yield* reflect(server)
        server.put(Part, "a")
        yield* settle
        break_(server)
        server.put(Part, "b")
        yield* settle
        const status = yield* reflected.status
        assert.strictEqual(status._tag === "Degraded" ? status.reason._tag : status._tag, tag)
        yield* pass("1600 millis")
        assert.deepStrictEqual(reflected.deltas, ["Added a", "Added b"])
        assert.deepStrictEqual(watchedFrom(server), ["10", "11"])
        assert.strictEqual(lists(server).length, 1)
      }))
  }

  it.effect("ten minutes without any response cost one list at most, and few requests (virtual time)", () =>
    Effect.gen(function*() {
      for (const compacted of [false, true]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const server = new Server(Part)
          const reflected = yield* reflect(server)
          const listed = lists(server).length
          const refused = failWhile(server, () => true, Effect.fail(new KubeError.Transport({ message: "refused" })))
          server.watches[0]!.break()
          yield* pass("10 minutes")
          assert.isAtMost(refused.length, 26)
          server.put(Part, "meanwhile")
          if (compacted) server.compact()
          const before = server.requests.length
          server.fault = () => Effect.undefined
          yield* pass("1 minute")
          assert.strictEqual((yield* reflected.status)._tag, "Live")
          assert.deepStrictEqual(reflected.deltas, ["Added meanwhile"])
          assert.strictEqual(lists(server).length - listed, compacted ? 1 : 0)
          assert.isAtMost(server.requests.length - before, 3)
        }))
      }
    }))

  it.effect("a server that sends the start of the watch and closes is not asked again at once forever", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const times: Array<number> = []
      const client = KubeClient.make({
        ...server.transport,
        stream: (request) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            times.push(now)
            const metadata = { resourceVersion: parameter(request, "resourceVersion") }
            const began = { type: "BOOKMARK", object: { apiVersion: "v1", kind: "Part", metadata } }
            return { status: 200, headers: {}, values: Stream.make(began) }
          })
      })
      const reflector = yield* Reflector.make(client, Part, {}, { replace: () => {}, apply: () => {} })
      yield* Effect.forkScoped(reflector.run)
      yield* pass("1 minute")
      assert.isAtMost(times.length, 10)
      assert.strictEqual((yield* SubscriptionRef.get(reflector.status))._tag, "Degraded")
    }))

  it.effect("interruption closes the watch", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const reflector = yield* Reflector.make(server.client, Part, {}, { replace: () => {}, apply: () => {} })
      const fiber = yield* Effect.forkChild(reflector.run)
      yield* settle
      assert.strictEqual(server.watches.length, 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(server.watches.length, 0)
    }))

  it.effect("follows a server exactly through any faults (300 random runs)", () =>
    Effect.gen(function*() {
      const first = Number(process.env["SEED"] ?? 1)
      for (let seed = first; seed < first + (process.env["SEED"] === undefined ? 300 : 1); seed++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const random = new Prng(seed)
          const server = new Server(Part)
          server.streams = random.chance(0.5)
          const faults = [
            Effect.succeed(refuse(500, "InternalError")),
            Effect.succeed(refuse(410, "Expired")),
            Effect.succeed(refuse(429, "TooManyRequests")),
            Effect.fail(new KubeError.Transport({ message: "refused" })),
            Effect.never
          ]
          server.fault = () => random.chance(0.2) ? random.pick(faults) : Effect.undefined
          const by = random.chance(0.5) ? "Stream" : "Pages"
          const reflected = yield* Effect.provideService(reflect(server), Reflector.ListBy, by)
          for (let i = 0; i < 40; i++) {
            const name = `p${random.int(0, 4)}`
            const dice = random.next()
            if (dice < 0.4) server.put(Part, name, { spec: { role: String(i) } })
            else if (dice < 0.55) server.delete(Part, name)
            else if (dice < 0.65) server.watches[0]?.end()
            else if (dice < 0.75) server.watches[0]?.break()
            else if (dice < 0.8) server.compact()
            else if (dice < 0.85) server.watches[0]?.push({ type: "ERROR", object: statusOf(410, "Expired") })
            else if (dice < 0.9) server.hold()
            else if (dice < 0.95) server.release()
            yield* TestClock.adjust(random.int(0, 3000))
          }
          server.release()
          server.fault = () => Effect.undefined
          yield* pass("5 minutes")
          const expected = server.objects(Part).map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
          const seen = [...reflected.store.values()].map(({ metadata }) =>
            `${metadata.name} ${metadata.resourceVersion}`
          )
          assert.deepStrictEqual(seen.sort(), expected.sort(), `SEED=${seed}`)
          assert.strictEqual((yield* reflected.status)._tag, "Live", `SEED=${seed}`)
        })).pipe(Random.withSeed(String(seed)))
      }
    }))
})
