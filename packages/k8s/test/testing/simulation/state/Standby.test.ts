import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Point } from "@effect-operator/k8s/testing/simulation/recording/Fault"
import type { Entry, Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import type { State } from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { isLookedAfter, turnsWith } from "@effect-operator/k8s/testing/simulation/state/Standby"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const state = (images: Readonly<Record<string, string>>): State =>
  new Map(
    Object.entries(images).map(([name, image]) => [
      `Deployment default/${name}`,
      [JSON.stringify({ metadata: { name }, spec: { selector: { app: name }, image } })]
    ])
  )

const green = "Deployment default/shop-green"
const atOnce = state({ "shop-blue": "v2" })

describe("Standby", () => {
  it("two colours take turns, whichever of them is as it was", () => {
    const blue = ["Deployment default/shop-blue"]
    assert.deepStrictEqual(turnsWith(green, state({ "shop-blue": "v1", "shop-green": "v2" }), atOnce), blue)
    assert.deepStrictEqual(turnsWith(green, state({ "shop-blue": "v2", "shop-green": "v1" }), atOnce), blue)
  })

  it("not what is the same twice, is called in another way, or is of another kind", () => {
    const alone = (family: string, now: Readonly<Record<string, string>>) =>
      assert.deepStrictEqual(turnsWith(family, state(now), atOnce), [])
    alone(green, { "shop-blue": "v2", "shop-green": "v2" })
    alone(green, { "shop-blue": "v7", "shop-green": "v8" })
    alone("Deployment default/shop-green-2", { "shop-blue": "v1", "shop-green-2": "v2" })
    alone("Service default/shop-green", { "shop-blue": "v1" })
  })

  it("names that the server has drawn are no words", () => {
    const drawn = state({ "shop-blue-*": "v1", "shop-green-*": "v2" })
    const family = "Deployment default/shop-green-*"
    assert.deepStrictEqual(turnsWith(family, drawn, state({ "shop-blue-*": "v2" })), ["Deployment default/shop-blue-*"])
  })

  const child = { metadata: { uid: "1" } } as KubeObject
  const call = (at: number, status: number, method: string): Entry =>
    ({ _tag: "Call", n: 7, at, status, object: child, request: { method, path: "/", query: [] } }) as never
  const run: Recording = { ...blank, entries: [call(1, 201, "POST"), call(2, 200, "PATCH")], steps: [1, 2] }
  const fault = { _tag: "Fault", at: 5 } as Entry

  /** With what a process that starts anew does, and what becomes of what was removed. */
  const judged = (after: ReadonlyArray<Entry>, removed: Partial<Recording>) => {
    const points: Array<Point> = []
    const is = isLookedAfter("1", run, (point) => {
      points.push(point)
      return point.fault === "restarted"
        ? { ...run, entries: [...run.entries, fault, ...after] }
        : { ...blank, ...removed }
    })
    return { is, points }
  }

  it("who starts anew and asks for it looks after it, and so does who makes it again", () => {
    assert.deepStrictEqual(judged([call(6, 200, "PATCH")], {}), {
      is: true,
      points: [{ _tag: "Step", at: 2, fault: "restarted" }]
    })
    assert.deepStrictEqual(judged([], { met: 1 }), {
      is: true,
      points: [{ _tag: "Step", at: 2, fault: "restarted" }, { _tag: "Call", at: 7, fault: "removed" }]
    })
  })

  it("not who reads it, or leaves it gone", () => {
    assert.isFalse(judged([call(6, 200, "GET")], { met: 1, abandoned: "Deployment default/shop-green" }).is)
    assert.isFalse(judged([], { met: 1, unnoticed: ["Deployment default/shop-green"] }).is)
    assert.isFalse(judged([], { met: 0 }).is)
    assert.isFalse(isLookedAfter("1", { ...run, steps: [1, 3] }, () => ({ ...blank, met: 1 })))
  })
})
