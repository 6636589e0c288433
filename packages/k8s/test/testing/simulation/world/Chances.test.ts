import { assert, describe, it } from "@effect/vitest"
import * as Chances from "../../../../src/testing/simulation/world/Chances.ts"

const pods = "/api/v1/namespaces/default/pods"
const making = (name: string, path = pods) =>
  ({ method: "POST", path, query: [], headers: {}, body: { metadata: { name } } }) as const

describe("Chances", () => {
  it("what an object is given does not depend on what was made elsewhere, or asked meanwhile", () => {
    const [plain, busy] = [Chances.of(1), Chances.of(1)]
    const wanted = plain(making("a"))()
    busy(making("b"))()
    busy(making("a", "/api/v1/namespaces/other/pods"))()
    busy(making("a"))
    assert.strictEqual(busy(making("a"))(), wanted)
  })

  it("another one is drawn when the name comes again, for another seed, and with each number", () => {
    const chance = Chances.of(1)
    const first = chance(making("a"))
    const drawn = [first(), first(), chance(making("a"))(), Chances.of(2)(making("a"))()]
    assert.strictEqual(new Set(drawn).size, 4)
    for (const number of drawn) assert.isTrue(number >= 0 && number < 1)
  })
})
