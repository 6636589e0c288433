/**
 * What a new framework must do to be plainly better than controller-runtime: whole operators, where no other test is
 * already by that name (docs/parity.md says which are).
 */
import { Action, Cache, Controller, KubeClient, ServerSideApply, Watch } from "@effect-operator/core"
import { ConfigMap, Secret } from "@effect-operator/k8s/kinds"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Latch, Logger, Random, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  client,
  cluster,
  configMap,
  createWidget,
  down,
  Journal,
  line,
  operate,
  resize,
  Widget,
  type Widget as AWidget
} from "./support.ts"

const app = { app: "w" }

describe("plainly better 1: consistency on by default", () => {
  it.effect("a reconcile reads its own writes under every verb while the watch lags, and may choose not to", () =>
    Effect.gen(function*() {
      const on = yield* line
      const gate = Latch.makeUnsafe(true)
      on.watched = (events) => Stream.tap(events, () => gate.await)
      const seen: Array<readonly [what: string, names: ReadonlyArray<string>]> = []
      const stale: Array<number> = []
      const names = (objects: ReadonlyArray<ConfigMap>) => objects.map(({ metadata }) => metadata.name).toSorted()
      const reconcile = Effect.fnUntraced(function*({ metadata, spec, status }: AWidget) {
        if (status?.size === spec.size) return Action.done
        const client = yield* KubeClient.KubeClient
        const selection = { namespace: metadata.namespace, labels: app }
        const look = (what: string) =>
          Effect.map(Cache.list(ConfigMap, selection), (found) => void seen.push([what, names(found)]))
        yield* gate.close
        const [a] = yield* Effect.forEach(["a", "b", "c"], (name) => client.create(ConfigMap, configMap(name, app)))
        yield* look("create")
        yield* ServerSideApply.apply(ConfigMap, { ...configMap("d", app), data: { k: "v" } })
        yield* look("apply")
        yield* client.patch(ConfigMap, a!, KubeClient.Patch.merge({ metadata: { labels: { app: "other" } } }))
        yield* look("an object that leaves the selector")
        yield* client.delete(ConfigMap, { namespace: metadata.namespace, name: "b" })
        yield* look("delete")
        const watched = yield* Cache.list(ConfigMap, { ...selection, consistency: "watched" })
        stale.push(watched.length)
        yield* client.deleteCollection(ConfigMap, selection)
        // Its answer does not say which of them wait for something: this read waits for the watch.
        yield* Effect.forkChild(Effect.delay(gate.open, "2 seconds"))
        yield* look("deleteCollection")
        const patch = KubeClient.Patch.merge({ status: { size: spec.size } })
        yield* client.patch(Widget, metadata, patch, { subresource: "status" })
        seen.push(["status", [String((yield* Cache.get(Widget, metadata))?.status?.size)]])
        return Action.done
      })
      yield* operate(on, [
        Controller.make("widgets", { for: Widget, watches: [Watch.cached(ConfigMap, { labels: app })], reconcile })
      ])
      yield* TestClock.adjust("1 second")
      yield* createWidget("w", 5)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(seen, [
        ["create", ["a", "b", "c"]],
        ["apply", ["a", "b", "c", "d"]],
        ["an object that leaves the selector", ["b", "c", "d"]],
        ["delete", ["c", "d"]],
        ["deleteCollection", []],
        ["status", ["5"]]
      ])
      assert.deepStrictEqual(stale, [0], "what the watch has shown is nothing")
    }).pipe(Effect.provide(cluster)))
})

describe("plainly better 3: virtual time everywhere", () => {
  /** A failover, an outage with backoff, and a resync, with chance in it. */
  const life = Effect.gen(function*() {
    const journal = new Journal()
    const lease = { namespace: "default", name: "op" }
    const lines = [yield* line, yield* line]
    for (const [i, on] of lines.entries()) {
      const reconcile = ({ spec }: AWidget) =>
        Effect.flatMap(
          Random.next,
          (chance) => chance < 0.5 ? Effect.fail("bad luck") : Effect.as(journal.note(`${i} ${spec.size}`), Action.done)
        )
      yield* operate(on, [Controller.make("widgets", { for: Widget, resync: "20 minutes", reconcile })], {
        leaderElection: { ...lease, identity: `replica-${i}` }
      })
      yield* TestClock.adjust("1 second")
    }
    for (let i = 0; i < 5; i++) yield* createWidget(`w-${i}`, i)
    yield* TestClock.adjust("5 minutes")
    lines[0]!.fault = () => down()
    yield* TestClock.adjust("5 minutes")
    lines[0]!.fault = () => Effect.undefined
    yield* resize("w-3", 30)
    yield* TestClock.adjust("20 minutes")
    const told = lines.map(({ requests }) => requests.map(({ at, method, path }) => `${at} ${method} ${path}`))
    return { journal: journal.entries, told }
  }).pipe(Effect.scoped, Effect.provide(cluster))

  const seeded = (seed: string) => Effect.provide(Random.withSeed(life, seed), TestClock.layer())

  it.effect("a failover, an outage and a resync take a moment, and the same seed gives the same run", () =>
    Effect.gen(function*() {
      const first = yield* seeded("one")
      assert.isTrue(first.journal.some(([, what]) => what === "1 30"), "the standby took over")
      assert.isTrue(first.journal.some(([at]) => at > 20 * 60_000), "a resync")
      assert.isAbove(first.told.flat().length, 500)
      assert.deepStrictEqual(yield* seeded("one"), first)
      assert.notDeepEqual((yield* seeded("two")).told, first.told)
    }))
})

