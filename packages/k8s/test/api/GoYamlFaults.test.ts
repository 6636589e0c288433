import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as GoYaml from "../../src/api/GoYaml.ts"

const said = (text: string): unknown => {
  const read = GoYaml.read(text)
  return Result.isFailure(read) ? read.failure : read.success.value
}

describe("GoYamlFaults", () => {
  it.each<[string, string]>([
    ["{", "yaml: line 1: did not find expected node content"],
    ["{\"a\":", "yaml: line 1: did not find expected node content"],
    ["{\"a\":1", "yaml: line 1: did not find expected ',' or '}'"],
    ["[1,", "yaml: line 1: did not find expected node content"],
    ["[a,,b]", "yaml: did not find expected node content"],
    ["{\"a\" \"b\"}", "yaml: did not find expected ',' or '}'"],
    ["{\n  \"a\": 1\n  \"b\": 2\n}\n", "yaml: line 2: did not find expected ',' or '}'"],
    ["a: [b]]", "yaml: did not find expected key"],
    ["a: ,", "yaml: did not find expected node content"],
    ["a:\n  b: c\n d: e\n", "yaml: line 2: did not find expected key"],
    ["a: \"b\" c", "yaml: did not find expected key"],
    ["- a\nb: c\n", "yaml: line 1: did not find expected '-' indicator"],
    ["a: b\n- c\n", "yaml: line 1: did not find expected key"],
    ["apiVersion: v1\nmetadata\n  name: x\n", "yaml: line 3: could not find expected ':'"],
    ["a: b\nfoo\nbar: x\n", "yaml: line 3: could not find expected ':'"],
    ["a: b\nfoo\n", "yaml: line 3: could not find expected ':'"],
    ["apiVersion v1\nkind: x\n", "yaml: line 2: mapping values are not allowed in this context"],
    ["a: b\n\tc: d\n", "yaml: line 2: found a tab character that violates indentation"],
    ["a: >x\n", "yaml: did not find expected comment or line break"],
    ["a: \u0001", "yaml: control characters are not allowed"],
    ["%YAML 1.2\n---\na: b", "yaml: found incompatible YAML document"],
    ["<<: 1", "yaml: map merge requires map or sequence of maps as the value"],
    ["a:\n  <<: *y", "yaml: unknown anchor 'y' referenced"],
    ["a: {{ .x }}", "yaml: invalid map key: map[interface {}]interface {}{\".x\":interface {}(nil)}"],
    ["a: {{- x }}", "yaml: did not find expected node content"],
    ["? [a]\n: b", "yaml: invalid map key: []interface {}{\"a\"}"],
    ["null: a", "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"a\""]
  ])("%j", (text, words) => assert.strictEqual(said(text), words))

  it("what follows a node that has ended is not looked at", () => {
    assert.deepStrictEqual(said("  a: b\nc: d"), { a: "b" })
    assert.deepStrictEqual(said("  - a\n - b"), ["a"])
    assert.deepStrictEqual(said("{\"a\":1}x"), { a: 1 })
    assert.strictEqual(said("\"a\" b"), "a")
  })

  it("a return alone ends a line", () => assert.deepStrictEqual(said("a: b\rc: d"), { a: "b", c: "d" }))
})
