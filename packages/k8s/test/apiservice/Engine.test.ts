import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Scheduler } from "effect"
import * as ApiService from "../../src/ApiService.ts"
import * as Engine from "../../src/apiservice/Engine.ts"
import { Llama, llama } from "./support.ts"

const api = ApiService.make({ group: "farm.example.com", version: "v1alpha", kinds: [ApiService.stored(Llama)] })
const user = { username: "jane", groups: ["system:masters"] }

describe("Engine", () => {
  it.effect("of two who make an object of one name at the same time one is refused, whenever the other comes", () =>
    Effect.gen(function*() {
      for (let steps = 1, isOver = false; !isOver; steps++) {
        const { handle } = yield* Engine.make(api, { authorize: () => Effect.undefined, informers: {} as never })
        const create = (color: string) =>
          handle({
            user,
            request: {
              method: "POST",
              path: "/apis/farm.example.com/v1alpha/namespaces/farm/llamas",
              query: [],
              headers: {},
              body: llama("a", { weight: 1, height: 2, color })
            }
          })
        let second: Fiber.Fiber<{ readonly status: number }> | undefined
        const scheduler = new Scheduler.MixedScheduler()
        let taken = 0
        scheduler.shouldYield = () => {
          if (++taken === steps) second = Effect.runFork(create("black"))
          return false
        }
        const first = yield* Effect.provideService(create("white"), Scheduler.Scheduler, scheduler)
        isOver = second === undefined
        const other = second === undefined ? yield* create("black") : yield* Fiber.join(second)
        const statuses = [first.status, other.status].sort()
        assert.deepStrictEqual(statuses, [201, 409], `after ${steps} steps`)
      }
    }))
})
