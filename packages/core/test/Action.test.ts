import { Action } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"

describe("Action", () => {
  it("takes a delay in every form that Effect accepts", () => {
    for (const delay of ["90 seconds", 90_000, Duration.seconds(90)] as const) {
      assert.deepStrictEqual(Action.requeueAfter(delay), { _tag: "RequeueAfter", delay: 90_000 })
    }
    assert.deepStrictEqual([Action.done, Action.requeue], [{ _tag: "Done" }, { _tag: "Requeue" }])
  })

  it("quotes an invalid delay as it was given", () => {
    const delays = [[Number.NaN, "NaN"], [-5, "-5"], [undefined, "undefined"], [null, "null"], ["5 sec", "\"5 sec\""], [
      "-5 seconds",
      "\"-5 seconds\""
    ]]
    for (const [delay, shown] of delays) {
      assert.throws(
        () => Action.requeueAfter(delay as never),
        `Action.requeueAfter: delay: ${shown}: must be a duration, such as "30 seconds", and not negative`
      )
    }
  })
})
