import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scheduler } from "effect"
import { TestClock } from "effect/testing"
import { reached } from "../../src/api/Reading.ts"
import { Storage } from "../../src/api/Storage.ts"

const write = (storage: Storage): unknown =>
  storage.put("configmaps", "n/a", "n", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", namespace: "n" }
  } as KubeObject)

describe("who asks for a revision that is not reached yet", () => {
  it.effect("has it as soon as it is, between whatever steps that comes, and else is told so", () =>
    Effect.gen(function*() {
      for (let steps = 1, goesOn = true; goesOn; steps++) {
        const storage = new Storage(100)
        const scheduler = new Scheduler.MixedScheduler()
        let taken = 0
        scheduler.shouldYield = () => {
          if (++taken === steps) write(storage)
          return false
        }
        const waiting = Effect.provideService(reached(storage, storage.revision + 1), Scheduler.Scheduler, scheduler)
        const fiber = yield* Effect.forkChild(Effect.exit(waiting), { startImmediately: true })
        goesOn = taken >= steps
        taken = Infinity
        yield* TestClock.adjust(1)
        assert.strictEqual(fiber.pollUnsafe() !== undefined, goesOn, `after ${steps} steps`)
        yield* TestClock.adjust("1 minute")
        const exit = fiber.pollUnsafe()
        assert.strictEqual(exit !== undefined && Exit.isSuccess(exit) && Exit.isSuccess(exit.value), goesOn)
      }
    }))
})
