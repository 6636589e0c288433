/** Spans of whole operators: from a watch event to the API calls it leads to, and on to the next controller. */
import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { TestClient } from "@effect-operator/k8s/testing"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { cluster, Widget } from "./support.ts"

const key = { namespace: "default", name: "a" }

/** Makes a ConfigMap for every Widget. */
const makers = Controller.make("makers", {
  for: Widget,
  reconcile: Effect.fnUntraced(function*({ metadata: { name, namespace } }) {
    const client = yield* KubeClient.KubeClient
    yield* Effect.ignore(client.create(ConfigMap, { metadata: { namespace, name }, data: { by: "makers" } }))
    return Action.done
  })
})

/** Looks at ConfigMaps. */
const readers = Controller.make("readers", { for: ConfigMap, reconcile: () => Effect.succeed(Action.done) })

const collecting = (spans: Array<Tracer.NativeSpan>) =>
  Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })

const operated = (spans: Array<Tracer.NativeSpan>) =>
  Layer.build(Manager.layer([makers, readers]).pipe(Layer.provide(TestClient.layer))).pipe(
    Effect.provideService(Tracer.Tracer, collecting(spans))
  )

const parentOf = (span: Tracer.NativeSpan) => Option.getOrUndefined(span.parent)
const millis = (nanos: bigint) => Number(nanos / 1_000_000n)

describe("tracing", () => {
  it.effect("one trace from the wait to the API call, linked to its watch event, and that to who wrote it", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.NativeSpan> = []
      yield* operated(spans)
      const client = yield* KubeClient.KubeClient
      yield* TestClock.adjust("1 second")
      yield* client.create(Widget, { metadata: key, spec: { size: 1 } })
      yield* TestClock.adjust("1 second")
      const find = (name: string, controller?: string) =>
        spans.filter((span) =>
          span.name === name && span.attributes.get("k8s.object.key") === "default/a" &&
          (controller === undefined || span.attributes.get("controller") === controller)
        )
      const [made] = find("Controller.process", "makers")
      const [reconcile] = find("Controller.reconcile", "makers")
      assert.isDefined(made)
      assert.strictEqual(parentOf(reconcile!), made)
      assert.deepStrictEqual(made!.attributes.get("k8s.triggers"), ["Widget default/a added"])
      const wait = spans.find((span) => span.name === "WorkQueue.wait" && parentOf(span) === made)
      assert.isDefined(wait)
      const create = spans.find((span) => span.name === "create configmaps")!
      assert.strictEqual(create.kind, "client")
      assert.strictEqual(create.traceId, made!.traceId, "the request belongs to the trace")
      assert.strictEqual(create.attributes.get("url.path"), "/api/v1/namespaces/default/configmaps")

      const [event] = made!.links.map(({ span }) => span as Tracer.NativeSpan)
      assert.strictEqual(event!.name, "Watch.event")
      assert.strictEqual(event!.attributes.get("k8s.event.type"), "Added")
      assert.deepStrictEqual(event!.links, [], "the test wrote it, not this program's controllers")

      const [read] = find("Controller.process", "readers")
      const [came] = read!.links.map(({ span }) => span as Tracer.NativeSpan)
      assert.deepStrictEqual(came!.links.map(({ span }) => span), [reconcile!], "across controllers")
      assert.notStrictEqual(read!.traceId, made!.traceId, "a trace of its own, linked")
      for (const span of [made!, reconcile!, wait!, create, event!, read!]) {
        assert.strictEqual(span.status._tag, "Ended", span.name)
      }
    }).pipe(Effect.provide(cluster(Widget))))

  it.effect("the wait is as long as the key waited, and a failed reconcile is a failed span", () =>
    Effect.gen(function*() {
      const spans: Array<Tracer.NativeSpan> = []
      const slow = Controller.make("slow", {
        for: Widget,
        reconcile: ({ metadata }) =>
          metadata.name === "a" ? Effect.as(Effect.sleep("10 seconds"), Action.done) : Effect.fail("no")
      })
      const client = yield* KubeClient.KubeClient
      for (const name of ["a", "b"]) {
        yield* client.create(Widget, { metadata: { ...key, name }, spec: { size: 1 } })
      }
      yield* Layer.build(Manager.layer([slow]).pipe(Layer.provide(TestClient.layer))).pipe(
        Effect.provideService(Tracer.Tracer, collecting(spans))
      )
      yield* TestClock.adjust("10001 millis")
      const second = spans.find((span) =>
        span.name === "Controller.process" && span.attributes.get("k8s.object.key") === "default/b"
      )!
      const wait = spans.find((span) => span.name === "WorkQueue.wait" && parentOf(span) === second)!
      assert.strictEqual(wait.status._tag === "Ended" ? millis(wait.status.endTime - wait.status.startTime) : 0, 10_000)
      const reconcile = spans.find((span) => span.name === "Controller.reconcile" && parentOf(span) === second)!
      assert.strictEqual(reconcile.status._tag === "Ended" ? reconcile.status.exit._tag : "", "Failure")
      assert.strictEqual(second.links.length, 1)
    }).pipe(Effect.provide(cluster(Widget))))

  it.effect("without a tracer no span of ours is made", () =>
    Effect.gen(function*() {
      let parent: Tracer.AnySpan | undefined
      const asking = Controller.make("asking", {
        for: Widget,
        reconcile: () =>
          Effect.map(Effect.option(Effect.currentParentSpan), (span) => {
            parent = Option.getOrUndefined(span)
            return Action.done
          })
      })
      yield* Layer.build(Manager.layer([asking]).pipe(Layer.provide(TestClient.layer)))
      const client = yield* KubeClient.KubeClient
      yield* client.create(Widget, { metadata: key, spec: { size: 1 } })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(parent)
    }).pipe(Effect.provide(cluster(Widget))))
})
