/** The defects of skuber-operator in its election and its finalizers: none of them is here. */
import { Action, Controller, KubeClient } from "@effect-operator/core"
import { Lease, Namespace } from "@effect-operator/k8s/kinds"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  client,
  cluster,
  createWidget,
  down,
  Journal,
  type Line,
  line,
  operate,
  refusal,
  resize,
  Widget
} from "./support.ts"

const lease = { namespace: "default", name: "op" }
const holder = client.use((client) => client.get(Lease, lease)).pipe(Effect.map(({ spec }) => spec?.holderIdentity))

/** A replica that notes who reconciles which size. */
const replica = (identity: string, journal: Journal, on: Line) =>
  operate(on, [
    Controller.make("widgets", {
      for: Widget,
      reconcile: ({ spec }) => Effect.as(journal.note(`${identity} ${spec.size}`), Action.done)
    })
  ], { leaderElection: { ...lease, identity } })

describe("skuber-operator's defects: election", () => {
  it.effect("defect 10a: one failed renewal does not end a leadership", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const on = yield* line
      const { manager } = yield* replica("one", journal, on)
      yield* TestClock.adjust("1 minute")
      const status = Effect.map(manager.report, ({ leases }) => leases[0]!.status)
      const before = yield* status
      assert.strictEqual(before._tag, "Leading")
      let failures = 0
      on.fault = ({ method }) => method === "PUT" && failures++ < 2 ? down() : Effect.undefined
      for (let second = 0; second < 60; second++) {
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* status, before, "since the same moment")
      }
      assert.isAbove(failures, 2)
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 10b: the lease is held while the caches take longer to fill than it lasts", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const slow = yield* line
      slow.latency = ({ path }) => path.endsWith("/widgets") ? Effect.sleep("80 seconds") : Effect.void
      yield* createWidget("a", 1)
      yield* replica("slow", journal, slow)
      yield* TestClock.adjust("1 second")
      const other = yield* line
      yield* replica("other", journal, other)
      for (let second = 0; second < 100; second++) {
        assert.strictEqual(yield* holder, "slow")
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual(journal.words, ["slow 1"])
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 10c: a start that fails leaves the election alive", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const on = yield* line
      on.fault = () => Effect.succeed(refusal(503, "ServiceUnavailable"))
      yield* createWidget("a", 1)
      yield* replica("one", journal, on)
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(journal.words, [])
      on.fault = () => Effect.undefined
      // The longest that a reflector waits before it asks again, 30 s with all their jitter, and a moment more.
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(yield* holder, "one")
      assert.deepStrictEqual(journal.words, ["one 1"])
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 10d: who leads again has one watch, and reconciles a change once", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const [first, second] = [yield* line, yield* line]
      yield* replica("first", journal, first)
      yield* TestClock.adjust("1 second")
      const other = yield* replica("second", journal, second)
      yield* createWidget("a", 1)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(journal.words, ["first 1"])
      // Only its renewals fail: the watches of the one that lost go on.
      first.fault = ({ method, path }) => method !== "GET" && path.includes("/leases") ? down() : Effect.undefined
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(yield* holder, "second")
      yield* resize("a", 2)
      yield* TestClock.adjust("5 seconds")
      first.fault = () => Effect.undefined
      yield* other.stop
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* holder, "first")
      const before = journal.words.length
      yield* resize("a", 3)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(journal.words.slice(before), ["first 3"])
      assert.include(journal.words, "second 2")
      assert.notInclude(journal.words.slice(0, before), "second 3")
      const watches = first.reads("widgets", true)
      assert.strictEqual(watches.length, 1)
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 10e: a stop is over when the lease is given back, and no sooner", () =>
    Effect.gen(function*() {
      const on = yield* line
      const { manager, stop } = yield* replica("one", new Journal(), on)
      yield* manager.ready
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* holder, "one")
      yield* stop
      assert.include(["", undefined], yield* holder)
    }).pipe(Effect.provide(cluster)))
})

describe("skuber-operator's defects: finalizers", () => {
  it.effect("defect 12: a finalizer is written in the object's namespace, and others' are never lost", () =>
    Effect.gen(function*() {
      const admin = yield* client
      yield* admin.create(Namespace, { metadata: { name: "shop" } })
      const key = { namespace: "shop", name: "a" }
      const journal = new Journal()
      const on = yield* line
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: () => Effect.succeed(Action.done),
        finalize: () => Effect.as(journal.note("cleaned up"), Action.done)
      })
      const theirs = ["example.com/one", "example.com/two"]
      /** What somebody else makes of the list, between the operator's read and its write. */
      const racing: Array<(finalizers: ReadonlyArray<string>) => ReadonlyArray<string>> = theirs.map(
        (name) => (finalizers) => [name, ...finalizers]
      )
      on.fault = ({ method }) => {
        const change = method === "PATCH" ? racing.shift() : undefined
        return change === undefined ? Effect.undefined : admin.get(Widget, key).pipe(
          Effect.flatMap(({ metadata }) =>
            admin.patch(
              Widget,
              key,
              KubeClient.Patch.merge({ metadata: { finalizers: change(metadata.finalizers ?? []) } })
            )
          ),
          Effect.orDie,
          Effect.andThen(Effect.undefined)
        )
      }
      yield* operate(on, [controller])
      yield* createWidget("a", 1, "shop")
      yield* TestClock.adjust("10 seconds")
      const ours = "parity.example.com/widgets"
      const finalizers = Effect.map(admin.get(Widget, key), ({ metadata }) => [...metadata.finalizers ?? []])
      assert.sameMembers(yield* finalizers, [...theirs, ours])
      // A third behind ours, so that the place of ours is somebody else's once the first is gone.
      const more = [...yield* finalizers, "example.com/three"]
      yield* admin.patch(Widget, key, KubeClient.Patch.merge({ metadata: { finalizers: more } }))
      yield* TestClock.adjust("1 second")
      // Of what is being deleted, finalizers can only be removed.
      racing.push((finalizers) => finalizers.filter((name) => name !== "example.com/one"))
      yield* admin.delete(Widget, key)
      yield* TestClock.adjust("10 seconds")
      assert.sameMembers(yield* finalizers, ["example.com/two", "example.com/three"])
      assert.include(journal.words, "cleaned up")
      for (const { path } of on.of("PATCH")) assert.match(path, /\/namespaces\/shop\/widgets\/a$/)
      yield* admin.patch(Widget, key, KubeClient.Patch.merge({ metadata: { finalizers: null } }))
      assert.isFalse(
        (yield* ApiServer.ApiServer.use(({ snapshot }) => snapshot)).some(({ kind }) => kind === "Widget")
      )
    }).pipe(Effect.provide(cluster)))
})
