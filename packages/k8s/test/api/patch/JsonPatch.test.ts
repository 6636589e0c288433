import { assert, describe, it } from "@effect/vitest"
import { JsonPatch as EffectJsonPatch, Result } from "effect"
import * as JsonPatch from "../../../src/api/patch/JsonPatch.ts"
import * as JsonValue from "../../../src/schema/JsonValue.ts"
import { forAll, frozen } from "../../testing/support/RandomJson.ts"

const document = frozen({ a: 1, l: [1, [2, 3], { c: "x" }], "x/y": { "m~n": 5 }, z: null })

const apply = (...operations: ReadonlyArray<unknown>) => {
  const result = JsonPatch.apply(document, frozen(operations))
  return Result.isSuccess(result) ? result.success : result.failure.reason
}

describe("operations", () => {
  it("add", () => {
    assert.deepStrictEqual(apply({ op: "add", path: "/b", value: 2 }), { ...document, b: 2 })
    assert.deepStrictEqual(apply({ op: "add", path: "/l/0", value: 0 }), { ...document, l: [0, ...document.l] })
    assert.deepStrictEqual(apply({ op: "add", path: "/l/-", value: 0 }), { ...document, l: [...document.l, 0] })
    assert.deepStrictEqual(apply({ op: "add", path: "/l/3", value: 0 }), { ...document, l: [...document.l, 0] })
    assert.deepStrictEqual(apply({ op: "add", path: "/l/-1", value: 0 }), { ...document, l: [...document.l, 0] })
    assert.deepStrictEqual(apply({ op: "add", path: "/b" }), { ...document, b: null })
    assert.strictEqual(apply({ op: "add", path: "/l/4", value: 0 }), "Unprocessable")
    assert.strictEqual(apply({ op: "add", path: "/no/b", value: 0 }), "Unprocessable")
    assert.strictEqual(apply({ op: "add", path: "/a/b", value: 0 }), "Unprocessable")
    assert.strictEqual(apply({ op: "add", path: "", value: {} }), "Unprocessable")
  })

  it("remove", () => {
    assert.deepStrictEqual(apply({ op: "remove", path: "/x~1y/m~0n" }), { ...document, "x/y": {} })
    assert.deepStrictEqual(apply({ op: "remove", path: "/l/-3" }), { ...document, l: document.l.slice(1) })
    assert.strictEqual(apply({ op: "remove", path: "/no" }), "Unprocessable")
    assert.strictEqual(apply({ op: "remove", path: "/l/3" }), "Unprocessable")
    assert.strictEqual(apply({ op: "remove", path: "/l/x" }), "Unprocessable")
  })

  it("replace adds a missing key, but no item of a list", () => {
    assert.deepStrictEqual(apply({ op: "replace", path: "/b", value: 2 }), { ...document, b: 2 })
    assert.strictEqual(apply({ op: "replace", path: "/l/3", value: 2 }), "Unprocessable")
    assert.strictEqual(apply({ op: "replace", path: "/l/-", value: 2 }), "Unprocessable")
    assert.deepStrictEqual(apply({ op: "replace", path: "", value: { q: 1 } }), { q: 1 })
    assert.strictEqual(apply({ op: "replace", path: "", value: 1 }), "Unprocessable")
  })

  it("move and copy", () => {
    assert.deepStrictEqual(apply({ op: "move", from: "/l/1/0", path: "/a" }), {
      ...document,
      a: 2,
      l: [1, [3], { c: "x" }]
    })
    assert.strictEqual(apply({ op: "move", from: "/l", path: "/l/0" }), "Unprocessable")
    assert.strictEqual(apply({ op: "move", from: "/no", path: "/a" }), "Unprocessable")
    assert.deepStrictEqual(apply({ op: "copy", from: "/a", path: "/l/1/-" }), {
      ...document,
      l: [1, [2, 3, 1], { c: "x" }]
    })
    assert.deepStrictEqual(apply({ op: "copy", from: "/no", path: "/a" }), { ...document, a: null })
    assert.strictEqual(apply({ op: "copy", path: "/a" }), "Unprocessable")
  })

  it("test", () => {
    assert.deepStrictEqual(apply({ op: "test", path: "/l/2", value: { c: "x" } }), document)
    assert.deepStrictEqual(apply({ op: "test", path: "", value: { ...document } }), document)
    assert.deepStrictEqual(apply({ op: "test", path: "/no", value: null }), document)
    assert.strictEqual(apply({ op: "test", path: "/a", value: 2 }), "Unprocessable")
    assert.strictEqual(apply({ op: "test", path: "/no/no", value: null }), "Unprocessable")
  })

  it("~01 is a tilde and a one", () => {
    const result = JsonPatch.apply({ "~1": 1, "/": 2 }, [{ op: "remove", path: "/~01" }])
    assert.deepStrictEqual(Result.getOrThrow(result), { "/": 2 })
  })

  it("an unknown operation, or none", () => {
    assert.strictEqual(apply({ op: "nope", path: "/a" }), "Unprocessable")
    assert.strictEqual(apply({}), "Unprocessable")
    assert.strictEqual(apply(null), "Unprocessable")
  })

  it("all or nothing", () => {
    assert.strictEqual(
      apply({ op: "add", path: "/b", value: 1 }, { op: "test", path: "/b", value: 2 }),
      "Unprocessable"
    )
    assert.strictEqual(JsonPatch.apply(document, []).pipe(Result.getOrThrow), document)
  })
})

