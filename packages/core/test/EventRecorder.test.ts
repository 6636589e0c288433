import { EventRecorder, KubeClient, type KubeObject, Supervisor, type Transport } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { type Answer, scripted } from "./support/Scripted.ts"
import { settable } from "./support/Time.ts"

const object = (name: string, more: Partial<KubeObject.ObjectMeta> = {}): KubeObject.KubeObject => ({
  apiVersion: "test.io/v1",
  kind: "Web",
  metadata: { name, namespace: "d", uid: `uid-${name}`, resourceVersion: "7", creationTimestamp: "", ...more }
})
const web = object("web")
const { namespace: _, ...global } = web.metadata
const clusterScoped = { ...web, metadata: global }

interface Body {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly regarding: { readonly namespace?: string; readonly name?: string }
  readonly [field: string]: unknown
}
const bytes = (text: unknown) => new TextEncoder().encode(String(text)).length
const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** What the API refuses of an event, from the validation of kube-apiserver (ValidateEventCreate), each seen there. */
const faults = (body: Body): ReadonlyArray<string> => {
  const { action, metadata, note, reason, regarding, reportingController, reportingInstance, type } = body
  const found: Array<string> = []
  const check = (holds: boolean, what: string) => holds ? undefined : found.push(what)
  const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
  check(metadata.name.length <= 253 && subdomain.test(metadata.name), `name ${metadata.name}`)
  check(
    regarding.namespace === undefined ? metadata.namespace === "default" : regarding.namespace === metadata.namespace,
    "namespace"
  )
  check(microTime.test(String(body["eventTime"])), "eventTime")
  check(type === "Normal" || type === "Warning", "type")
  for (const [field, value] of Object.entries({ action, reason, reportingInstance, reportingController })) {
    check(typeof value === "string" && value !== "" && bytes(value) <= 128, field)
  }
  check(bytes(note) <= 1024, "note")
  return found
}

/** A sink over an API that keeps events, validates them, and can be told to answer otherwise. */
const recorded = (otherwise: (request: Transport.Request, index: number) => Answer | undefined = () => undefined) =>
  Effect.gen(function*() {
    const stored = new Map<string, Body>()
    const { requests, transport } = scripted((request, index): Answer => {
      const answer = otherwise(request, index)
      if (answer !== undefined) return answer
      if (request.method === "POST") {
        const body = request.body as Body
        const found = faults(body)
        if (found.length > 0) return { status: 422, body: found.join() }
        const path = `${request.path}/${body.metadata.name}`
        if (stored.has(path)) {
          const status = { kind: "Status", apiVersion: "v1", reason: "AlreadyExists", code: 409, message: "taken" }
          return { status: 409, body: status }
        }
        stored.set(path, body)
        return { status: 201, body }
      }
      const event = stored.get(request.path)
      if (event === undefined) return { status: 404, body: "not found" }
      Object.assign(event, request.body)
      return { body: event }
    })
    const supervisor = yield* Supervisor.make
    const makeSink = (instance: string) =>
      EventRecorder.makeSink(supervisor, instance).pipe(
        Effect.provideService(KubeClient.KubeClient, KubeClient.make(transport))
      )
    const sink = yield* makeSink("pod-1")
    const events = () => [...stored.values()]
    return { sink, makeSink, requests, stored, events }
  })

