/** What users of other TypeScript and high-level frameworks are missing: must-haves, each a test by that name. */
import { Action, Cache, Controller, KubeClient, KubeError, ServerSideApply, Sync, Watch } from "@effect-operator/core"
import { ConfigMap, Lease } from "@effect-operator/k8s/kinds"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  client,
  cluster,
  configMaps,
  createWidget,
  down,
  isWatch,
  Journal,
  type Line,
  line,
  operate,
  refusal,
  resize,
  Widget
} from "./support.ts"

const endWatches = ApiServer.ApiServer.use((server) => server.endWatches())

/** Disturbs the watches of a line when it is run; `relent` is called a minute later. */
interface Trouble {
  readonly begin: (on: Line) => Effect.Effect<unknown, never, ApiServer.ApiServer>
  readonly relent?: (on: Line) => void
  /** Set before the operator starts. */
  readonly prepare?: (on: Line) => void
  /** Whether it shows as a degraded watch; a watch that is slow or silent for a while is no failure. */
  readonly degraded: boolean
}

/** The first watch ends with a value or a failure when somebody says so. */
const struckBy = (strike: Stream.Stream<unknown, KubeError.Transport>): Trouble => {
  const latch = Latch.makeUnsafe()
  let first = true
  return {
    degraded: true,
    prepare: (on) => {
      on.watched = (events) => {
        if (!first) return events
        first = false
        return Stream.merge(events, Stream.drain(Stream.fromEffect(latch.await)).pipe(Stream.concat(strike)))
      }
    },
    begin: () => latch.open
  }
}

/** Watches are answered so, for a minute, once the server has ended those that are open. */
const answered = (answer: (nth: number) => ReturnType<Line["fault"]>): Trouble => ({
  degraded: true,
  begin: (on) => {
    let nth = 0
    on.fault = (request) => isWatch(true)(request) ? answer(nth++) : Effect.undefined
    return endWatches
  },
  relent: (on) => {
    on.fault = () => Effect.undefined
  }
})

/** The first watch falls silent for good. */
const halfOpen = (): Trouble => {
  const open = Latch.makeUnsafe(true)
  let first = true
  return {
    degraded: false,
    prepare: (on) => {
      on.watched = (events) => {
        const held = first ? Stream.tap(events, () => open.await) : events
        first = false
        return held
      }
    },
    begin: () => open.close
  }
}

const errorEvent = (code: number, reason: string) =>
  Stream.make({ type: "ERROR", object: refusal(code, reason).body }).pipe(Stream.concat(Stream.never))

const broken = (message: string) => Stream.fromEffect(down(message))

const troubles: Readonly<Record<string, Trouble>> = {
  "a half-open connection": halfOpen(),
  "a cut in the middle of a line": struckBy(broken("the stream ended inside a line")),
  "a reset connection": struckBy(broken("ECONNRESET")),
  "410 in the stream": { ...struckBy(errorEvent(410, "Expired")), degraded: false },
  "ERROR 500 in the stream": struckBy(errorEvent(500, "InternalError")),
  "410 as the answer": {
    ...answered((nth) => nth === 0 ? Effect.succeed(refusal(410, "Expired")) : Effect.undefined),
    degraded: false
  },
  "429 with Retry-After": answered(() => Effect.succeed(refusal(429, "TooManyRequests", { "retry-after": "20" }))),
  "an auth failure on reconnect": answered(() => Effect.succeed(refusal(401, "Unauthorized"))),
  "a list failure at the start": {
    degraded: true,
    prepare: (on) => {
      on.fault = (request) =>
        request.path.endsWith("/widgets") && isWatch(false)(request)
          ? Effect.succeed(refusal(500, "InternalError"))
          : Effect.undefined
    },
    begin: () => Effect.void,
    relent: (on) => {
      on.fault = () => Effect.undefined
    }
  },
  "a slow body": {
    degraded: false,
    prepare: (on) => {
      on.watched = (events) => Stream.tap(events, () => Effect.sleep("20 seconds"))
    },
    begin: () => Effect.void
  }
}