describe("what is no patch", () => {
  const failure = (operations: unknown) => {
    const result = JsonPatch.apply(document, operations)
    return Result.isFailure(result) ? result.failure : undefined
  }

  it("is malformed", () => {
    assert.deepStrictEqual(failure({}), {
      reason: "Malformed",
      message: "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    })
    assert.strictEqual(failure([1])?.reason, "Malformed")
    assert.strictEqual(failure([{ op: "add", path: 1 }])?.reason, "Malformed")
    assert.isUndefined(failure(null))
  })

  it("has at most 10,000 operations", () => {
    const operations = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/a", value: 1 }))
    assert.deepStrictEqual(failure(operations), {
      reason: "TooLarge",
      message: "The allowed maximum operations in a JSON patch is 10000, got 10001"
    })
    assert.isUndefined(failure(operations.slice(1)))
  })
})

describe("laws", () => {
  it("a computed patch leads from one document to the other", () =>
    forAll(300, (random) => {
      const from = frozen(random.object(4))
      const to = frozen(random.object(4))
      const patch = EffectJsonPatch.get(from as never, to as never)
      const result = JsonPatch.apply(from, patch)
      assert.isTrue(
        Result.isSuccess(result) && JsonValue.equals(result.success, to),
        JSON.stringify({ from, to, patch })
      )
    }))

  it("operations do at once what they do one after the other", () =>
    forAll(500, (random) => {
      const from = frozen({ a: random.object(3), b: { c: [1, { d: 2 }] }, e: [[1], random.value(2)] })
      const places = ["/a", "/a/k", "/b", "/b/c", "/b/c/0", "/b/c/1", "/b/c/1/d", "/e", "/e/0", "/e/0/-", "/__proto__"]
      const place = () => places[Math.floor(random.next() * places.length)]!
      const kinds = ["add", "replace", "remove", "copy", "copy", "move"]
      const operations = Array.from({ length: 12 }, () => ({
        op: kinds[Math.floor(random.next() * kinds.length)],
        path: place(),
        from: place(),
        value: random.value(2)
      }))
      const done: Array<unknown> = []
      let stepwise: unknown = from
      for (const operation of operations) {
        const next = JsonPatch.apply(frozen(stepwise), [operation])
        if (Result.isFailure(next)) continue
        stepwise = next.success
        done.push(operation)
      }
      const atOnce = JsonPatch.apply(from, frozen(done))
      assert.isTrue(
        Result.isSuccess(atOnce) && JsonValue.equals(atOnce.success, stepwise),
        JSON.stringify({ from, done, stepwise, atOnce })
      )
    }))

  it("very many operations on a large document come to an end: in a time that grows with their number", () => {
    // With a copy for each of them they would take longer than any test may.
    const large = Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`old-${at}`, at]))
    const operations = Array.from({ length: 10_000 }, (_, at) => ({ op: "add", path: `/m/k${at}`, value: at }))
    const result = JsonPatch.apply(frozen({ m: large }), frozen(operations))
    assert.lengthOf(Object.keys((Result.getOrUndefined(result) as { readonly m: object }).m), 100_000)
  })

  it("moving there and back changes nothing", () =>
    forAll(100, (random) => {
      const value = frozen({ from: random.value(3), list: [1, 2, 3] })
      const result = JsonPatch.apply(value, [
        { op: "move", from: "/from", path: "/list/1" },
        { op: "move", from: "/list/1", path: "/from" }
      ])
      assert.isTrue(Result.isSuccess(result) && JsonValue.equals(result.success, value))
    }))

  it("says what is wrong in the words of the server's library, which webhooks' patches are told", () => {
    const document = { a: 1, list: [1], deep: { b: 1 } }
    const cases: ReadonlyArray<readonly [object, string]> = [
      [
        { op: "add", path: "/x/y", value: 1 },
        "add operation does not apply: doc is missing path: \"/x/y\": missing value"
      ],
      [{ op: "add", value: 1 }, "add operation failed to decode path: missing value"],
      [
        { op: "add", path: "/list/x", value: 1 },
        "error in add for path: '/list/x': value was not a proper array index: 'x': " +
        "strconv.Atoi: parsing \"x\": invalid syntax"
      ],
      [
        { op: "add", path: "/list/5", value: 1 },
        "error in add for path: '/list/5': Unable to access invalid index: 5: invalid index referenced"
      ],
      [
        { op: "remove", path: "/x" },
        "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"
      ],
      [
        { op: "replace", path: "/list/9", value: 1 },
        "replace operation does not apply: doc is missing key: /list/9: missing value"
      ],
      [
        { op: "replace", value: 1 },
        "replace operation failed to decode path: operation missing path field: missing value"
      ],
      [{ op: "test", path: "/a", value: 2 }, "testing value /a failed: test failed"],
      [{ op: "test", path: "/x/y", value: 2 }, "test operation does not apply: is missing path: /x/y: missing value"],
      [
        { op: "move", path: "/x" },
        "move operation failed to decode from: operation, missing from field: missing value"
      ],
      [
        { op: "move", from: "/x", path: "/y" },
        "error in move for path: 'x': Unable to remove nonexistent key: x: missing value"
      ],
      [
        { op: "copy", from: "/a", path: "/x/y" },
        "copy operation does not apply: doc is missing destination path: /x/y: missing value"
      ],
      [{ op: "frob", path: "/a" }, "Unexpected kind: frob"]
    ]
    for (const [operation, message] of cases) {
      const result = JsonPatch.apply(document, [operation])
      assert.strictEqual(Result.isFailure(result) ? result.failure.message : "applied", message)
    }
  })
})
