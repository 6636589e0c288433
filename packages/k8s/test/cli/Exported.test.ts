import { assert, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Exported from "../../src/cli/Exported.ts"
import { CustomResource } from "@effect-operator/core"
import { operator } from "../../templates/src/main.ts"

const fault = (exports: Readonly<Record<string, unknown>>) => Result.getOrThrow(Result.flip(Exported.of(exports)))

it("the description is made of the export `operator`", () => {
  const description = Result.getOrThrow(Exported.of({ operator, other: 1 }))
  assert.strictEqual(description.name, "demo")
  assert.deepStrictEqual(description.env, {})
  assert.deepStrictEqual(Result.getOrThrow(Exported.of({ operator: { ...operator, env: { A: "b" } } })).env, { A: "b" })
  assert.deepStrictEqual(description.definitions.map(({ metadata }) => metadata.name), ["websites.example.com"])
  assert.deepStrictEqual(description.kinds.map(({ kind, plural, version }) => [kind, plural, version]), [
    ["Website", "websites", "v1"]
  ])
  assert.deepStrictEqual(Object.keys(description.files), [
    "crd.yaml",
    "rbac.yaml",
    "service.yaml",
    "network-policy.yaml",
    "deployment.yaml",
    "kustomization.yaml"
  ])
  // It goes from one process to another.
  assert.deepStrictEqual(JSON.parse(JSON.stringify(description)), description)
})

it("what is wrong with an export is named, with its value and the remedy", () => {
  assert.include(fault({ main: 1, start: 2 }), "exports no `operator` (only main, start); add\n  export const operator")
  assert.include(fault({ operator: 5 }), "`operator` is not an object; write")
  assert.include(fault({ operator: { ...operator, name: "" } }), "`operator.name` is \"\": must be a non-empty string")
  assert.include(fault({ operator: { ...operator, image: undefined } }), "`operator.image` is missing")
  assert.include(
    fault({ operator: { ...operator, env: { SIZE: 3 } } }),
    "`operator.env.SIZE` is 3: must be a string"
  )
  assert.include(
    fault({ operator: { ...operator, env: "SIZE=3" } }),
    "`operator.env` is \"SIZE=3\": must be an object of strings"
  )
  assert.include(fault({ operator: { ...operator, writes: {} } }), "`operator.writes` is {}: must be an array")
})

it("a Schema without a structural form is told with its fields", () => {
  const Odd = CustomResource.make({
    group: "example.com",
    version: "v1",
    kind: "Odd",
    spec: Schema.Struct({ pair: Schema.Tuple([Schema.String, Schema.Int]) })
  })
  assert.include(fault({ operator: { ...operator, resources: [Odd] } }), "spec.pair")
})
