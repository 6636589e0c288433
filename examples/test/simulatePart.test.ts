import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { figuresOf, partOf, shareOf, undivided } from "../scripts/simulatePart.ts"

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

describe("figures of an exploration", () => {
  const asked = { example: "podset", options: { seed: 3 } }

  it("have all their names in JSON, whatever came of it", () => {
    const diverges = {
      _tag: "Diverges",
      message: "it does not converge",
      oracle: "desired state",
      replay: "kx1:a",
      html: "",
      runs: 4,
      coverage: undefined
    } as const
    const converges = {
      _tag: "Converges",
      report: { ...Simulation.together([]), runs: 10, points: 9, exhaustive: true }
    } as const
    const names = ["example", "points", "exhaustive", "runs", "runsPerSecond", "divergent", "replay"]
    for (
      const [outcome, expected] of [
        [converges, ["podset", 9, true, 10, 5, false, null]],
        [diverges, ["podset", null, null, 4, 2, true, "kx1:a"]]
      ] as const
    ) {
      const written = JSON.parse(JSON.stringify(figuresOf(asked, outcome, 2))) as Record<string, unknown>
      assert.includeMembers(Object.keys(written), names)
      assert.deepStrictEqual(names.map((name) => written[name]), [...expected])
    }
  })
})
