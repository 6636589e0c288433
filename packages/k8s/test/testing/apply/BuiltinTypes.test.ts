import { assert, describe, it } from "@effect/vitest"
import { definitions } from "../../../src/kinds/definitions.ts"
import * as BuiltinTypes from "../../../src/testing/apply/BuiltinTypes.ts"
import type { Type } from "../../../src/testing/apply/Types.ts"

const at = (name: string, ...path: ReadonlyArray<string>): Type =>
  path.reduce(
    (type, step) => step === "*" ? type.list?.element ?? type.map!.element! : type.map!.fields.get(step)!.type,
    BuiltinTypes.ofDefinition(`io.k8s.api.${name}`)
  )

describe("BuiltinTypes", () => {
  it("know how lists merge", () => {
    const ports = at("core.v1.Service", "spec", "ports")
    assert.deepStrictEqual(ports.list!.keys, ["port", "protocol"])
    assert.strictEqual(ports.list!.element.map!.fields.get("protocol")!.default, "TCP")
    assert.deepStrictEqual(at("apps.v1.Deployment", "spec", "template", "spec", "containers").list!.keys, ["name"])
    assert.deepStrictEqual(at("core.v1.Pod", "metadata", "finalizers").list, {
      associative: true,
      keys: [],
      element: at("core.v1.Pod", "metadata", "finalizers", "*")
    })
    assert.isFalse(at("core.v1.Pod", "spec", "tolerations").list!.associative)
    assert.deepStrictEqual(at("core.v1.Pod", "metadata", "ownerReferences").list!.keys, ["uid"])
  })

  it("know what is owned as a whole", () => {
    assert.isTrue(at("apps.v1.Deployment", "spec", "selector").map!.atomic)
    assert.isTrue(at("core.v1.Service", "spec", "selector").map!.atomic)
    assert.isFalse(at("core.v1.ConfigMap", "data").map!.atomic)
    assert.strictEqual(at("core.v1.Pod", "spec", "containers", "*", "resources", "limits", "*").scalar, "untyped")
  })

  it("know what a struct writes anyway", () => {
    const zeros = (name: string, ...path: ReadonlyArray<string>) => at(name, ...path).map!.zeros
    assert.sameMembers([...zeros("apps.v1.Deployment")!.keys()], ["metadata", "spec", "status"])
    assert.include([...zeros("apps.v1.Deployment", "spec")!.keys()], "template")
    assert.notInclude([...zeros("apps.v1.Deployment", "spec", "template", "spec")!.keys()], "securityContext")
    assert.isTrue(zeros("core.v1.Pod", "spec", "containers", "*")!.has("resources"))
  })

  it("contain themselves where the definition does, and every definition has one", () => {
    const schema = BuiltinTypes.ofDefinition("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert.strictEqual(schema.map!.fields.get("not")!.type, schema)
    for (const name of Object.keys(definitions)) {
      const { list, map, scalar } = BuiltinTypes.ofDefinition(name)
      assert.isTrue(list !== undefined || map !== undefined || scalar !== undefined, name)
    }
  })
})
