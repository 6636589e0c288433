import { assert, describe, it } from "@effect/vitest"
import * as Outside from "../../../../src/testing/simulation/state/Outside.ts"

const run = (key: string, word: string, size: number) => ({
  outside: new Map([["machines", new Map([[key, { word, size, at: 1_767_225_600 + size }]])]])
})

describe("Outside", () => {
  it("what chance decides is masked, and nothing else", () => {
    const mask = Outside.differing(run("m-1", "abc", 2), run("m-7", "xyz", 2), "machines")
    assert.deepStrictEqual([...mask].sort(), ["outside machines.*.word", "outside machines{}"])
    const seen = (...of: Parameters<typeof run>) => Outside.outside(run(...of), "machines", mask)
    assert.deepStrictEqual(seen("m-3", "new", 2), seen("m-1", "abc", 2))
    assert.notDeepEqual(seen("m-3", "new", 3), seen("m-1", "abc", 2))
  })

  it("what is empty is as good as what was never made; sets have no order", () => {
    const of = (value: unknown) => Outside.outside({ outside: new Map([["machines", value]]) }, "machines", new Set())
    assert.isUndefined(of(new Map()))
    assert.isUndefined(of(undefined))
    assert.deepStrictEqual(of(new Set(["b", "a"])), of(new Set(["a", "b"])))
    assert.notDeepEqual(of(["b", "a"]), of(["a", "b"]))
  })

  it("what is as when it was first asked for is as good as what nobody has asked for", () => {
    const states = new Outside.States()
    const cloud = { next: 1, machines: new Map<string, string>() }
    states.set("cloud", cloud)
    const seen = () => Outside.outside({ outside: states, untouched: states.untouched }, "cloud", new Set())
    assert.isUndefined(seen())
    cloud.machines.set("m-1", "small")
    assert.deepStrictEqual(seen(), { machines: { "m-1": "small" }, next: 1 })
    // A run that continues knows how it began.
    const later = new Outside.States(states, states.untouched)
    assert.isDefined(Outside.outside({ outside: later, untouched: later.untouched }, "cloud", new Set()))
    cloud.machines.clear()
    assert.isUndefined(seen())
  })

  it("when something was done is no difference, also in a text", () => {
    const of = (value: unknown) => Outside.outside({ outside: new Map([["log", value]]) }, "log", new Set())
    assert.deepStrictEqual(of(["sent at 2026-01-01T00:00:01Z"]), of(["sent at 2026-01-01T00:01:07.2Z"]))
    assert.notDeepEqual(of(["sent at 2026-01-01T00:00:01Z"]), of(["lost at 2026-01-01T00:00:01Z"]))
    assert.deepStrictEqual(of(new Map([["2026-01-01T00:00:01Z", 1]])), of(new Map([["2026-01-01T00:00:09Z", 1]])))
  })

  it("whom of several an operator serves first is no difference, what it does for one is in its order", () => {
    const names = new Set(["a", "b"])
    const of = (value: unknown) => Outside.whoever(value as never, names)
    const record = (name: string, ip: string) => ({ name, ip })
    const [a, b] = [record("a", "1"), record("b", "1")]
    assert.deepStrictEqual(of({ zone: [b, a] }), of({ zone: [a, b] }))
    assert.deepStrictEqual(of(["default/b: made", "default/a: made"]), of(["default/a: made", "default/b: made"]))
    assert.notDeepEqual(of([a, b, record("a", "2")]), of([record("a", "2"), a, b]))
    assert.notDeepEqual(of([a, b, b]), of([a, b]))
    // What speaks of nobody may be for all of them.
    assert.notDeepEqual(of([a, "cleared", b]), of([b, "cleared", a]))
    assert.notDeepEqual(of([1, 2]), of([2, 1]))
  })

  it("who comes after a replica that is lost may have the next term, and nothing else", () => {
    const rename = (text: string) => text.replace(/-\d+$/, "-#")
    const is = (wanted: unknown, found: unknown) => Outside.isSucceeded(wanted as never, found as never, rename)
    const led = (leader: string, term: number, members = 3) => ({ leader: { leader, term }, members })
    assert.isTrue(is(led("kv-0", 1), led("kv-1", 2)))
    assert.isTrue(is([led("kv-0", 1)], [led("kv-1", 1)]))
    assert.isFalse(is(led("kv-0", 1), led("kv-0", 2)), "nobody has come after it")
    assert.isFalse(is(led("kv-0", 2), led("kv-1", 1)), "it goes back")
    assert.isFalse(is(led("kv-0", 1), led("kv-1", 2, 4)))
    assert.isFalse(is(led("kv-0", 1), led("db", 2)))
    assert.isFalse(is(led("kv-0", 1), { ...led("kv-1", 2), more: 1 }))
  })

  it("what names one of some replicas may name another, where it is asked so; how many there are counts", () => {
    const rename = (text: string) => text.replace(/-\d+$/, "-#")
    const of = (value: unknown) => Outside.outside({ outside: new Map([["ring", value]]) }, "ring", new Set(), rename)
    const ring = (...roles: ReadonlyArray<string>) => new Map(roles.map((role, index) => [`kv-${index}`, role]))
    assert.deepStrictEqual(of(ring("leader", "follower")), of(ring("follower", "leader")))
    assert.notDeepEqual(of(ring("leader", "follower")), of(ring("leader")))
    assert.notDeepEqual(of(ring("leader", "follower")), of(ring("leader", "leader")))
    assert.deepStrictEqual(of(["kv-1"]), of(["kv-0"]))
  })
})
