import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"

const oracle = Simulation.oracles.find(({ name }) => name === "values are defined")!

const judged = (data: object, { asked = {}, outside = new Map<string, unknown>(), sent = data } = {}) => {
  const map = { kind: "ConfigMap", metadata: { name: "url", uid: "m" }, data }
  const box = { kind: "Box", metadata: { name: "box", uid: "b" }, spec: asked, status: { said: "undefined" } }
  const run = {
    entries: [
      { _tag: "Step", at: 0, name: "one", made: ["b"] },
      { _tag: "Change", at: 0, change: { type: "ADDED", object: box } },
      {
        _tag: "Call",
        at: 1,
        n: 3,
        request: {
          method: "POST",
          path: "/api/v1/namespaces/default/configmaps",
          query: [],
          body: { ...map, data: sent }
        },
        status: 201,
        object: map
      }
    ],
    kinds: ["Box"],
    steps: [0],
    rests: [],
    objects: [map],
    outside
  }
  return oracle.judge(run as never, { recording: run } as never)
}

describe("Undefined", () => {
  it("a text has a value in it that was not there", () => {
    assert.strictEqual(
      judged({ url: "http://undefined/home" }),
      "ConfigMap url: ConfigMap.data.url is \"http://undefined/home\", also when all is at rest: what should be in it was " +
        "not there when it was written: #3 POST /api/v1/namespaces/default/configmaps"
    )
    for (const text of ["undefined", "NaN", "db-undefined-0", "user:undefined@db", "[object Object]", "Invalid Date"]) {
      assert.include(judged({ text }), "was not there", text)
      assert.include(judged({ text: btoa(text) }), "was not there", `${text} in base64`)
    }
    assert.include(judged({}, { outside: new Map([["dns", new Map([["undefined.example.com", 1]])]]) }), "outside.dns")
  })

  it("what speaks of it, what others have written, and what people ask for is none", () => {
    for (const text of ["spec.url is undefined", "x === undefined ? 1 : 2", "undefinedBehaviour", "NaNo", "nginx"]) {
      assert.isUndefined(judged({ text }), text)
    }
    assert.isUndefined(judged({ text: "undefined" }, { sent: {} }))
    assert.isUndefined(judged({ text: "a-undefined" }, { asked: { mode: "undefined" } }))
  })
})
