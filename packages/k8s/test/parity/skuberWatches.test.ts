/** The defects of skuber-operator in its caches and watches: none of them is here. */
import { Action, Cache, Controller, Source, Watch } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ListBy } from "@effect-operator/core/Reflector"
import { ConfigMap, Namespace, Node } from "@effect-operator/k8s/kinds"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  client,
  cluster,
  configMap,
  createWidget,
  down,
  isWatch,
  Journal,
  line,
  operate,
  refusal,
  resize,
  Widget,
  Zone
} from "./support.ts"

const labels = { part: "widget" }
const parts = { labels: [{ operator: "exists", key: "part" }] } as const

const namespaces = (...names: ReadonlyArray<string>) =>
  Effect.forEach(names, (name) => client.use((client) => client.create(Namespace, { metadata: { name } })))

describe("skuber-operator's defects: caches and watches", () => {
  it.effect("defect 2: nothing is reconciled before every cache is full, own and owned", () =>
    Effect.gen(function*() {
      for (const name of ["x", "y", "z"]) {
        yield* client.use((client) => client.create(ConfigMap, configMap(name, labels)))
      }
      yield* createWidget("a")
      const on = yield* line
      on.latency = ({ path }) => path.endsWith("/configmaps") ? Effect.sleep("5 seconds") : Effect.void
      const seen: Array<number> = []
      const controller = Controller.make("widgets", {
        for: Widget,
        watches: [Watch.cached(ConfigMap, parts)],
        reconcile: () =>
          Effect.map(Cache.list(ConfigMap), (found) => {
            seen.push(found.length)
            return Action.done
          })
      })
      const { manager } = yield* operate(on, [controller])
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(seen, [])
      assert.strictEqual((yield* manager.report).controllers[0]!.status._tag, "Syncing")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(seen, [3])
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 3: what is watched is what is listed: all namespaces, or none where a kind has none", () =>
    Effect.gen(function*() {
      yield* namespaces("shop")
      const journal = new Journal()
      const on = yield* line
      yield* operate(on, [
        Controller.make("widgets", {
          for: Widget,
          reconcile: ({ metadata }) => Effect.as(journal.note(`${metadata.namespace}/${metadata.name}`), Action.done)
        }),
        Controller.make("zones", {
          for: Zone,
          reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
        })
      ])
      yield* TestClock.adjust("1 second")
      yield* createWidget("a")
      yield* createWidget("b", 1, "shop")
      yield* client.use((client) => client.create(Zone, { metadata: { name: "north" }, spec: { size: 1 } }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(journal.words.toSorted(), ["default/a", "north", "shop/b"])
      for (const plural of ["widgets", "zones"]) {
        const paths = [...on.reads(plural, true), ...on.reads(plural, false)].map(({ path }) => path)
        assert.deepStrictEqual(new Set(paths), new Set([`/apis/parity.example.com/v1/${plural}`]))
      }
    }).pipe(Effect.provide(cluster)))

  for (const outage of ["from the start", "later"]) {
    it.effect(`defect 7: an outage of half an hour (${outage}) ends no watch for good, and is no secret`, () =>
      Effect.gen(function*() {
        const journal = new Journal()
        const on = yield* line
        const controller = Controller.make("widgets", {
          for: Widget,
          reconcile: ({ spec }) => Effect.as(journal.note(String(spec.size)), Action.done)
        })
        const refuse = () => {
          on.fault = () => down()
          on.watched = (events) => events
        }
        if (outage === "from the start") refuse()
        const { manager } = yield* operate(on, [controller])
        if (outage === "later") {
          yield* TestClock.adjust("1 minute")
          refuse()
          yield* ApiServer.ApiServer.use((server) => server.endWatches())
        }
        yield* TestClock.adjust("1 second")
        yield* createWidget("a", 7)
        yield* TestClock.adjust("30 minutes")
        const [watch] = (yield* manager.report).watches
        assert.strictEqual(watch!.status._tag, "Degraded")
        assert.deepStrictEqual(journal.words, [])
        on.fault = () => Effect.undefined
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(journal.words, ["7"])
        assert.strictEqual((yield* manager.report).watches[0]!.status._tag, "Live")
      }).pipe(Effect.provide(cluster)))
  }

  it.effect("defect 9: a list that is streamed again empties no cache, and repeats nothing", () =>
    Effect.gen(function*() {
      const changes: Array<string> = []
      const journal = new Journal()
      const on = yield* line
      const controller = Controller.make("widgets", {
        for: Widget,
        sources: [Source.stream("changes", Cache.changes(Widget), ({ _tag }) => {
          changes.push(_tag)
          return []
        })],
        reconcile: ({ metadata }) => Effect.as(journal.note(metadata.name), Action.done)
      })
      for (let i = 0; i < 5; i++) yield* createWidget(`w-${i}`)
      yield* Effect.provideService(operate(on, [controller]), ListBy, "Stream")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(on.reads("widgets", false).length, 0, "the list was a stream")
      assert.deepStrictEqual(changes, ["Snapshot"])
      const before = journal.words.length
      let expired = 1
      on.fault = (request) =>
        Effect.sync(() => isWatch(true)(request) && expired-- > 0 ? refusal(410, "Expired") : undefined)
      yield* ApiServer.ApiServer.use((server) => server.endWatches())
      yield* TestClock.adjust("1 second")
      yield* resize("w-4", 9)
      yield* TestClock.adjust("1 minute")
      const streamed = on.reads("widgets", true).filter(({ query }) =>
        query.some(([name]) => name === "sendInitialEvents")
      )
      assert.strictEqual(streamed.length, 2)
      assert.deepStrictEqual(changes, ["Snapshot", "Updated"], "of five objects only the one that changed")
      assert.deepStrictEqual(journal.words.slice(before), ["w-4"])
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 11: owners are found by group, scope and the controller flag", () =>
    Effect.gen(function*() {
      const journal = new Journal()
      const node = yield* client.use((client) => client.create(Node, { metadata: { name: "n1" } }))
      yield* operate(yield* line, [Controller.make("nodes", {
        for: Node,
        // Of the core group, and without a namespace.
        owns: [ConfigMap],
        reconcile: (_, { reasons }) =>
          Effect.as(
            Effect.forEach(reasons, (reason) => journal.note("kind" in reason ? String(reason.kind) : reason._tag)),
            Action.done
          )
      })])
      yield* TestClock.adjust("1 minute")
      const before = journal.words.length
      const owned = (name: string, controller: boolean) =>
        client.use((client) =>
          client.create(ConfigMap, {
            metadata: {
              namespace: "default",
              name,
              ownerReferences: [{ ...controllerReference(node), controller }]
            }
          })
        )
      yield* owned("only-owned", false)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(journal.words.length, before, "an owner that does not control is not woken")
      yield* owned("controlled", true)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(journal.words.length, before + 1)
    }).pipe(Effect.provide(cluster)))

  it.effect("defect 13: reads are of the watched namespaces, full from the first reconcile, and open no other watch", () =>
    Effect.gen(function*() {
      yield* namespaces("one", "two", "three")
      for (const namespace of ["one", "two", "three"]) {
        yield* client.use((client) => client.create(ConfigMap, configMap("m", labels, namespace)))
        yield* createWidget("a", 1, namespace)
      }
      const seen: Array<ReadonlyArray<string | undefined>> = []
      const on = yield* line
      const watched = ["one", "two"]
      const controller = Controller.make("widgets", {
        for: Widget,
        namespaces: watched,
        watches: [Watch.cached(ConfigMap, { namespaces: watched, ...parts })],
        reconcile: Effect.fnUntraced(function*() {
          const found = yield* Cache.list(ConfigMap)
          seen.push(found.map(({ metadata }) => metadata.namespace).toSorted())
          const outside = yield* Effect.exit(Cache.list(ConfigMap, { namespace: "three" }))
          assert.strictEqual(outside._tag, "Failure")
          assert.match(String(outside), /three/)
          return Action.done
        })
      })
      yield* operate(on, [controller])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(seen, [watched, watched])
      assert.strictEqual(on.reads("configmaps", true).length, 2)
      assert.strictEqual(on.reads("widgets", true).length, 2)
    }).pipe(Effect.provide(cluster)))
})
