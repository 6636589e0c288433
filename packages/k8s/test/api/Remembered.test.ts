import { assert, describe, it } from "@effect/vitest"
import { freeze } from "../../src/api/Plain.ts"
import * as Remembered from "../../src/api/Remembered.ts"

describe("Remembered", () => {
  it("by text, the same content is made once, in whatever object it comes", () => {
    const known = new Remembered.ByText<{ readonly n: number }>()
    let made = 0
    const make = () => ({ n: ++made })
    const first = known.get({ a: [1, 2] }, make)
    assert.strictEqual(known.get({ a: [1, 2] }, make), first)
    assert.notStrictEqual(known.get({ a: [2, 1] }, make), first)
    assert.strictEqual(made, 2)
  })

  it("does not remember what is too long, nor that nothing was made", () => {
    const known = new Remembered.ByText<object>()
    const long = { text: "x".repeat(Remembered.defaults.length) }
    assert.notStrictEqual(known.get(long, () => ({})), known.get(long, () => ({})))
    assert.isUndefined(known.get({}, () => undefined))
    assert.isDefined(known.get({}, () => ({})))
  })

  it("tables of texts begin anew when they are full", () => {
    const known = new Remembered.ByText<{ readonly n: number }>()
    const first = known.get({ n: -1 }, () => ({ n: -1 }))
    const text = "x".repeat(10_000)
    for (let n = 0; n < Remembered.defaults.size / 10_000 + 2; n++) known.get({ n, text }, () => ({ n }))
    assert.notStrictEqual(known.get({ n: -1 }, () => ({ n: -1 })), first)
    let asked = 0
    const double = Remembered.ofText((text) => {
      asked += 1
      return text + text
    }, 2)
    assert.deepStrictEqual(["a", "b", "a", "c", "a"].map(double), ["aa", "bb", "aa", "cc", "aa"])
    assert.strictEqual(asked, 4)
    for (const _ of [1, 2]) double("x".repeat(Remembered.defaults.short + 1))
    assert.strictEqual(asked, 6)
  })

  it("interns parts, and leaves frozen ones as they are", () => {
    const intern = Remembered.interning()
    const first = intern({ a: { b: 1 } })
    assert.isTrue(Object.isFrozen(first))
    assert.strictEqual(intern({ a: { b: 1 } }), first)
    const frozen = freeze({ a: { b: 1 } })
    assert.strictEqual(intern(frozen), frozen)
    assert.strictEqual(intern("text"), "text")
    assert.isNull(intern(null))
  })

  it("asks again about faults, and about what may still change", () => {
    const judge = Remembered.faultless<string>()
    const asked: Array<object> = []
    const of = (object: { readonly ok: boolean }) =>
      judge(object, () => {
        asked.push(object)
        return object.ok ? [] : ["wrong"]
      })
    const [good, bad, loose] = [freeze({ ok: true }), freeze({ ok: false }), { ok: true }]
    for (const object of [good, good, bad, bad, loose, loose]) {
      assert.deepStrictEqual(of(object), object.ok ? [] : ["wrong"])
    }
    assert.deepStrictEqual(asked, [good, bad, bad, loose, loose])
    loose.ok = false
    assert.deepStrictEqual(of(loose), ["wrong"])
  })
})
