import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as DefinitionPaths from "../../../../src/testing/server/definitions/DefinitionPaths.ts"

const told = (...versions: ReadonlyArray<object>) =>
  [...versions.flatMap((_, index) => DefinitionPaths.ofVersion(versions, index)), ...DefinitionPaths.ofAll(versions)]
    .map(FieldError.format)

const scale = (specReplicasPath: string, statusReplicasPath: string, labelSelectorPath?: string) => ({
  subresources: { scale: { specReplicasPath, statusReplicasPath, labelSelectorPath } }
})
const columns = (...additionalPrinterColumns: ReadonlyArray<object>) => ({ additionalPrinterColumns })

// In the words of a real server.
describe("the paths of a definition", () => {
  it("a column has a name, a type, a format there is, and a path that starts with a dot", () => {
    const types = "boolean,date,integer,number,string"
    assert.deepStrictEqual(told(columns({}, { name: "B", type: "text", format: "x", jsonPath: "spec.a" })), [
      "spec.additionalPrinterColumns[0].name: Required value",
      `spec.additionalPrinterColumns[0].type: Required value: must be one of ${types}`,
      "spec.additionalPrinterColumns[0].JSONPath: Required value",
      `spec.additionalPrinterColumns[1].type: Invalid value: "text": must be one of ${types}`,
      "spec.additionalPrinterColumns[1].format: Invalid value: \"x\": must be one of " +
      "byte,date,date-time,double,float,int32,int64,password",
      "spec.additionalPrinterColumns[1].JSONPath: Invalid value: \"spec.a\": must be a simple json path starting with ."
    ])
    assert.deepStrictEqual(told(columns({ name: "C", type: "string", format: "date", jsonPath: "." })), [])
  })

  it("a scale has its replicas in spec and status, and its selector in either", () => {
    const path = "spec.subresources.scale"
    assert.deepStrictEqual(told(scale("", "status.a", ".a")), [
      `${path}.specReplicasPath: Required value`,
      `${path}.statusReplicasPath: Invalid value: "status.a": must be a simple json path starting with .`,
      `${path}.labelSelectorPath: Invalid value: ".a": should be a json path under either .spec or .status`
    ])
    assert.deepStrictEqual(told(scale(".spec.x", ".status", "")), [
      `${path}.statusReplicasPath: Invalid value: ".status": should be a json path under .status`
    ])
    assert.deepStrictEqual(told(scale(".spec.x", ".status.x", ".spec.s")), [])
  })

  it("are the version's where versions differ", () => {
    const wrong = columns({ name: "B", type: "string", jsonPath: "a" })
    const fault =
      "additionalPrinterColumns[0].JSONPath: Invalid value: \"a\": must be a simple json path starting with ."
    assert.deepStrictEqual(told(wrong, {}), [`spec.versions[0].${fault}`])
    assert.deepStrictEqual(told(wrong, wrong), [`spec.${fault}`])
    const text = "subresources.scale.specReplicasPath: Invalid value: \".x\": should be a json path under .spec"
    assert.deepStrictEqual(told({}, scale(".x", ".status.x")), [`spec.versions[1].${text}`])
  })

  const selectable = (paths: ReadonlyArray<string>, properties: object = { a: { type: "string" } }) => ({
    schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } },
    selectableFields: paths.map((jsonPath) => ({ jsonPath }))
  })

  it("a selectable field is one of the schema that holds a word or a number, and is told once", () => {
    const list = { type: "array", items: { type: "string" } }
    const typed =
      "must point to a field of type string, boolean or integer. Enum string fields and strings with formats " +
      "are allowed."
    const paths = [".spec.a", "", "spec.a", ".spec.z", ".spec.l", ".spec.l[0]", ".spec.a", ".spec."]
    assert.deepStrictEqual(told(selectable(paths, { a: { type: "integer" }, l: list })), [
      "spec.selectableFields[1].jsonPath: Required value",
      "spec.selectableFields[2].jsonPath: Invalid value: \"spec.a\": is an invalid path: expected [ or . but got: spec",
      "spec.selectableFields[3].jsonPath: Invalid value: \".spec.z\": is an invalid path: does not refer to a valid field",
      `spec.selectableFields[4].jsonPath: Invalid value: ".spec.l": ${typed}`,
      "spec.selectableFields[5].jsonPath: Invalid value: \".spec.l[0]\": is an invalid path: array notation is not allowed",
      "spec.selectableFields[6].jsonPath: Duplicate value: \".spec.a\"",
      "spec.selectableFields[7].jsonPath: Invalid value: \".spec.\": is an invalid path: unexpected end of JSON path"
    ])
    const named = {
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: { metadata: { type: "object", properties: { name: { type: "string" } } } }
        }
      },
      selectableFields: [{ jsonPath: ".metadata.name" }]
    }
    assert.deepStrictEqual(told(named), [
      "spec.selectableFields[0].jsonPath: Invalid value: \".metadata.name\": must not point to fields in metadata"
    ])
    const letters = [..."abcdefghi"]
    assert.deepStrictEqual(
      told(selectable(
        letters.map((name) => `.spec.${name}`),
        Object.fromEntries(letters.map((name) => [name, { type: "string" }]))
      )),
      ["spec.selectableFields: Too many: 9: must have at most 8 items"]
    )
  })

  it("selectable fields go with their schema: both are shared, or neither is", () => {
    const one = selectable([".spec.a"])
    const other = selectable([".spec.a"], { a: { type: "string" }, b: { type: "string" } })
    assert.deepStrictEqual(told(one, one), [])
    assert.deepStrictEqual(told(one, other), [
      "spec.selectableFields: Invalid value: \"\": may only be set when validations.schema is included"
    ])
    assert.deepStrictEqual(told(one, selectable([])), [
      "spec.versions[0].selectableFields: Invalid value: \"\": may only be set when `version.schema.openAPIV3Schema` is " +
      "not included"
    ])
    assert.deepStrictEqual(told(one, { ...other, selectableFields: [{ jsonPath: ".spec.b" }] }), [])
  })
})
