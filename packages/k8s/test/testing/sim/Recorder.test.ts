import { KubeClient } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Event } from "../../../src/kinds/core.v1.ts"
import * as Recorder from "../../../src/testing/sim/Recorder.ts"
import { layer } from "../support/server.ts"

const subject = {
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: { namespace: "default", name: "web", uid: "u", resourceVersion: "7" }
}

const events = Effect.flatMap(KubeClient, (client) => Stream.runCollect(client.list(Event)))

describe("Recorder", () => {
  it.effect("writes an Event as client-go does, and counts the same one", () =>
    Effect.gen(function*() {
      const recorder = yield* Recorder.make("replicaset-controller")
      yield* recorder.normal(subject, "SuccessfulCreate", "Created pod: web-a")
      yield* TestClock.adjust("90 seconds")
      yield* recorder.normal(subject, "SuccessfulCreate", "Created pod: web-a")
      yield* recorder.warning(subject, "FailedCreate", "Error creating: no")
      const [first, second] = yield* events
      assert.match(first!.metadata.name, /^web\.[0-9a-f]+$/)
      assert.strictEqual(first!.count, 2)
      assert.strictEqual(first!.firstTimestamp, "1970-01-01T00:00:00Z")
      assert.strictEqual(first!.lastTimestamp, "1970-01-01T00:01:30Z")
      assert.deepStrictEqual(first!.source, { component: "replicaset-controller" })
      assert.deepStrictEqual(first!.involvedObject, {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        namespace: "default",
        name: "web",
        uid: "u",
        resourceVersion: "7"
      })
      assert.strictEqual(second!.type, "Warning")
      assert.strictEqual(second!.count, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("combines what is similar from the tenth message on, and drops what is too much", () =>
    Effect.gen(function*() {
      const recorder = yield* Recorder.make("replicaset-controller")
      for (let at = 0; at < 40; at++) yield* recorder.normal(subject, "SuccessfulCreate", `Created pod: web-${at}`)
      const all = yield* events
      assert.lengthOf(all, 10)
      const combined = all.find(({ message }) => message?.startsWith("(combined from similar events): "))
      // 25 writes: nine of their own and sixteen of the combined one.
      assert.strictEqual(combined!.count, 16)
      assert.strictEqual(combined!.message, "(combined from similar events): Created pod: web-24")
      yield* TestClock.adjust("5 minutes")
      yield* recorder.normal(subject, "SuccessfulCreate", "Created pod: web-x")
      const after = (yield* events).find(({ message }) => message?.endsWith("web-x"))
      assert.strictEqual(after!.count, 32, "those that were dropped were counted")
    }).pipe(Effect.provide(layer)))
})
