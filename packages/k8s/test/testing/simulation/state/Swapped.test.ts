import type { State } from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { swapped } from "@effect-operator/k8s/testing/simulation/state/Swapped"
import { assert, describe, it } from "@effect/vitest"

const state = (objects: Readonly<Record<string, ReadonlyArray<object>>>): State =>
  new Map(
    Object.entries(objects).map(([family, members]) => [family, members.map((member) => JSON.stringify(member)).sort()])
  )

const claim = (address: unknown, spec: object = {}) => [{ spec, status: { address } }]

/** Two claims, and the pool that says by address who has it. */
const given = (ann: string, bob: string) =>
  state({
    "Claim default/ann": claim(ann),
    "Claim default/bob": claim(bob),
    "Pool default/all": [{ status: { taken: Object.fromEntries([[ann, "ann"], [bob, "bob"]].sort()) } }]
  })

describe("Swapped", () => {
  it("who got which is no difference, wherever that is written down", () => {
    assert.isTrue(swapped(given("10.0.0.1", "10.0.0.2"), given("10.0.0.2", "10.0.0.1")))
    const ports = (a: number, b: number) => state({ "A a": claim(a), "A b": claim(b), "List l": [{ ports: [a, b] }] })
    assert.isTrue(swapped(ports(4000, 4001), ports(4001, 4000)))
    const names = (a: string, b: string) =>
      state({ "A a": claim(a), "A b": claim(b), "List l": [{ all: [a, b].sort() }] })
    assert.isTrue(swapped(names("vm-1", "vm-2"), names("vm-2", "vm-1")))
  })

  it("what is only half exchanged is one, and what is there twice, or that nobody had", () => {
    const [one, two] = ["10.0.0.1", "10.0.0.2"] as const
    const half = new Map([...given(two, one), ["Pool default/all", given(one, two).get("Pool default/all")!]])
    assert.isFalse(swapped(given(one, two), half))
    assert.isFalse(swapped(given(one, two), given(one, one)))
    assert.isFalse(swapped(given(one, two), given(two, "10.0.0.3")))
    assert.isFalse(swapped(given(one, two), given(one, two)), "nothing is")
    assert.isFalse(
      swapped(given(one, two), state({ "Claim default/ann": claim(two), "Claim default/bob": claim(one) }))
    )
  })

  it("what was given back before another was given out, where a step did not wait, is none", () => {
    const only = (port: number) =>
      state({ "A b": [{ metadata: { name: "b" }, status: { port } }], "Pool all": [{ data: { [port]: "b" } }] })
    const both = state({
      "A a": [{ metadata: { name: "a" }, status: { port: 1 } }],
      "A b": [{ metadata: { name: "b" }, status: { port: 2 } }],
      "Pool all": [{ data: { 1: "a", 2: "b" } }]
    })
    assert.isTrue(swapped(only(2), only(1), [], [both]))
    assert.isFalse(swapped(only(2), only(1)))
    assert.isFalse(swapped(only(2), only(3), [], [both]), "nobody had it")
    const half = new Map([...only(1), ["Pool all", only(2).get("Pool all")!]])
    assert.isFalse(swapped(only(2), half, [], [both]))
    // Who is still there has what it had: what was asked for since is not there.
    assert.isFalse(swapped(only(2), only(1), [], [only(1)]))
  })

  it("what people have asked for by name is, and what is said in words", () => {
    const asked = (a: number, b: number) => state({ "A a": claim(a, { size: 1 }), "A b": claim(b, { size: 2 }) })
    assert.isFalse(swapped(asked(1, 2), asked(2, 1)))
    const phases = (a: string, b: string) => state({ "A a": claim(a), "A b": claim(b) })
    assert.isFalse(swapped(phases("Open", "Taken"), phases("Taken", "Open")))
  })

  it("who got which object of a pool is none, where both sides say so", () => {
    const bound = (ann: string, bob: string, knows: readonly [string, string] = [ann, bob]) =>
      state({
        "Claim default/ann": [{ metadata: { name: "ann" }, status: { item: knows[0] } }],
        "Claim default/bob": [{ metadata: { name: "bob" }, status: { item: knows[1] } }],
        "Item default/red": [{ metadata: { name: "red" }, spec: { claim: ann === "red" ? "ann" : "bob" } }],
        "Item default/blue": [{ metadata: { name: "blue" }, spec: { claim: ann === "red" ? "bob" : "ann" } }]
      })
    assert.isTrue(swapped(bound("red", "blue"), bound("blue", "red")))
    assert.isFalse(swapped(bound("red", "blue"), bound("blue", "red", ["red", "blue"])))
    assert.isFalse(swapped(bound("red", "blue"), bound("blue", "red", ["red", "red"])))
  })

  it("who had the other one may be gone", () => {
    const [one, two] = ["10.0.0.1", "10.0.0.2"] as const
    const left = (address: string) =>
      state({ "Claim default/bob": claim(address), "Pool default/all": [{ status: { taken: { [address]: "bob" } } }] })
    const before = [[given(one, two), given(two, one)] as const]
    assert.isTrue(swapped(left(two), left(one), before))
    assert.isFalse(swapped(left(two), left(one)))
    assert.isFalse(swapped(left(two), left(one), [[given(one, two), given(one, two)]]))
    assert.isFalse(swapped(left(two), left("10.0.0.3"), before))
  })
})
