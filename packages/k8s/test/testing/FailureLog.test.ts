import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { ConfigMap } from "../../src/kinds/core.v1.ts"
import * as FailureLog from "../../src/testing/FailureLog.ts"
import * as TestCluster from "../../src/testing/TestCluster.ts"

const failing = Controller.make("failing", {
  for: ConfigMap,
  reconcile: ({ metadata: { name } }) => {
    if (name === "bad") throw new Error("boom")
    return Effect.succeed(Action.done)
  }
})

/** A test of an operator, and what it prints. */
const printed = (name: string, test: Effect.Effect<void>) =>
  Effect.gen(function*() {
    const out: Array<string> = []
    yield* Effect.exit(
      Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        yield* client.create(ConfigMap, { metadata: { namespace: "default", name } })
        yield* TestClock.adjust("1 hour")
        yield* test
      }).pipe(
        Effect.provide(Layer.provideMerge(Manager.layer([failing]), TestCluster.layer())),
        Effect.provideService(FailureLog.Out, (text) => void out.push(text))
      )
    )
    return out
  })

const fails = Effect.sync(() => assert.strictEqual(0, 1))

it.effect("a test that fails prints what the operator warned of, with the cause, its beginning and its end", () =>
  Effect.gen(function*() {
    const [text, ...others] = yield* printed("bad", fails)
    assert.deepStrictEqual(others, [])
    assert.match(text!, /WARN {2}reconcile failed \(1 in a row\), retrying in \d+ ms controller=failing.*name=bad/)
    assert.match(text!, /Error: boom\n.*FailureLog\.test\.ts/)
    assert.notInclude(text!, "INFO")
    assert.isAtMost(text!.split("WARN").length - 1, FailureLog.defaults.first + FailureLog.defaults.last)
  }))

it.effect("a test that passes prints nothing, and neither does one that fails without a warning", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* printed("bad", Effect.void), [])
    assert.deepStrictEqual(yield* printed("good", fails), [])
  }))

it.effect("loggers that are there stay", () =>
  Effect.gen(function*() {
    const heard: Array<unknown> = []
    const mine = Logger.make<unknown, void>(({ message }) => void heard.push(message))
    yield* Effect.logWarning("mind").pipe(Effect.provide(Layer.provide(FailureLog.layer, Logger.layer([mine]))))
    assert.deepStrictEqual(heard.flat(), ["mind"])
  }))
