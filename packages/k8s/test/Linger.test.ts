import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, ConfigProvider, Duration, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as ApiService from "../src/ApiService.ts"
import * as Endpoints from "../src/Endpoints.ts"
import * as Environment from "../src/Environment.ts"
import { Namespace } from "../src/kinds/core.v1.ts"
import { Linger } from "../src/Linger.ts"
import * as Termination from "../src/Termination.ts"
import { TestCluster, TestWebhooks } from "../src/testing/index.ts"
import * as Webhook from "../src/Webhook.ts"
import * as Farm from "./apiservice/support.ts"
import { asking, Gadget, Widget } from "./observability/support.ts"

const service = { namespace: "ops", name: "webhooks" }
const hooks = [
  Webhook.validating(Widget, {
    validate: ({ object }) => object.spec.size > 9 ? Webhook.deny("too large") : Effect.void
  })
]
const named = (name: string) => ({ namespace: "default", name })

interface Options {
  /** How long a reconcile is under way. */
  readonly reconcile?: number
  readonly linger?: Webhook.ServerOptions["linger"]
  /** Whether it is SIGTERM that it stops for. */
  readonly signal?: boolean
}

/** An operator with a hook that is being stopped: what became of a write, and of readiness, after so many seconds. */
const stopping = (seconds: ReadonlyArray<number>, { linger, reconcile = 0, signal = true }: Options = {}) =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0" })
    const termination = Termination.make()
    const scope = yield* Scope.make()
    yield* Webhook.install(hooks, { name: "widgets", reachable: { service } })
    const controller = Controller.make("gadgets", {
      for: Gadget,
      reconcile: () => Effect.as(Effect.sleep(reconcile * 1000), Action.done)
    })
    yield* Manager.layer([controller], { drain: "25 seconds" }).pipe(
      Layer.provide(Webhook.layer(hooks, { name: "widgets", service, linger })),
      Layer.provide(TestWebhooks.layer),
      Layer.provide(Layer.succeed(Manager.Board, endpoints.board)),
      Layer.provide(Layer.succeed(Termination.Termination, termination)),
      Layer.buildWithScope(scope)
    )
    const look = Effect.gen(function*() {
      const write = client.create(Widget, { metadata: named("large"), spec: { size: 10 } })
      const { message } = yield* Effect.flip(write)
      const { status } = yield* asking(endpoints).get("/readyz/serving")
      return `${message.includes("denied the request: too large") ? "asked" : "refused"} ${status}`
    })
    yield* TestClock.adjust("1 minute")
    yield* client.create(Gadget, { metadata: named("a"), spec: { size: 1 } })
    yield* TestClock.adjust("1 millis")
    assert.strictEqual(yield* look, "asked 200")
    if (signal) termination.request()
    const closing = yield* Effect.forkChild(
      Effect.andThen(Scope.close(scope, Exit.void), Clock.currentTimeMillis),
      { startImmediately: true }
    )
    const began = yield* Clock.currentTimeMillis
    const looks: Array<string> = []
    let now = 0
    for (const second of seconds) {
      yield* TestClock.adjust((second - now) * 1000)
      now = second
      looks.push(`${second} s: ${yield* look}`)
    }
    return { looks, took: (yield* Fiber.join(closing)) - began }
  }).pipe(Effect.provide(TestCluster.layer({ resources: [Gadget, Widget] })))

describe("Linger", () => {
  it.effect("hooks are asked for five seconds after SIGTERM, while readiness fails, and then no more", () =>
    Effect.gen(function*() {
      const { looks, took } = yield* stopping([0, 1, 4.9, 5.1])
      assert.deepStrictEqual(looks, ["0 s: asked 500", "1 s: asked 500", "4.9 s: asked 500", "5.1 s: refused 500"])
      assert.strictEqual(took, 5000)
    }))

  it.effect("that is counted from the signal: whoever drains for longer does not linger besides", () =>
    Effect.gen(function*() {
      const { looks, took } = yield* stopping([6, 11], { reconcile: 10 })
      assert.deepStrictEqual(looks, ["6 s: asked 500", "11 s: refused 500"])
      assert.isAtMost(took, 10_000)
    }))

  it.effect("without SIGTERM, and with 0, it closes at once", () =>
    Effect.gen(function*() {
      for (const options of [{ signal: false }, { linger: 0 }, { signal: false, linger: "1 minute" }] as const) {
        const { looks, took } = yield* stopping([0], options)
        assert.deepStrictEqual([looks, took], [["0 s: refused 500"], 0])
      }
    }))

  it.effect("the code says how long, or the environment, or nobody", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* stopping([21], { linger: "20 seconds" })).took, 20_000)
      const environment = (values: Record<string, string>) =>
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(values))
      const said = Environment.around(
        Effect.map(Linger, (input) => Duration.toSeconds(Duration.fromInputUnsafe(input)))
      )
      assert.strictEqual(yield* said.pipe(environment({ EFFECT_OPERATOR_LINGER: "1m30s" })), 90)
      assert.strictEqual(yield* said.pipe(environment({})), 5)
      const error = yield* Effect.flip(said.pipe(environment({ EFFECT_OPERATOR_LINGER: "soon" })))
      assert.include(error.message, "EFFECT_OPERATOR_LINGER")
      assert.include(error.message, "must be a duration, such as 90s")
    }))

  it.effect("an API of the operator's own lingers, too", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const api = ApiService.make({
        group: "farm.example.com",
        version: "v1alpha",
        kinds: [ApiService.stored(Farm.Llama)]
      })
      const termination = Termination.make()
      const scope = yield* Scope.make()
      yield* client.create(Namespace, { metadata: { name: "farm" } })
      yield* ApiService.install(api, { service: Farm.service, localhost: true })
      yield* ApiService.layer(api, { name: "farm", service: Farm.service }).pipe(
        Layer.provide(Layer.succeed(Termination.Termination, termination)),
        Layer.buildWithScope(scope)
      )
      const served = Effect.map(Effect.exit(client.listPage(Farm.Llama, { namespace: "farm" })), Exit.isSuccess)
      yield* TestClock.adjust("1 minute")
      termination.request()
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* TestClock.adjust("4 seconds")
      assert.isTrue(yield* served)
      yield* TestClock.adjust("2 seconds")
      assert.isFalse(yield* served)
      yield* Fiber.join(closing)
    }).pipe(Effect.provide(Farm.cluster)))
})
