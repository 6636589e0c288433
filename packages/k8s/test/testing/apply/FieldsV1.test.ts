import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as FieldsV1 from "../../../src/testing/apply/FieldsV1.ts"
import { forAll, type RandomJson } from "../support/RandomJson.ts"

const elements = ["f:a", "f:", "f:.", `k:{"name":"a"}`, `k:{"a":"\\u003c","b":2}`, "v:1", `v:"x"`, "i:0"]

const randomSet = (random: RandomJson): FieldSet.FieldSet =>
  FieldSet.of(
    ...Array.from(
      { length: 1 + Math.floor(random.next() * 8) },
      () => Array.from({ length: 1 + Math.floor(random.next() * 4) }, () => random.pick(elements))
    )
  )

describe("FieldsV1", () => {
  it("reads what it wrote, from text or not", () =>
    forAll(2000, (random) => {
      const set = randomSet(random)
      const json = FieldsV1.encode(set)
      assert.isTrue(Object.isFrozen(json))
      const read = Result.getOrThrow(FieldsV1.decode(JSON.parse(JSON.stringify(json))))
      assert.isTrue(FieldSet.equals(read, set))
      assert.strictEqual(JSON.stringify(FieldsV1.encode(read)), JSON.stringify(json))
    }))

  it("writes a dot for what is owned beside what is below it", () => {
    const set = FieldSet.of(["f:b"], ["f:a"], ["f:a", "f:x"], ["f:c", "f:y"])
    assert.strictEqual(
      JSON.stringify(FieldsV1.encode(set)),
      `{"f:a":{".":{},"f:x":{}},"f:b":{},"f:c":{"f:y":{}}}`
    )
  })

  it("drops elements of unknown kinds, and the whole if one is broken", () => {
    const read = Result.getOrThrow(FieldsV1.decode({ "f:a": { "x:1": {} }, "z:2": {} }))
    assert.deepStrictEqual(FieldSet.paths(read), [["f:a"]])
    for (const broken of [{ a: {} }, { "f:a": { "v:{": {} } }, { "f:a": 1 }, [], "x"]) {
      assert.isTrue(Result.isFailure(FieldsV1.decode(broken)))
    }
    assert.isTrue(FieldSet.isEmpty(Result.getOrThrow(FieldsV1.decode(undefined))))
  })
})
