import { assert, describe, it } from "@effect/vitest"
import * as DuplicateFields from "../../../src/api/DuplicateFields.ts"
import * as OperationFaults from "../../../src/api/patch/OperationFaults.ts"

const of = (text: string) => {
  const patch = JSON.parse(text) as ReadonlyArray<unknown>
  DuplicateFields.note(patch, text)
  return OperationFaults.of(patch)
}

describe("OperationFaults", () => {
  it("names what an operation does not have, and what comes twice", () => {
    assert.deepStrictEqual(of(`[{"op":"add","path":"/a","value":{"b":[1]},"from":""}]`), [])
    assert.deepStrictEqual(of(`[{"op":"add","foo":2},{"op":"add","op":"add","Path":""}]`), [
      `json patch unknown field "[0].foo"`,
      `json patch duplicate field "[1].op"`,
      `json patch unknown field "[1].Path"`
    ])
  })

  it("looks into values, and not into what it does not know", () => {
    assert.deepStrictEqual(
      of(
        `[{"value":{"a":1,"a":2,"b":[{"c":1,"c":2}]},"value":1,"op":"add","valued":{"d":1,"d":2},"path":"","path":""}]`
      ),
      [
        `json patch duplicate field "[0].value.a"`,
        `json patch duplicate field "[0].value.b[0].c"`,
        `json patch duplicate field "[0].value"`,
        `json patch unknown field "[0].valued"`,
        `json patch duplicate field "[0].path"`
      ]
    )
  })
})
