import { Simulation } from "@effect-operator/k8s/testing"
import type { Entry } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import { timeline } from "@effect-operator/k8s/testing/simulation/telling/Report"
import { assert, describe, it } from "@effect/vitest"
import * as B from "../planted/Box.ts"

const nothing = Simulation.record({ name: "nothing", resources: B.resources, operator: B.boxes(B.pods), steps: [] })

/** What is told of lines in a log, by their texts. */
const told = (...texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const entries = texts.map((text, at): Entry => ({ _tag: "Log", at, replica: 0, life: 1, level: "Warn", text }))
  return timeline({ ...nothing, entries }).map((line) => line.replace(/^.* Warn /, "").trim())
}

describe("the time line of a report", () => {
  it("what comes again at once is told once, whatever its numbers", () => {
    assert.deepStrictEqual(told("a 1", "a 2", "a 3", "b"), ["a 1", "… 2 more like this", "b"])
    assert.deepStrictEqual(told("a", "b", "a"), ["a", "b", "a"])
  })

  it("so is a group that comes three times or more", () => {
    const pair = ["try 1", "refused 1"]
    assert.deepStrictEqual(told("x", ...pair, ...pair, ...pair, ...pair, "y"), [
      "x",
      ...pair,
      "… 3 more like these 2",
      "y"
    ])
    assert.deepStrictEqual(told(...pair, ...pair, "y"), [...pair, ...pair, "y"])
    assert.deepStrictEqual(told(...pair, ...pair, ...pair, "try 9"), [...pair, "… 2 more like these 2", "try 9"])
  })

  it("nothing is lost: what is left of a group, and longer ones", () => {
    const long = ["a", "b", "c", "d", "e"]
    assert.deepStrictEqual(told(...long, ...long, ...long), [...long, ...long, ...long])
    assert.deepStrictEqual(told(), [])
  })

  it("of a JSON patch what it changes is told, not what it tests", () => {
    const body = [{ op: "test", path: "/metadata/uid", value: "u" }, { op: "add", path: "/status/size", value: 3 }]
    const entry: Entry = {
      _tag: "Call",
      at: 0,
      sent: 0,
      n: 1,
      replica: 0,
      life: 1,
      request: { method: "PATCH", path: "/apis/a/v1/boxes/b/status", query: [], headers: {}, body },
      status: 200,
      object: undefined,
      said: undefined,
      before: 1,
      after: 2
    }
    assert.include(
      timeline({ ...nothing, entries: [entry] })[0],
      `status [{"op":"add","path":"/status/size","value":3}] -> 200`
    )
  })
})
