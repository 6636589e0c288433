import { assert, describe, it } from "@effect/vitest"
import * as Cel from "../../src/cel/Cel.ts"

const environment = Cel.admission({ params: true, authorizer: false })

const expression = (text: string, ...allowed: ReadonlyArray<Cel.Types.Type>) => {
  const made = Cel.compile(text, environment, ...allowed)
  assert(made._tag === "Compiled")
  return made.expression
}

const refused = (text: string, ...allowed: ReadonlyArray<Cel.Types.Type>) => {
  const made = Cel.compile(text, environment, ...allowed)
  return made._tag === "Refused" ? made.detail : "compiled"
}

describe("compile", () => {
  it("runs as often as asked, on whatever it is given", () => {
    const { evaluate } = expression("object.spec.replicas <= params.max", Cel.Types.bool)
    const judge = (replicas: number) =>
      evaluate({ object: Cel.fromJson({ spec: { replicas } }), params: Cel.fromJson({ max: 3 }) })
    assert.deepInclude(judge(3), { _tag: "Value", value: true })
    assert.deepInclude(judge(4), { _tag: "Value", value: false })
    assert.deepInclude(evaluate({ object: Cel.fromJson({}), params: null }), {
      _tag: "Failed",
      message: "no such key: spec"
    })
  })

  it("tells what it costs and which variables it uses", () => {
    const made = expression("object.a == 1 || request.userInfo.username == 'x'")
    assert.deepStrictEqual([...made.uses].sort(), ["object", "request"])
    assert.strictEqual(made.evaluate({ object: Cel.fromJson({ a: 1 }) }).cost, 3)
  })

  it("an expression that costs too much is cancelled", () => {
    const { evaluate } = expression("object.l.all(x, object.l.all(y, object.l.all(z, true)))")
    const result = evaluate({ object: Cel.fromJson({ l: Array.from({ length: 200 }, () => 0) }) })
    assert.deepInclude(result, { _tag: "Failed", message: "operation cancelled: actual cost limit exceeded" })
    assert.isAbove(result.cost, Cel.callLimit)
  })

  it("knows the fields of a request", () => {
    assert.strictEqual(refused("request.userInfo.groups.exists(g, g == 'a') && request.dryRun"), "compiled")
    assert.include(refused("request.user == ''"), "undefined field 'user'")
    assert.strictEqual(refused("namespaceObject.metadata.labels['a'] == 'b'"), "compiled")
    assert.include(refused("authorizer.path('/x').check('get').allowed()"), "undeclared reference to 'authorizer'")
  })

  it("asks for types", () => {
    assert.strictEqual(refused("1", Cel.Types.bool), "must evaluate to bool but got int")
    assert.strictEqual(
      refused("1", Cel.Types.string, Cel.Types.nullType),
      "must evaluate to one of [string null_type] but got int"
    )
    assert.strictEqual(refused("object.a", Cel.Types.bool), "must evaluate to bool but got dyn")
  })

  it("a constant part that fails leaves no program", () => {
    assert.match(refused("duration('x') == duration('1s')"), /^(?:compilation|program instantiation) failed: /)
    assert.match(refused("'a'.matches('(')"), /^(?:compilation|program instantiation) failed: /)
  })
})

describe("JSON", () => {
  it("comes back as it was", () => {
    const json = { a: [1, 1.5, "x", null, true, { b: {} }], c: -3 }
    assert.deepStrictEqual(Cel.toJson(Cel.fromJson(json)), { json })
  })

  it("what is no JSON is told", () => {
    const { evaluate } = expression("{'a': type(1)}")
    const result = evaluate({ object: Cel.fromJson({ a: 1 }) })
    assert(result._tag === "Value")
    assert.property(Cel.toJson(result.value), "fault")
  })
})
