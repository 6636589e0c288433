import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as ConditionRules from "../../../../src/testing/server/rules/ConditionRules.ts"
import { validatingPolicies, validatingPolicy } from "../../support/policies.ts"
import { causes } from "../../support/refusals.ts"
import { layer, patch, post } from "../../support/server.ts"

const good = { type: "Ready", status: "True", reason: "Fine", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }

const faults = (rule: typeof ConditionRules.validate, ...conditions: ReadonlyArray<object>) =>
  rule({ status: { conditions } }).map(FieldError.format)

const p = "status.conditions"

describe("ConditionRules", () => {
  it("a condition has a name, a status, a reason and a time", () => {
    assert.deepStrictEqual(faults(ConditionRules.validate, good), [])
    assert.deepStrictEqual(faults(ConditionRules.validate, good, { ...good, observedGeneration: -1 }), [
      `${p}[1].type: Duplicate value: "Ready"`,
      `${p}[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero`
    ])
    assert.deepStrictEqual(faults(ConditionRules.validate, { type: "A", status: "Yes" }), [
      `${p}[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"`,
      `${p}[0].lastTransitionTime: Required value`,
      `${p}[0].reason: Required value`
    ])
    const [words] = faults(ConditionRules.validate, { ...good, reason: "1 a" })
    assert.match(
      words!,
      /^status\.conditions\[0\]\.reason: Invalid value: "1 a": a condition reason must start with .* 'my_/
    )
    assert.deepStrictEqual(
      faults(ConditionRules.validate, { ...good, reason: "a".repeat(1025), message: "m".repeat(32 * 1024 + 1) }),
      [
        `${p}[0].reason: Too long: may not be more than 1024 bytes`,
        `${p}[0].message: Too long: may not be more than 32768 bytes`
      ]
    )
    assert.match(
      faults(ConditionRules.validate, { ...good, type: "a b" })[0]!,
      /^status\.conditions\[0\]\.type: Invalid/
    )
  })

  it("some kinds mind the type or the status only", () => {
    assert.deepStrictEqual(faults(ConditionRules.typed, {}, { type: "A" }, { type: "A" }), [
      `${p}[0].type: Required value`,
      `${p}[2].type: Duplicate value: "A"`
    ])
    assert.deepStrictEqual(faults(ConditionRules.decided, {}, { status: "True" }), [
      `${p}[0].status: Unsupported value: "": supported values: "True", "False", "Unknown"`
    ])
  })

  it.effect("disruption budgets and policies mind them", () =>
    Effect.gen(function*() {
      const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
      yield* post(budgets, {
        metadata: { name: "a" },
        spec: { minAvailable: 1, selector: { matchLabels: { a: "b" } } }
      })
      yield* post(validatingPolicies, validatingPolicy("a", { validations: [{ expression: "true" }] }))
      const lacking = [`${p}[0].lastTransitionTime: Required value`, `${p}[0].reason: Required value`]
      const status = { conditions: [{ type: "A", status: "True" }] }
      assert.deepStrictEqual(causes(yield* patch(`${budgets}/a/status`, "merge", { status })), lacking)
      const typeChecking = { expressionWarnings: [{ fieldRef: "", warning: "w" }] }
      assert.deepStrictEqual(
        causes(yield* patch(`${validatingPolicies}/a/status`, "merge", { status: { ...status, typeChecking } })),
        ["status.typeChecking.expressionWarnings[0].fieldRef: Required value", ...lacking]
      )
    }).pipe(Effect.provide(layer)))
})
