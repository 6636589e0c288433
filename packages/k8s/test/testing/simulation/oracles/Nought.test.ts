import type { KubeObject } from "@effect-operator/core/KubeObject"
import { nought } from "@effect-operator/k8s/testing/simulation/oracles/Nought"
import type { Entry, Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import type { Reference } from "@effect-operator/k8s/testing/simulation/running/Reference"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const object = (kind: string, uid: string, spec: object, more: object = {}): KubeObject =>
  ({ kind, metadata: { name: uid, uid, namespace: "default" }, spec, ...more }) as never

const call = (at: number, status: number, of: KubeObject): Entry =>
  ({ _tag: "Call", at, status, object: of, request: { method: "PATCH", path: "/", query: [] } }) as never

const web = (spec: object, more?: object) => object("Web", "web", spec, more)
const deployment = (replicas: number, uid = "d") => object("Deployment", uid, { replicas })

/** What is said where people ask for something, then for something else, and a Deployment is as it is then. */
const said = (
  asked: readonly [KubeObject, KubeObject],
  [before, after]: readonly [ReadonlyArray<KubeObject>, ReadonlyArray<KubeObject>]
) => {
  const run: Recording = {
    ...blank,
    kinds: ["Web"],
    steps: [1, 5],
    entries: [
      ...["create", "none"].map((name) => ({ _tag: "Step", at: 1, name, made: [] }) as never),
      ...before.map((one) => call(2, 201, one)),
      ...after.map((one) => call(6, 200, one))
    ],
    rests: [{ objects: [asked[0], ...before], outside: new Map() }],
    objects: [asked[1], ...after]
  }
  return nought.judge(run, { recording: run } as unknown as Reference)
}

describe("Nought", () => {
  it("another number, where people ask for none, is told, with its place, and theirs", () => {
    assert.strictEqual(
      said([web({ size: 2 }), web({ size: 0 })], [[deployment(2)], [deployment(1)]]),
      "Web web asks for 0 (spec.size) after \"none\", but Deployment d gets 1 (spec.replicas), although it followed earlier " +
        "values: zero is treated as unset, and nothing reports that"
    )
  })

  it("nothing where there is none, where it is gone, or where another has none", () => {
    const asked = [web({ size: 2 }), web({ size: 0 })] as const
    assert.isUndefined(said(asked, [[deployment(2)], [deployment(0)]]))
    assert.isUndefined(said(asked, [[deployment(2), deployment(2, "e")], [deployment(1, "e")]]))
    assert.isUndefined(said(asked, [[deployment(2), deployment(2, "e")], [deployment(0), deployment(1, "e")]]))
    assert.isUndefined(said(asked, [[deployment(3)], [deployment(1)]]))
    assert.isUndefined(said(asked, [[deployment(2)], [deployment(2)]]))
  })

  it("nor where people ask for that number elsewhere, or for a pause", () => {
    const made = [[deployment(2)], [deployment(1)]] as const
    assert.isUndefined(said([web({ size: 2, least: 1 }), web({ size: 0, least: 1 })], made))
    assert.isUndefined(said([web({ size: 2 }), web({ size: 0, paused: true })], made))
    assert.isUndefined(said([web({ size: 2 }), web({ size: 3 })], made))
  })
})
