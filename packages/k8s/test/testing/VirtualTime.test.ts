import { Action, Controller, CustomResource, KubeClient, Manager } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Layer, Random, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as TestCluster from "../../src/testing/TestCluster.ts"
import * as VirtualTime from "../../src/testing/VirtualTime.ts"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ seen: Schema.Int })
})

const create = KubeClient.KubeClient.use((client) =>
  client.create(Widget, { metadata: { namespace: "default", name: "a" }, spec: { size: 1 } })
)

it.effect("time moves only when every fiber has come to rest, however many steps that takes", () =>
  Effect.gen(function*() {
    const seen: Array<number> = []
    const worker = Effect.gen(function*() {
      for (let i = 0; i < 500; i++) yield* Effect.yieldNow
      yield* Effect.sleep("10 seconds")
      seen.push(yield* Clock.currentTimeMillis)
    })
    yield* Effect.forkChild(worker)
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual(seen, [10_000], "the sleep began before the clock moved")
  }).pipe(Effect.provide(VirtualTime.layer)))

it.effect("after the last sleeper has woken, what it started has come to rest, too", () =>
  Effect.gen(function*() {
    let steps = 0
    const worker = Effect.gen(function*() {
      yield* Effect.sleep("1 second")
      for (let i = 0; i < 500; i++) {
        steps += 1
        yield* Effect.yieldNow
      }
    })
    yield* Effect.forkChild(worker)
    yield* TestClock.adjust("1 second")
    assert.strictEqual(steps, 500)
  }).pipe(Effect.provide(VirtualTime.layer)))

it.effect("also where what a sleeper does takes longer than a test clock waits for", () =>
  Effect.gen(function*() {
    const seen: Array<readonly [string, number]> = []
    const note = (who: string) => Effect.map(Clock.currentTimeMillis, (now) => void seen.push([who, now]))
    const busy = Effect.andThen(
      Effect.sync(() => {
        const end = performance.now() + 100
        while (performance.now() < end);
      }),
      Effect.yieldNow
    )
    yield* Effect.forkChild(Effect.delay(Effect.void, "10 millis"))
    yield* Effect.forkChild(Effect.delay(Effect.andThen(Effect.replicateEffect(busy, 20), note("busy")), "1 second"))
    yield* Effect.forkChild(Effect.delay(note("next"), "2 seconds"))
    yield* TestClock.adjust("3 seconds")
    assert.deepStrictEqual(seen, [["busy", 1000], ["next", 2000]])
  }).pipe(Effect.provide(VirtualTime.layer)))

it.effect("chance is the same each time, and another with another seed", () =>
  Effect.gen(function*() {
    const drawn = Effect.provide(Effect.all([Random.next, Random.nextInt]), VirtualTime.layer)
    const first = yield* drawn
    assert.deepStrictEqual(yield* drawn, first)
    const other = yield* Random.withSeed(drawn, "other")
    assert.notDeepEqual(other, first)
    assert.deepStrictEqual(yield* Random.withSeed(drawn, "other"), other)
  }))

it.live("outside a test the clock is left alone", () =>
  Effect.gen(function*() {
    const before = yield* Clock.Clock
    assert.strictEqual(yield* Effect.provide(Clock.Clock, VirtualTime.layer), before)
  }))

it.effect("a reconcile that is still under way does not keep the test from ending", () =>
  Effect.gen(function*() {
    let interrupted = false
    const stuck = Controller.make("stuck", {
      for: Widget,
      reconcile: () =>
        Effect.never.pipe(
          Effect.as(Action.done),
          Effect.onInterrupt(() =>
            Effect.sync(() => {
              interrupted = true
            })
          )
        )
    })
    const operator = Manager.layer([stuck]).pipe(Layer.provideMerge(TestCluster.layer({ resources: [Widget] })))
    yield* Effect.andThen(create, TestClock.adjust("1 second")).pipe(Effect.provide(operator))
    assert.isTrue(interrupted)
  }))

it.effect(
  "a controller that wakes itself for ever fails the test, and the message says which object, what changed, and what to look for",
  () =>
    Effect.gen(function*() {
      let runs = 0
      const restless = Controller.make("restless", {
        for: Widget,
        reconcile: (widget) =>
          Effect.gen(function*() {
            const client = yield* KubeClient.KubeClient
            const patch = KubeClient.Patch.merge({ metadata: { annotations: { seen: String(runs++) } } })
            yield* client.patch(Widget, widget, patch)
            return Action.done
          })
      })
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(
        Manager.layer([restless]).pipe(Layer.provideMerge(TestCluster.layer({ resources: [Widget] }))),
        scope
      )
      const exit = yield* Effect.exit(
        Effect.andThen(create, TestClock.adjust("1 second")).pipe(Effect.provideContext(context))
      )
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        assert.match(
          Cause.pretty(exit.cause),
          /does not come to rest: widgets\S* default\/\S+ has changed 10\d\d times, the last time by \{"metadata":\{"annotations":\{"seen":"\d+"\}\}\}.*loop.*generationChanged/s
        )
      }
      yield* Scope.close(scope, Exit.void)
    })
)

it.effect("what two thousand things change at once, each twice, is no loop; three times each is one", () =>
  Effect.gen(function*() {
    const { changed } = yield* VirtualTime.Moment
    const all = (times: number) =>
      Effect.forEach(
        Array.from({ length: 2_000 }, (_, index) => `configmaps default/a-${index}`),
        (thing) =>
          Effect.sync(() => {
            changed(thing, () => "")
            for (let n = 0; n < times; n++) changed("resourcequotas default/all", () => "by itself")
          }).pipe(Effect.andThen(Effect.yieldNow)),
        { discard: true }
      )
    for (let moment = 0; moment < 2; moment++) {
      yield* Effect.forkChild(all(2))
      yield* TestClock.adjust("1 second")
    }
    yield* Effect.forkChild(all(3))
    const exit = yield* Effect.exit(TestClock.adjust("1 second"))
    assert.match(
      Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
      /resourcequotas default\/all has changed \d+ times, the last time by itself/
    )
  }).pipe(Effect.provide(VirtualTime.layer)))

for (
  const [what, turn] of [
    ["takes its turn", Effect.yieldNow],
    ["does something without giving way", Effect.replicateEffect(Effect.void, 10_000)]
  ] as const
) {
  it.effect(`a fiber that ${what} for ever, and changes nothing, fails the test, too`, () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.forever(turn))
      const exit = yield* Effect.exit(TestClock.adjust("1 second"))
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        assert.match(
          Cause.pretty(exit.cause),
          /does not come to rest: \d+ turns, \d+ operations while the clock stood still/
        )
      }
    }).pipe(Effect.provide(VirtualTime.layer)))
}