describe("must-have 1: never silently blind", () => {
  for (const [name, trouble] of Object.entries(troubles)) {
    it.effect(`${name} ${trouble.degraded ? "shows in health and metrics while it lasts" : "mends itself"}, and nothing is missed`, () =>
      Effect.gen(function*() {
        const journal = new Journal()
        const on = yield* line
        trouble.prepare?.(on)
        const { get, readyz } = yield* operate(on, [Controller.make("widgets", {
          for: Widget,
          reconcile: ({ spec }) => Effect.as(journal.note(String(spec.size)), Action.done)
        })])
        yield* TestClock.adjust("10 seconds")
        yield* trouble.begin(on)
        yield* createWidget("a", 7)
        let shown = false
        // Closely at first: a watch is back within the second.
        for (let look = 0; look < 80; look++) {
          const { failures, status } = yield* readyz
          const blind = /effect_operator_watch_degraded\{[^}]*Widget[^}]*\} 1/.test((yield* get("/metrics")).body)
          if (status === 500 && failures.some((line) => line.includes("watch:widgets")) && blind) shown = true
          if (trouble.degraded && status === 200) assert.isFalse(blind)
          yield* TestClock.adjust(look < 25 ? "200 millis" : "1 second")
        }
        assert.strictEqual(shown, trouble.degraded)
        trouble.relent?.(on)
        // Two without an event or a bookmark, and the longest backoff.
        yield* TestClock.adjust("3 minutes")
        assert.deepStrictEqual(new Set(journal.words), new Set(["7"]))
        assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
      }).pipe(Effect.provide(cluster)))
  }
})

