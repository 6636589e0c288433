import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { defaults, line, Overdue } from "../src/internal/Overdue.ts"

describe("Overdue", () => {
  it("reports a key that has run for long, and again when that time has doubled", () => {
    const overdue = new Overdue()
    const processing = new Map([["a", 0], ["b", defaults.first]])
    const ages = [0.5, 1, 1.5, 2, 3, 4].map((times) => overdue.due(processing, times * defaults.first))
    assert.deepStrictEqual(ages, [
      [],
      [["a", defaults.first]],
      [],
      [["a", 2 * defaults.first], ["b", defaults.first]],
      [["b", 2 * defaults.first]],
      [["a", 4 * defaults.first]]
    ])
  })

  it("forgets what has ended: the next reconcile of a key starts from zero", () => {
    const overdue = new Overdue()
    assert.lengthOf(overdue.due(new Map([["a", 0]]), defaults.first), 1)
    assert.lengthOf(overdue.due(new Map([["a", defaults.first]]), 1.5 * defaults.first), 0)
    assert.lengthOf(overdue.due(new Map(), 1.6 * defaults.first), 0)
    assert.lengthOf(overdue.due(new Map([["a", defaults.first]]), 2 * defaults.first), 1)
  })

  it("names the remedy: a timeout, or what ignores the interruption", () => {
    assert.include(line("x", 150_000, 1, undefined), "for 2m 30s and occupies one of 1 worker;")
    assert.include(line("x", 150_000, 1, undefined), "Give the controller a `timeout`")
    assert.include(
      line("x", 150_000, 4, Duration.seconds(30)),
      "Its timeout is 30s: lower that, or look for an Effect that cannot be interrupted"
    )
  })
})
