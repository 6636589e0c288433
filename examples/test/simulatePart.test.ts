import { assert, describe, it } from "@effect/vitest"
import { partOf, shareOf, undivided } from "../scripts/simulatePart.ts"

describe("parts of an exploration", () => {
  it("are named K/N, K from 1 to N", () => {
    assert.deepStrictEqual(partOf("1/1"), undivided)
    assert.deepStrictEqual(partOf("3/4"), { index: 2, of: 4 })
    for (const text of ["", "3", "0/4", "5/4", "1/0", "-1/4", "1.5/4", "1/4/", " 1/4", "a/b"]) {
      assert.isUndefined(partOf(text), text)
    }
  })

  it("are shared out among threads so that each run has one of them", () => {
    const runs = Array.from({ length: 100 }, (_, turn) => turn)
    const part = { index: 2, of: 4 }
    const shares = [0, 1, 2].map((i) => shareOf(part, i, 3))
    const taken = shares.flatMap(({ index, of }) => runs.filter((turn) => turn % of === index))
    assert.deepStrictEqual(taken.sort((a, b) => a - b), runs.filter((turn) => turn % part.of === part.index))
  })
})
