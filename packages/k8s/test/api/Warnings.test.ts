import { assert, describe, it } from "@effect/vitest"
import * as Warnings from "../../src/api/Warnings.ts"
import { random } from "../testing/support/random.ts"

const length = (texts: ReadonlyArray<string>): number => texts.reduce((sum, text) => sum + [...text].length, 0)

describe("Warnings", () => {
  it("come once, quoted, in order; control characters silence one", () => {
    assert.deepStrictEqual(Warnings.header(["b", "a \"q\" \\", "b", "", "x\ny", "é"]), {
      warning: "299 - \"b\", 299 - \"a \\\"q\\\" \\\\\", 299 - \"é\""
    })
    assert.deepStrictEqual(Warnings.header(["\u0001"]), {})
  })

  it("are cut by characters, not by units", () => {
    const [first] = Warnings.shown(["😀".repeat(4000), "x".repeat(100)])
    assert.strictEqual(first, "😀".repeat(256))
  })

  it("are whole up to 4096 characters; beyond, each has at most 256 and all about 4096", () => {
    const seed = 5
    const { int } = random(seed)
    for (let run = 0; run < 300; run++) {
      const texts = Array.from({ length: 1 + int(40) }, (_, n) => `${n}:`.padEnd(1 + int(600), "x"))
      const shown = Warnings.shown(texts)
      const told = `seed ${seed}, run ${run}`
      if (length([...new Set(texts)]) <= 4096) assert.deepStrictEqual(shown, [...new Set(texts)], told)
      else {
        assert.isTrue(shown.every((text) => text.length <= 256), told)
        assert.isAtMost(length(shown), 4096 + 4096, told)
        assert.isTrue(shown.every((text, n) => [...new Set(texts)][n]!.startsWith(text)), told)
      }
    }
  })
})