describe("EventRecorder", () => {
  it.effect("writes an event that the API accepts, with all its fields", () =>
    Effect.gen(function*() {
      const { events, requests, sink } = yield* recorded()
      yield* TestClock.setTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6))
      const recorder = sink.recorder("webs", web)
      yield* recorder.warning({ reason: "NoRoom", action: "Scale", note: "all full", related: object("pod") })
      yield* sink.flush
      assert.strictEqual(requests[0]!.path, "/apis/events.k8s.io/v1/namespaces/d/events")
      const { metadata, ...event } = events()[0]!
      assert.match(metadata.name, /^web\.[0-9a-f]+$/)
      const ref = { apiVersion: "test.io/v1", kind: "Web", resourceVersion: "7", namespace: "d" }
      assert.deepStrictEqual(event as unknown, {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        eventTime: "2026-01-02T03:04:05.006000Z",
        type: "Warning",
        reason: "NoRoom",
        action: "Scale",
        note: "all full",
        regarding: { ...ref, name: "web", uid: "uid-web" },
        related: { ...ref, name: "pod", uid: "uid-pod" },
        reportingController: "webs",
        reportingInstance: "pod-1"
      })
    }))

  it.effect("writes about another object on behalf of the same controller, each with a limit of its own", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded()
      const own = sink.recorder("webs", object("pod"))
      const about = own.about(web)
      yield* about.normal({ reason: "Recreated", note: "the Pod failed", related: object("pod") })
      yield* own.normal({ reason: "Failed", note: "" })
      for (let i = 0; i < 30; i++) yield* about.warning({ reason: "Full", note: `${i}` })
      yield* own.about(web).about(object("pod")).normal({ reason: "Back", note: "" })
      yield* sink.flush
      assert.deepStrictEqual(
        events().filter(({ reason }) => reason !== "Full").map(({ regarding, reportingController, ...event }) => [
          event["reason"],
          regarding.name,
          reportingController
        ]),
        [["Recreated", "web", "webs"], ["Failed", "pod", "webs"], ["Back", "pod", "webs"]]
      )
      assert.lengthOf(events().filter(({ reason }) => reason === "Full"), 24)
    }))

  it.effect("uses the reason as the action, and writes events about cluster-scoped objects in namespace default", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded()
      yield* sink.recorder("webs", clusterScoped).normal({ reason: "Up", note: "" })
      yield* sink.flush
      const [event] = events()
      assert.deepStrictEqual(
        [event!.metadata.namespace, event!["action"], event!["type"], event!.regarding.namespace],
        ["default", "Up", "Normal", undefined]
      )
    }))

  it.effect("turns repeated events into a series, with patches that count", () =>
    Effect.gen(function*() {
      const { events, requests, sink } = yield* recorded()
      const { normal } = sink.recorder("webs", web)
      for (let i = 0; i < 4; i++) {
        yield* normal({ reason: "Up", note: "n" })
        yield* TestClock.adjust("6 minutes")
      }
      yield* sink.flush
      assert.deepStrictEqual(requests.map(({ method }) => method), ["POST", "PATCH", "PATCH", "PATCH"])
      assert.strictEqual(events().length, 1)
      assert.deepStrictEqual(events()[0]!["series"], { count: 4, lastObservedTime: "1970-01-01T00:18:00.000000Z" })
      assert.strictEqual(requests[1]!.headers["content-type"], "application/merge-patch+json")
    }))

  it.effect("begins a new event after more than six minutes without a repetition", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded()
      const { normal } = sink.recorder("webs", web)
      yield* normal({ reason: "Up", note: "n" })
      yield* TestClock.adjust(EventRecorder.defaults.seriesWindow + 1)
      yield* normal({ reason: "Up", note: "n" })
      yield* sink.flush
      assert.strictEqual(events().length, 2)
      assert.isUndefined(events()[0]!["series"])
    }))

  it.effect("keeps events apart that differ in anything visible", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded()
      const note = { reason: "Up", note: "n" }
      const { normal, warning } = sink.recorder("webs", web)
      yield* normal(note)
      yield* warning(note)
      yield* normal({ ...note, note: "m" })
      yield* normal({ ...note, reason: "Down" })
      yield* normal({ ...note, action: "A" })
      yield* normal({ ...note, related: object("pod") })
      yield* sink.recorder("others", web).normal(note)
      yield* sink.recorder("webs", object("web", { uid: "another" })).normal(note)
      yield* sink.flush
      assert.strictEqual(events().length, 8)
      assert.isTrue(events().every(({ series }) => series === undefined))
    }))

  it.effect("creates the event again when the server has expired it", () =>
    Effect.gen(function*() {
      const { events, requests, sink, stored } = yield* recorded()
      const { normal } = sink.recorder("webs", web)
      yield* normal({ reason: "Up", note: "n" })
      yield* sink.flush
      stored.clear()
      for (let i = 0; i < 2; i++) yield* normal({ reason: "Up", note: "n" })
      yield* sink.flush
      assert.deepStrictEqual(requests.map(({ method }) => method), ["POST", "PATCH", "POST", "PATCH"])
      assert.deepStrictEqual((events()[0]!["series"] as { readonly count: number }).count, 2)
    }))

  it.effect("creates it again as often as the server expires it, with what the server has not counted", () =>
    Effect.gen(function*() {
      const { events, sink, stored } = yield* recorded()
      const { normal } = sink.recorder("webs", web)
      for (let round = 0; round < 3; round++) {
        stored.clear()
        for (let i = 0; i < 3; i++) yield* normal({ reason: "Up", note: "n" })
        yield* sink.flush
        assert.deepStrictEqual(events().map(({ series }) => (series as { readonly count: number }).count), [3])
      }
    }))

  it.effect("a series that the server rejects on stop holds up no other", () =>
    Effect.gen(function*() {
      let refused = ""
      const { events, sink } = yield* recorded(({ method, path }) =>
        method === "PATCH" && (refused === "" || path.endsWith(refused)) ? { status: 403, body: "no" } : undefined
      )
      for (const name of ["a", "b"]) {
        const { normal } = sink.recorder("webs", object(name))
        for (let i = 0; i < 2; i++) yield* normal({ reason: "Up", note: "n" })
      }
      yield* TestClock.adjust(1)
      const [a, b] = events()
      refused = a!.metadata.name
      yield* sink.flush
      assert.isUndefined(a!["series"])
      assert.strictEqual((b!["series"] as { readonly count: number }).count, 2)
    }))

  it.effect("remembers a limited number of series and objects, the most recent ones", () =>
    Effect.gen(function*() {
      const { requests, sink } = yield* recorded()
      const { burst, limitsKept, seriesKept } = EventRecorder.defaults
      const say = (name: string, note = "n") =>
        Effect.andThen(
          sink.recorder("webs", object(name)).normal({ reason: "Up", note }),
          TestClock.adjust(0)
        )
      const made = (name: string) => requests.filter(({ body }) => (body as Body).regarding?.name === name).length
      for (let i = 0; i < burst; i++) yield* say("loud", String(i))
      yield* say("often")
      yield* say("once")
      for (let i = 0; i < Math.max(seriesKept, limitsKept) - 2; i++) yield* say(`other-${i}`)
      yield* say("often")
      yield* say("other-last")
      yield* say("often")
      yield* say("once")
      yield* say("loud", "news")
      assert.deepStrictEqual([made("often"), made("once"), made("loud")], [1, 2, burst + 1])
    }))

  it.effect("truncates long texts by the API's limits, at the end of a character", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded()
      const { normal } = sink.recorder("w".repeat(63), web)
      const long = ["x".repeat(1_024), "x".repeat(1_025), "é".repeat(2_000), `x${"😀".repeat(400)}`]
      for (const [i, note] of long.entries()) {
        yield* normal({ reason: `R${i}${"é".repeat(200)}`, action: "a".repeat(500), note })
      }
      yield* sink.flush
      const notes = events().map(({ note }) => String(note))
      assert.strictEqual(notes.length, 4)
      assert.strictEqual(notes[0], long[0])
      for (const [i, note] of notes.slice(1).entries()) {
        assert.isTrue(note.endsWith("…") && long[i + 1]!.startsWith(note.slice(0, -1)), note)
        assert.isAbove(bytes(note), 1_020)
        assert.notMatch(note, /\ufffd/)
      }
    }))

  it.effect("finds a legal name, whatever the object is called", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded()
      const names = ["system:node:X", "_", "a".repeat(253), `${"a".repeat(199)}-b`, `${"a".repeat(199)}.b`, "a.b.c"]
      for (const name of names) yield* sink.recorder("webs", object(name)).normal({ reason: "Up", note: "n" })
      yield* sink.flush
      const prefixes = events().map(({ metadata }) => metadata.name.replace(/\.[0-9a-f]+$/, ""))
      assert.deepStrictEqual(prefixes, [
        "system-node-x",
        "event",
        "a".repeat(200),
        "a".repeat(199),
        "a".repeat(199),
        "a.b.c"
      ])
    }))

  it.effect("loses nothing to a replica that writes at the same time", () =>
    Effect.gen(function*() {
      const { events, makeSink, sink } = yield* recorded()
      const other = yield* makeSink("pod-2")
      for (const one of [sink, other]) {
        for (const note of ["n", "m"]) yield* one.recorder("webs", web).normal({ reason: "Up", note })
      }
      yield* sink.flush
      yield* other.flush
      assert.strictEqual(events().length, 4)
    }))

  it.effect("never fails: a rejection is logged, and the next event is written", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const answers: ReadonlyArray<Answer> = [{ status: 403, body: "no" }, { status: 500, body: "x" }]
      yield* Effect.gen(function*() {
        const { events, sink } = yield* recorded((_, index) => answers[index])
        const { normal } = sink.recorder("webs", web)
        for (let i = 0; i < 4; i++) yield* normal({ reason: `R${i}`, note: "n" })
        yield* sink.flush
        assert.deepStrictEqual(events().map(({ reason }) => reason), ["R2", "R3"])
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(lines.map((line) => line.replace(/web\.[0-9a-f]+:/, "web.…:")), [
        "event R0 about web was lost: create events.events.k8s.io d/web.…: Forbidden: no",
        "event R1 about web was lost: create events.events.k8s.io d/web.…: ServerError: x"
      ])
    }))

  it.effect("retries unanswered and throttled requests, but not forever", () =>
    Effect.gen(function*() {
      let down = true
      const later: Answer = { status: 429, body: "slow down", headers: { "retry-after": "3" } }
      const { events, requests, sink } = yield* recorded((_, index) =>
        index === 0 ? later : down ? { down: "reset" } : undefined
      )
      const { normal } = sink.recorder("webs", web)
      yield* normal({ reason: "Up", note: "n" })
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(requests.length, 2)
      yield* TestClock.adjust("20 seconds")
      down = false
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(requests.length, 5)
      assert.strictEqual(new Set(requests.map(({ body }) => (body as Body).metadata.name)).size, 1)
      assert.deepStrictEqual(events().map(({ reason }) => reason), ["Up"])
      down = true
      yield* normal({ reason: "Down", note: "n" })
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(requests.length, 5 + EventRecorder.defaults.tries)
      yield* sink.flush
    }))

  it.effect("respects the server's Retry-After for at most one minute, because others wait behind it", () =>
    Effect.gen(function*() {
      const later: Answer = { status: 429, body: "slow down", headers: { "retry-after": "3600" } }
      const { events, sink } = yield* recorded((_, index) => index === 0 ? later : undefined)
      const { normal } = sink.recorder("webs", web)
      yield* normal({ reason: "Up", note: "n" })
      yield* normal({ reason: "Down", note: "n" })
      yield* TestClock.adjust(EventRecorder.defaults.longestRetryAfter - 1)
      assert.deepStrictEqual(events(), [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(events().map(({ reason }) => reason), ["Up", "Down"])
    }))

  it.effect("counts held-back and lost events in metrics, per controller", () =>
    Effect.gen(function*() {
      let down = false
      const { sink } = yield* recorded((request) =>
        down
          ? { down: "reset" }
          : (request.body as { readonly reason?: string }).reason === "No"
          ? { status: 403, body: "no" }
          : undefined
      )
      const { burst, capacity } = EventRecorder.defaults
      const webs = sink.recorder("webs", web)
      for (let i = 0; i < burst + 3; i++) yield* webs.normal({ reason: "Up", note: "n" })
      yield* sink.flush
      // Other notes are held back as well, and those of another controller are not.
      yield* webs.normal({ reason: "Down", note: "m" })
      const dbs = sink.recorder("dbs", web)
      yield* dbs.normal({ reason: "No", note: "n" })
      yield* sink.flush
      down = true
      yield* dbs.normal({ reason: "Up", note: "n" })
      yield* TestClock.adjust(1)
      for (let i = 0; i < capacity + 2; i++) yield* dbs.normal({ reason: "Up", note: "n" })
      const counts = Object.fromEntries(
        (yield* Metric.snapshot).flatMap(({ attributes, id, state }) =>
          id.startsWith("effect_operator_events") && "count" in state
            ? [[`${id} ${attributes?.["controller"]}`, Number(state.count)]]
            : []
        )
      )
      assert.deepStrictEqual(counts, {
        "effect_operator_events_held_back_total webs": 4,
        "effect_operator_events_lost_total webs": 0,
        "effect_operator_events_held_back_total dbs": 0,
        "effect_operator_events_lost_total dbs": 3
      })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())))

  it.effect("an event whose response was lost is not written twice", () =>
    Effect.gen(function*() {
      let lose = true
      const { events, requests, sink, stored } = yield* recorded((request, index) => {
        if (index !== 0 || !lose) return undefined
        lose = false
        stored.set(`${request.path}/${(request.body as Body).metadata.name}`, request.body as Body)
        return { down: "reset" }
      })
      const { normal } = sink.recorder("webs", web)
      for (let i = 0; i < 2; i++) yield* normal({ reason: "Up", note: "n" })
      yield* TestClock.adjust("1 minute")
      yield* sink.flush
      assert.deepStrictEqual(requests.map(({ method }) => method), ["POST", "POST", "PATCH"])
      assert.deepStrictEqual(events().map(({ series }) => series), [{
        count: 2,
        lastObservedTime: "1970-01-01T00:00:00.000000Z"
      }])
    }))

  it.effect("a controller may write 25 events about an object, then one every five minutes; what is held back is counted", () =>
    Effect.gen(function*() {
      const { events, requests, sink } = yield* recorded()
      const { burst, refill } = EventRecorder.defaults
      const { warning } = sink.recorder("webs", web)
      const fail = warning({ reason: "Failed", note: "again" })
      for (let i = 0; i < 100; i++) yield* fail
      yield* TestClock.adjust(1)
      assert.strictEqual(requests.length, burst)
      // Another object, and another controller, have limits of their own.
      yield* sink.recorder("webs", object("other")).normal({ reason: "Up", note: "n" })
      yield* sink.recorder("others", web).normal({ reason: "Up", note: "n" })
      yield* TestClock.adjust(1)
      assert.strictEqual(requests.length, burst + 2)
      // An hour of a failure every ten seconds.
      for (let i = 0; i < 360; i++) {
        yield* fail
        yield* TestClock.adjust("10 seconds")
      }
      assert.approximately(requests.length, burst + 2 + 3_600_000 / refill, 1)
      assert.strictEqual(events().length, 3)
      yield* sink.flush
      const [failed] = events()
      assert.strictEqual((failed!["series"] as { readonly count: number }).count, 460)
      const flushed = requests.length
      yield* sink.flush
      assert.strictEqual(requests.length, flushed)
    }))

  it.effect("setting the clock back silences nothing", () =>
    Effect.gen(function*() {
      const { clock, putBack } = yield* settable
      yield* Effect.gen(function*() {
        const { requests, sink } = yield* recorded()
        const { burst, refill } = EventRecorder.defaults
        const say = (note: string) => sink.recorder("webs", web).warning({ reason: "Failed", note })
        for (let i = 0; i < burst; i++) yield* say(String(i))
        yield* TestClock.adjust(1)
        putBack(3_600_000)
        yield* TestClock.adjust(refill)
        yield* say("news")
        yield* TestClock.adjust(1)
        assert.lengthOf(requests, burst + 1)
      }).pipe(Effect.provideService(Clock.Clock, clock))
    }))

  it.effect("a reconciler whose messages all differ does not flood the server either", () =>
    Effect.gen(function*() {
      const { events, requests, sink } = yield* recorded()
      const { warning } = sink.recorder("webs", web)
      for (let i = 0; i < 500; i++) yield* warning({ reason: "Failed", note: `attempt ${i}` })
      yield* sink.flush
      assert.strictEqual(requests.length, EventRecorder.defaults.burst)
      yield* TestClock.adjust("1 hour")
      for (let i = 0; i < 500; i++) yield* warning({ reason: "Failed", note: `later ${i}` })
      yield* sink.flush
      assert.strictEqual(events().length, EventRecorder.defaults.burst + 12)
    }))

  it.effect("a held-back repetition is reported when the next series begins", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded()
      const { normal } = sink.recorder("webs", web)
      for (let i = 0; i < 30; i++) yield* normal({ reason: "Up", note: "n" })
      yield* TestClock.adjust("1 hour")
      yield* normal({ reason: "Up", note: "n" })
      yield* TestClock.adjust(1)
      const counts = events().map(({ series }) => (series as { readonly count: number } | undefined)?.count)
      assert.deepStrictEqual(counts, [30, undefined])
    }))

  it.effect("a repetition whose patch failed is counted once it can be written", () =>
    Effect.gen(function*() {
      const { events, sink } = yield* recorded((_, index) => index === 1 ? { status: 500, body: "x" } : undefined)
      const { normal } = sink.recorder("webs", web)
      for (let i = 0; i < 3; i++) yield* normal({ reason: "Up", note: "n" })
      yield* sink.flush
      assert.deepStrictEqual((events()[0]!["series"] as { readonly count: number }).count, 3)
    }))

  it.effect("drops events beyond the capacity, and never blocks the reconcile", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const gate = yield* Deferred.make<void>()
      const created: Array<unknown> = []
      const transport: Transport.Transport["Service"] = {
        request: ({ body }) =>
          Effect.map(Deferred.await(gate), () => {
            created.push(body)
            return { status: 201, headers: {}, body }
          }),
        stream: () => Effect.die("no watch here")
      }
      yield* Effect.gen(function*() {
        const sink = yield* EventRecorder.makeSink(yield* Supervisor.make, "pod-1").pipe(
          Effect.provideService(KubeClient.KubeClient, KubeClient.make(transport))
        )
        const { normal } = sink.recorder("webs", web)
        yield* normal({ reason: "First", note: "n" })
        yield* TestClock.adjust(1)
        // The first is being written, so that there is room for as many as the capacity says.
        for (let i = 0; i < EventRecorder.defaults.capacity + 2; i++) {
          yield* sink.recorder("webs", object(`web-${i}`)).normal({ reason: `R${i}`, note: "n" })
        }
        assert.deepStrictEqual(lines, [
          "event R1000 was dropped: more than 1000 events are waiting to be written",
          "event R1001 was dropped: more than 1000 events are waiting to be written"
        ])
        const flushed = yield* Effect.forkChild(sink.flush, { startImmediately: true })
        yield* TestClock.adjust("1 hour")
        assert.isUndefined(flushed.pollUnsafe())
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(flushed)
        assert.strictEqual(created.length, EventRecorder.defaults.capacity + 1)
        yield* sink.flush
      }).pipe(Effect.provide(Logger.layer([logger])))
    }))
})