describe("must-have 3: own writes are read, and what changes nothing is not written", () => {
  it.effect("an external change inside the window of an own write still reconciles", () =>
    Effect.gen(function*() {
      const on = yield* line
      const gate = Latch.makeUnsafe(true)
      on.watched = (events, { path }) => path.endsWith("/configmaps") ? Stream.tap(events, () => gate.await) : events
      const seen: Array<string | undefined> = []
      yield* operate(on, [Controller.make("widgets", {
        for: Widget,
        watches: [Watch.make(ConfigMap, {
          labels: { app: "w" },
          map: ({ metadata }) => [metadata]
        })],
        reconcile: Effect.fnUntraced(function*({ metadata: { name, namespace }, spec }) {
          const metadata = { namespace, name, labels: { app: "w" } }
          yield* ServerSideApply.apply(ConfigMap, { metadata, data: { size: String(spec.size) } })
          seen.push((yield* Cache.get(ConfigMap, metadata))?.data?.["size"])
          return Action.done
        })
      })])
      yield* createWidget("a", 1)
      yield* TestClock.adjust("1 second")
      const writes = () => on.of("PATCH", "/configmaps/a").length
      assert.strictEqual(writes(), 1)
      // The watch of ConfigMaps lags from here on.
      yield* gate.close
      yield* resize("a", 2)
      yield* TestClock.adjust("1 second")
      for (let i = 0; i < 10; i++) {
        yield* client.use((client) =>
          client.patch(
            Widget,
            { namespace: "default", name: "a" },
            KubeClient.Patch.merge({ metadata: { annotations: { n: String(i) } } })
          )
        )
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual(writes(), 2, "twelve reconciles, two of which had something to write")
      assert.strictEqual(seen.at(-1), "2", "read long before the watch shows it")
      yield* client.use((client) =>
        client.patch(
          ConfigMap,
          { namespace: "default", name: "a" },
          KubeClient.Patch.merge({ data: { size: "somebody else's" } })
        )
      )
      yield* gate.open
      yield* TestClock.adjust("1 second")
      assert.strictEqual(writes(), 3)
      assert.deepStrictEqual((yield* configMaps()).map(({ data }) => data), [{ size: "2" }])
    }).pipe(Effect.provide(cluster)))
})

describe("must-have 4: a cleanup that fails keeps the finalizer, and nobody gives up silently", () => {
  it.effect("a day of failures later it is cleaned up, and goes", () =>
    Effect.gen(function*() {
      let attempts = 0
      let mended = false
      yield* operate(yield* line, [Controller.make("widgets", {
        for: Widget,
        reconcile: () => Effect.succeed(Action.done),
        finalize: () =>
          Effect.suspend(() => {
            attempts += 1
            return mended ? Effect.succeed(Action.done) : attempts % 2 === 0 ? Effect.die("a bug") : Effect.fail("no")
          })
      })])
      yield* createWidget("a")
      yield* TestClock.adjust("1 second")
      const admin = yield* client
      yield* admin.delete(Widget, { namespace: "default", name: "a" })
      yield* TestClock.adjust("24 hours")
      assert.isAbove(attempts, 80)
      const kept = yield* admin.get(Widget, { namespace: "default", name: "a" })
      assert.deepStrictEqual(kept.metadata.finalizers, ["parity.example.com/widgets"])
      mended = true
      yield* TestClock.adjust("17 minutes")
      assert.strictEqual(
        (yield* Effect.flip(admin.get(Widget, { namespace: "default", name: "a" }))).reason._tag,
        "NotFound"
      )
    }).pipe(Effect.provide(cluster)))
})

describe("must-have 6: leadership lost interrupts running reconciles, and standby caches are warm", () => {
  it.effect("the old leader's reconcile is over before the new one's begins, which lists nothing", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const lease = { namespace: "default", name: "op" }
      const replica = (identity: string, on: Line) =>
        operate(on, [Controller.make("widgets", {
          for: Widget,
          reconcile: () =>
            Effect.andThen(journal.note(`${identity} begins`), Effect.sleep("1 hour")).pipe(
              Effect.onInterrupt(() => journal.note(`${identity} is interrupted`)),
              Effect.as(Action.done)
            )
        })], { leaderElection: { ...lease, identity } })
      const [first, second] = [yield* line, yield* line]
      yield* replica("first", first)
      yield* TestClock.adjust("1 second")
      yield* replica("second", second)
      yield* createWidget("a")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(journal.words, ["first begins"])
      const lists = second.reads("widgets", false).length
      assert.strictEqual(lists, 1)
      first.fault = () => down()
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(journal.words, ["first begins", "first is interrupted", "second begins"])
      const [, interrupted, begins] = journal.times
      assert.isAtMost(interrupted!, begins!)
      assert.strictEqual(second.reads("widgets", false).length, lists)
      const { spec } = yield* client.use((client) => client.get(Lease, lease))
      assert.strictEqual(spec?.holderIdentity, "second")
    }).pipe(Effect.provide(cluster)))
})

describe("must-have 7: a pure mode, from parent and observed to desired children", () => {
  const desired = ({ metadata, spec }: Pick<Widget, "metadata" | "spec">) =>
    Array.from(
      { length: spec.size },
      (_, i) => Sync.child(ConfigMap, { metadata: { name: `${metadata.name}-${i}` }, data: { index: String(i) } })
    )

  it.effect("is a function that needs no cluster to be tested, and an operator that converges and prunes", () =>
    Effect.gen(function*() {
      const on = yield* line
      yield* operate(on, [Controller.make("widgets", {
        for: Widget,
        owns: [ConfigMap],
        reconcile: (widget) => Effect.as(Sync.children(widget, [ConfigMap], desired(widget)), Action.done)
      })])
      const widget = yield* createWidget("a", 3)
      assert.deepStrictEqual(desired(widget).map(({ fields }) => fields.metadata.name), ["a-0", "a-1", "a-2"])
      const names = Effect.map(configMaps(), (all) => all.map(({ metadata }) => metadata.name).toSorted())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, ["a-0", "a-1", "a-2"])
      yield* resize("a", 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, ["a-0"])
      yield* client.use((client) => client.delete(ConfigMap, { namespace: "default", name: "a-0" }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, ["a-0"])
      const requests = on.requests.length
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(on.requests.length, requests)
    }).pipe(Effect.provide(cluster)))
})
