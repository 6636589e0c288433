import { assert, it } from "@effect/vitest"
import * as PatchFailure from "../../../src/api/patch/PatchFailure.ts"

it("each failure has its answer; what did not fit the object is not told", () => {
  const answers = [
    PatchFailure.malformed("m"),
    PatchFailure.tooLarge("m"),
    PatchFailure.unprocessable("m"),
    PatchFailure.internal("m")
  ].map((failure) => {
    const { body, status } = PatchFailure.toStatusError(failure)
    return [status, body.reason, body.message]
  })
  assert.deepStrictEqual(answers, [
    [400, "BadRequest", "m"],
    [413, "RequestEntityTooLarge", "Request entity too large: m"],
    [422, "Invalid", "the server rejected our request due to an error in our request"],
    [500, undefined, "m"]
  ])
})
