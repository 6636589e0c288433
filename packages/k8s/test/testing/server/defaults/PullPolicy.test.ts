import { assert, describe, it } from "@effect/vitest"
import { pullPolicy } from "../../../../src/testing/server/defaults/PullPolicy.ts"

const digest = `sha256:${"a".repeat(64)}`

describe("pullPolicy", () => {
  it("what may be another image tomorrow is pulled every time", () => {
    for (
      const name of ["a", "a/b", "a:latest", "h.io:5000/a", `a:latest@${digest}`, `a:latest@sha512:${"0".repeat(128)}`]
    ) {
      assert.strictEqual(pullPolicy(name), "Always", name)
    }
  })

  it("what is fixed is not, nor is what is no name", () => {
    const names = [
      "a:1",
      `a@${digest}`,
      `a:1@${digest}`,
      "A:latest",
      "a:",
      `a:latest@${digest.slice(1)}`,
      `a:latest@${digest}0`
    ]
    for (const name of names) assert.strictEqual(pullPolicy(name), "IfNotPresent", name)
  })
})
