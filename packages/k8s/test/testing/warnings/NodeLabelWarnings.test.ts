import { assert, it } from "@effect/vitest"
import * as NodeLabelWarnings from "../../../src/testing/warnings/NodeLabelWarnings.ts"

const os = "beta.kubernetes.io/os"
const why = `deprecated since v1.14; use "kubernetes.io/os" instead`

it("labels of today are not spoken of", () => {
  assert.deepStrictEqual(NodeLabelWarnings.ofLabel("kubernetes.io/os", (text) => text), [])
})

it("a selector is told of old labels, wherever they stand in it", () => {
  const selector = { matchExpressions: [{ key: "a" }, { key: os }], matchLabels: { [os]: "linux", b: "c" } }
  assert.deepStrictEqual(NodeLabelWarnings.ofSelector(selector, "s"), [
    `s.matchExpressions[1].key: ${os} is ${why}`,
    `s.matchLabels.${os}: ${why}`
  ])
})

it("a preference is told of values that no label has; a requirement was refused for them before", () => {
  const term = { matchExpressions: [{ key: "a", operator: "In", values: ["fine", "not fine"] }] }
  const [warning, ...others] = NodeLabelWarnings.ofPreferences([{ preference: term }], "p")
  assert.match(warning!, /^p\[0\]\.preference\.matchExpressions\[0\]\.values\[1\]: not fine is invalid, a valid label/)
  assert.deepStrictEqual(others, [])
  assert.deepStrictEqual(NodeLabelWarnings.ofTerms([term], "t"), [])
})
