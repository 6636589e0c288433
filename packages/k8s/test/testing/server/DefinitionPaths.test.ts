import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../src/schema/FieldError.ts"
import * as DefinitionPaths from "../../../src/testing/server/DefinitionPaths.ts"

const told = (...versions: ReadonlyArray<object>) =>
  DefinitionPaths.faults({ spec: { versions } }).map(FieldError.format)

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
})
