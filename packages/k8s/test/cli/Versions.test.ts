import { assert, it } from "@effect/vitest"
import * as Versions from "../../src/cli/Versions.ts"

it("versions come in the order of their names", () => {
  const order = ["v1alpha1", "v1alpha2", "v1alpha10", "v1beta1", "v1", "v2alpha1", "v2", "v10"]
  for (const [i, a] of order.entries()) {
    for (const [j, b] of order.entries()) assert.strictEqual(Versions.isAfter(a, b), i > j, `${a} after ${b}`)
  }
})

it("a copy has the other name and version, and nothing else of it", () => {
  const text = [
    "const name = \"Box\"",
    "export const Box = CustomResource.make({",
    "  group: \"example.com\", version: \"v1\", kind: \"Box\",",
    "  spec: Schema.Struct({ version: \"v1\" })",
    "})",
    "export type Box = typeof Box.Type",
    "export type Spec = (typeof Box.Type)[\"spec\"]",
    "export type Boxes = typeof Boxes.Type"
  ].join("\n")
  const made = Versions.copy(text, "Box", Versions.further("Box", "v2beta1"))
  assert.deepStrictEqual(made.split("\n").filter((line) => !text.includes(line)), [
    "export const BoxV2beta1 = CustomResource.make({",
    "  group: \"example.com\", version: \"v2beta1\", kind: \"Box\",",
    "export type BoxV2beta1 = typeof BoxV2beta1.Type",
    "export type Spec = (typeof BoxV2beta1.Type)[\"spec\"]"
  ])
})
