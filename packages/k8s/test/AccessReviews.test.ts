import * as AccessReviews from "@effect-operator/k8s/AccessReviews"
import { assert, describe, it } from "@effect/vitest"

const hour = 3_600_000

describe("AccessReviews.Memory", () => {
  it("holds no longer than it was meant to, whichever clock says so", () => {
    const memory = new AccessReviews.Memory<string>()
    memory.set("a", "yes", { passed: 0, today: hour }, 1_000)
    assert.strictEqual(memory.get("a", { passed: 999, today: hour + 999 }), "yes")
    assert.isUndefined(memory.get("a", { passed: 1_000, today: hour + 1_000 }))
    assert.isUndefined(memory.get("a", { passed: 1_000, today: 0 }), "somebody has put the clock back")
    assert.isUndefined(memory.get("a", { passed: 1, today: 2 * hour }), "the machine has slept")
  })
})
