import { assert, describe, it } from "@effect/vitest"
import { defaults, Pace } from "../../../src/testing/simulation/Pace.ts"
import type { Entry } from "../../../src/testing/simulation/Recording.ts"

const call = (name: string): Entry =>
  ({
    _tag: "Call",
    request: { method: "GET", path: `/api/v1/pods/${name}`, query: [], headers: {} }
  }) as unknown as Entry

describe("Pace", () => {
  it("minds what comes at one moment, and tells what most of that was about", () => {
    const pace = new Pace()
    const entries: Array<Entry> = []
    const ask = (at: number, name: string) => {
      entries.push(call(name))
      return pace.hot(at, entries)
    }
    for (let n = 0; n < defaults.hot; n++) assert.isUndefined(ask(1, "early"))
    for (let n = 0; n < defaults.hot; n++) assert.isUndefined(ask(2, n < 100 ? "some" : "most"))
    assert.strictEqual(
      ask(2, "most"),
      `${defaults.hot} requests, and the clock has not moved: 151 of them GET /api/v1/pods/most`
    )
    assert.isUndefined(ask(3, "most"))
  })
})
