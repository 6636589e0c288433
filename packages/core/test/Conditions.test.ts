import { Conditions } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Prng } from "./support/Prng.ts"

const about = { generation: 3 }
const ready = (status: boolean | "Unknown", reason = "Checked") => ({ type: "Ready", status, reason })

describe("Conditions", () => {
  it("changes the transition time only with the status, and returns the same list if nothing changes", () => {
    const first = Conditions.set(undefined, ready(false, "Starting"), about, "t1")
    assert.deepStrictEqual(first, [{
      type: "Ready",
      status: "False",
      reason: "Starting",
      message: "",
      lastTransitionTime: "t1",
      observedGeneration: 3
    }])
    assert.strictEqual(Conditions.set(first, ready(false, "Starting"), about, "t2"), first)
    const reworded = Conditions.set(first, ready(false, "Waiting"), about, "t2")
    assert.deepInclude(reworded[0], { reason: "Waiting", lastTransitionTime: "t1" })
    assert.deepInclude(Conditions.set(reworded, ready(true), about, "t3")[0], {
      status: "True",
      lastTransitionTime: "t3"
    })
    assert.deepInclude(Conditions.set(first, ready("Unknown"), { generation: 4 }, "t3")[0], {
      status: "Unknown",
      observedGeneration: 4
    })
  })

  it("a changed message is a change, and so is a later observed generation", () => {
    const first = Conditions.set(undefined, ready(true), about, "t1")
    const worded = Conditions.set(first, { ...ready(true), message: "all is well" }, about, "t2")
    assert.deepInclude(worded[0], { message: "all is well", lastTransitionTime: "t1" })
    const later = Conditions.set(first, ready(true), { generation: 4 }, "t2")
    assert.deepInclude(later[0], { observedGeneration: 4, lastTransitionTime: "t1" })
  })

  it("reads the conditions of any kind, which have other fields", () => {
    // Of a Pod: no reason, no message.
    const conditions = [
      { type: "Initialized", status: "True", lastProbeTime: null },
      { type: "Ready", status: "False", lastProbeTime: null }
    ]
    assert.deepStrictEqual(Conditions.get(conditions, "Ready"), conditions[1])
    assert.strictEqual(Conditions.get(conditions, "Ready")?.lastProbeTime, null)
    assert.isTrue(Conditions.isTrue(conditions, "Initialized"))
    assert.isFalse(Conditions.isTrue(conditions, "Ready"))
    assert.isFalse(Conditions.isTrue(undefined, "Ready"))
  })

  it("keeps its laws: one condition per type, others untouched, setting twice equals setting once", () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = new Prng(seed)
      let list: ReadonlyArray<Conditions.Condition> = []
      for (let step = 0; step < 12; step++) {
        const type = random.pick(["A", "B", "C"])
        const statement = {
          type,
          status: random.pick([true, false, "Unknown"] as const),
          reason: random.pick(["X", "Y"]),
          message: random.pick(["", "m"])
        }
        const before = list
        list = random.chance(0.2)
          ? Conditions.remove(list, type)
          : Conditions.set(list, statement, { generation: step }, `t${step}`)
        assert.strictEqual(new Set(list.map((condition) => condition.type)).size, list.length, `seed ${seed}`)
        for (const other of before) if (other.type !== type) assert.include(list, other, `seed ${seed}`)
        if (Conditions.get(list, type) !== undefined) {
          assert.strictEqual(Conditions.set(list, statement, { generation: step }, "later"), list, `seed ${seed}`)
        }
      }
    }
  })

  it.effect("sets several conditions at the time of the clock, also for a kind without generations", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      const object = {
        apiVersion: "v1",
        kind: "X",
        metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "" }
      }
      const list = yield* Conditions.state(object, undefined, ready(true), {
        type: "Stalled",
        status: false,
        reason: "No"
      })
      assert.deepStrictEqual(list.map(({ lastTransitionTime, type }) => [type, lastTransitionTime]), [
        ["Ready", "2026-01-01T00:00:00Z"],
        ["Stalled", "2026-01-01T00:00:00Z"]
      ])
      assert.isTrue(Conditions.isTrue(list, "Ready"))
      assert.isFalse(Conditions.isTrue(list, "Other"))
      assert.notProperty(list[0], "observedGeneration")
    }))
})
