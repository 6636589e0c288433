import { assert, it } from "@effect/vitest"
import * as DefinitionWarnings from "../../../src/testing/warnings/DefinitionWarnings.ts"

const text = (format: string) => ({ type: "string", format })

const definition = (...schemas: ReadonlyArray<object>) =>
  ({ spec: { versions: schemas.map((openAPIV3Schema) => ({ schema: { openAPIV3Schema } })) } }) as never

it("tells each format of texts that is not known, once, wherever it is", () => {
  const schema = {
    type: "object",
    properties: {
      a: text("zzz"),
      b: { type: "array", items: text("int64") },
      c: { type: "integer", format: "yyy" },
      d: text("date-time"),
      e: { type: "object", additionalProperties: text("zzz"), anyOf: [{ properties: { f: text("k8s-short-name") } }] }
    }
  }
  assert.deepStrictEqual(DefinitionWarnings.ofDefinition(definition(schema, schema), undefined), [
    "unrecognized format \"zzz\"",
    "unrecognized format \"int64\""
  ])
})

it("tells of an update what is new", () => {
  const before = definition({ type: "object", properties: { a: text("x") } })
  const after = definition({ type: "object", properties: { a: text("x"), b: text("y") } })
  assert.deepStrictEqual(DefinitionWarnings.ofDefinition(before, before), [])
  assert.deepStrictEqual(DefinitionWarnings.ofDefinition(after, before), ["unrecognized format \"y\""])
})