describe("plainly better 5: a queue with guarantees", () => {
  it.effect("a steady flow of changes starves nothing that was there from the start", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      for (let i = 0; i < 50; i++) yield* createWidget(`old-${i}`)
      yield* createWidget("busy-0")
      yield* createWidget("busy-1")
      yield* operate(yield* line, [Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) =>
          Effect.andThen(Effect.sleep("100 millis"), journal.note(metadata.name)).pipe(Effect.as(Action.done))
      })])
      // Two objects that change faster than the one worker works.
      for (let i = 0; i < 600; i++) {
        yield* resize(`busy-${i % 2}`, 10 + i)
        yield* TestClock.adjust("50 millis")
      }
      const old = new Set(journal.words.filter((name) => name.startsWith("old-")))
      assert.strictEqual(old.size, 50, `of ${journal.words.length} reconciles in 30 s`)
    }).pipe(Effect.provide(cluster)))

  it.effect("reasons of merged triggers come together", () =>
    Effect.gen(function*() {
      const reasons: Array<ReadonlyArray<string>> = []
      yield* operate(yield* line, [Controller.make("widgets", {
        for: Widget,
        debounce: "1 second",
        watches: [Watch.make(ConfigMap, { labels: app, map: () => [{ namespace: "default", name: "w" }] })],
        reconcile: (_, context) =>
          Effect.sync(() => {
            reasons.push(context.reasons.map(({ _tag }) => _tag))
            return Action.done
          })
      })])
      yield* TestClock.adjust("5 seconds")
      yield* createWidget("w", 1)
      yield* client.use((client) => client.create(ConfigMap, configMap("m", app)))
      yield* resize("w", 2)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(reasons.length, 1)
      assert.strictEqual(reasons[0]!.length, 3)
    }).pipe(Effect.provide(cluster)))
})

describe("plainly better 8: bounded memory", () => {
  it.effect("reading a kind starts no watch: undeclared it is a defect, live it is a request that is remembered", () =>
    Effect.gen(function*() {
      const on = yield* line
      const outcomes: Array<string> = []
      const undeclared = Cache.list(Secret) as Effect.Effect<unknown>
      yield* operate(on, [Controller.make("widgets", {
        for: Widget,
        reconcile: Effect.fnUntraced(function*() {
          const exit = yield* Effect.exit(undeclared)
          if (Exit.isFailure(exit)) outcomes.push(Cause.pretty(exit.cause))
          for (let i = 0; i < 3; i++) yield* Cache.live(ConfigMap, { namespace: "default", name: "m" })
          return Action.done
        })
      })])
      yield* client.use((client) => client.create(ConfigMap, configMap("m")))
      yield* createWidget("w")
      yield* TestClock.adjust("1 second")
      assert.match(outcomes[0]!, /Secret/)
      assert.strictEqual(on.requests.filter(({ path }) => path.endsWith("/secrets")).length, 0)
      assert.strictEqual(on.reads("configmaps", true).length, 0)
      assert.strictEqual(on.of("GET", "/configmaps/m").length, 1)
    }).pipe(Effect.provide(cluster)))
})

describe("plainly better 11: observability by default", () => {
  it.effect("every line that a reconcile logs says whose it is, and which of all reconciles it was", () =>
    Effect.gen(function*() {
      const ids: Array<string> = []
      const logger = Logger.make<unknown, void>(({ fiber, message }) => {
        if (String(message) !== "at work") return
        const { reconcileID, ...whose } = fiber.getRef(References.CurrentLogAnnotations)
        assert.deepStrictEqual(whose, {
          controller: "widgets",
          controllerGroup: "parity.example.com",
          controllerKind: "Widget",
          namespace: "default",
          name: "w"
        })
        ids.push(String(reconcileID))
      })
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: () => Effect.as(Effect.logInfo("at work"), Action.done)
      })
      yield* Effect.provide(operate(yield* line, [controller]), Logger.layer([logger]))
      yield* createWidget("w", 1)
      yield* TestClock.adjust("1 second")
      yield* resize("w", 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(ids.length, 2)
      assert.strictEqual(new Set(ids).size, 2)
    }).pipe(Effect.provide(cluster)))
})
