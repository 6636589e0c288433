import { Simulation } from "@effect-operator/k8s/testing"
import { none } from "@effect-operator/k8s/testing/simulation/recording/Fault"
import type { Entry } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import { report, timeline } from "@effect-operator/k8s/testing/simulation/telling/Report"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import * as B from "../planted/Box.ts"

const nothing = Simulation.record({ name: "nothing", resources: B.resources, operator: B.boxes(B.pods), steps: [] })

/** What is told of lines in a log, by their texts. */
const told = (...texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const entries = texts.map((text, at): Entry => ({ _tag: "Log", at, replica: 0, life: 1, level: "Warn", text }))
  return timeline({ ...nothing, entries }).map((line) => line.replace(/^.* Warn /, "").trim())
}

const call = (n: number, method: "PATCH" | "POST", path: string, body: unknown): Entry => ({
  _tag: "Call",
  at: n,
  sent: n,
  n,
  replica: 0,
  life: 1,
  request: { method, path, query: [], headers: {}, body },
  status: 200,
  object: undefined,
  said: undefined,
  before: n,
  after: n + 1
})

describe("a report", () => {
  it("what is left out is not the request that the complaint is about", () => {
    const scenario = { name: "nothing", resources: B.resources, operator: B.boxes(B.pods), steps: [] }
    const entries = Array.from(
      { length: 400 },
      (_, n) => call(n, n % 2 === 0 ? "PATCH" : "POST", `/x/${"y".repeat(n)}`, {})
    )
    const shown = (complaint: string) =>
      report(scenario, {
        plan: none,
        seed: 1,
        story: whole(scenario),
        oracle: "conditions",
        complaint,
        recording: { ...nothing, entries },
        reference: {} as never
      }, 40).split("\n").filter((line) => line.includes("asks")).map((line) => Number(/#(\d+)/.exec(line)![1]))
    assert.isTrue(shown("wrong: #200 PATCH /x").includes(200))
    assert.isFalse(shown("wrong").includes(200))
    assert.isAtMost(shown("wrong: #200 PATCH /x").length, 41)
  })
})

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
    assert.include(
      timeline({ ...nothing, entries: [call(1, "PATCH", "/apis/a/v1/boxes/b/status", body)] })[0],
      `status [{"op":"add","path":"/status/size","value":3}] -> 200`
    )
  })

  it("of an Event what it tells people is told", () => {
    const body = { eventTime: "now", type: "Normal", reason: "Made", action: "Made", note: "a Pod", regarding: {} }
    assert.include(
      timeline({ ...nothing, entries: [call(1, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", body)] })[0],
      `/events Made: "a Pod" -> 200`
    )
  })
})
