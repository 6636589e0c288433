import type { State } from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { turned } from "@effect-operator/k8s/testing/simulation/state/Turned"
import { assert, describe, it } from "@effect/vitest"

/** A workload of a name, and a Service that selects one. */
const state = (name: string, selected = name, kind = "Deployment", image = "v1"): State =>
  new Map([
    [`${kind} default/${name}`, [JSON.stringify({ metadata: { name }, spec: { image, selector: { app: name } } })]],
    ["Service default/shop", [JSON.stringify({ metadata: {}, spec: { selector: { app: selected } } })]]
  ])

describe("Turned", () => {
  it("the other one of two takes the place of one that is gone", () => {
    assert.isTrue(turned(state("shop-blue"), state("shop-green")))
    assert.isTrue(turned(state("shop-blue-*"), state("shop-green-*")))
  })

  it("not if something names the one that is gone, or anything else is different", () => {
    assert.isFalse(turned(state("shop-blue"), state("shop-green", "shop-blue")))
    assert.isFalse(turned(state("shop-blue"), state("shop-green", "shop-green", "Deployment", "v2")))
  })

  it("not if it is of another kind, or called in another way, or what others call by its name", () => {
    assert.isFalse(turned(state("shop-blue"), state("shop-green", "shop-green", "StatefulSet")))
    assert.isFalse(turned(state("shop-blue"), state("store-green")))
    assert.isFalse(turned(state("blue"), state("green")))
    assert.isFalse(turned(state("shop-1"), state("shop-2")))
    assert.isFalse(turned(state("shop-blue", "", "ConfigMap"), state("shop-green", "", "ConfigMap")))
  })
})
