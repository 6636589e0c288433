import { Action } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"

describe("Action", () => {
  it("takes a delay in any way Effect writes one", () => {
    for (const delay of ["90 seconds", 90_000, Duration.seconds(90)] as const) {
      assert.deepStrictEqual(Action.requeueAfter(delay), { _tag: "RequeueAfter", delay: 90_000 })
    }
    assert.deepStrictEqual([Action.done, Action.requeue], [{ _tag: "Done" }, { _tag: "Requeue" }])
  })
})
