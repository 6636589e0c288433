import * as Shares from "@effect-operator/k8s/testing/simulation/exploring/Shares"
import { assert, describe, it } from "@effect/vitest"

/** How many runs with faults each story has, where telling one without takes `telling` milliseconds and each run 10. */
const runsOf = (budget: number, stories: number, telling: number): ReadonlyArray<number> => {
  let now = 1_000
  const shares = Shares.make(() => now, now + budget, stories)
  const found: Array<number> = []
  for (let more = shares.next(); more !== undefined; more = shares.next()) {
    now += telling
    let runs = 0
    for (; more(); runs++) now += 10
    found.push(runs)
  }
  return found
}

describe("shares of the time", () => {
  it("are the same for all stories, where there is enough for all", () => {
    assert.deepStrictEqual(runsOf(8_000, 4, 100), [190, 190, 190, 190])
  })

  it("leave faults three times as long as what comes before them, and the last stories out, where there is not", () => {
    assert.deepStrictEqual(runsOf(2_000, 8, 250), [75, 75])
    assert.deepStrictEqual(runsOf(2_000, 4, 250), [75, 75])
    assert.deepStrictEqual(runsOf(600, 8, 250), [35])
  })

  it("have one story told at least, and faults in it for as long as that takes, however late it is", () => {
    assert.deepStrictEqual(runsOf(100, 8, 250), [25])
    assert.deepStrictEqual(runsOf(300, 8, 250), [25])
    assert.deepStrictEqual(runsOf(1_000, 1, 100), [90])
  })
})
