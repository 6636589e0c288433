/**
 * `MatchConditions`: the conditions under which a webhook or policy is called.
 *
 * All must be true. If one is false, it is not called, whatever the others result in. Otherwise, if one failed, the
 * failure policy decides: `Fail` refuses the request, `Ignore` skips the call. All conditions share a cost budget.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go,
 * .../plugin/cel/{condition,activation}.go, and pkg/apis/admissionregistration/validation/validation.go.
 */
import * as FieldError from "../schema/FieldError.ts"
import * as Cel from "./Cel.ts"
import type { Environment } from "./Environment.ts"

export interface MatchCondition {
  readonly name: string
  readonly expression: string
}

export type Match =
  | { readonly _tag: "Matches" }
  /** `failed` is the name of the condition that was false; undefined if a failure was ignored. */
  | { readonly _tag: "Differs"; readonly failed: string | undefined }
  | { readonly _tag: "Failed"; readonly message: string }

export type Matcher = (variables: Readonly<Record<string, Cel.Value>>) => Match

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

/** Evaluates the conditions of one webhook or policy. */
export const matcher = (
  conditions: ReadonlyArray<MatchCondition>,
  failurePolicy: "Fail" | "Ignore",
  environment: Environment = Cel.admission({ params: false, authorizer: true })
): Matcher => {
  const compiled = conditions.map(({ expression, name }) => ({
    name,
    made: Cel.compile(expression, environment, Cel.Types.bool)
  }))
  const failed = (message: string): Match =>
    failurePolicy === "Fail" ? { _tag: "Failed", message } : { _tag: "Differs", failed: undefined }
  return (variables) => {
    const errors: Array<string> = []
    let budget = Cel.matchConditionsBudget
    let settled: string | undefined
    for (const { made, name } of compiled) {
      if (made._tag === "Refused") {
        errors.push(`compilation error: ${made.detail}`)
        continue
      }
      const result = made.expression.evaluate(variables)
      if (result.cost > budget) return failed(outOfBudget)
      budget -= result.cost
      if (result._tag === "Failed") {
        errors.push(`expression '${made.expression.text}' resulted in error: ${result.message}`)
      } else if (result.value === false) settled ??= name
    }
    if (settled !== undefined) return { _tag: "Differs", failed: settled }
    return errors.length === 0 ? { _tag: "Matches" } : failed(FieldError.aggregateTexts(errors))
  }
}

/** The faults of a condition's expression at `path`. */
export const expressionFaults = (
  expression: string,
  path: string,
  environment: Environment = Cel.admission({ params: false, authorizer: true })
): ReadonlyArray<FieldError.FieldError> => {
  if (expression.trim() === "") return [FieldError.required(path, "")]
  const made = Cel.compile(expression, environment, Cel.Types.bool)
  return made._tag === "Refused" ? [FieldError.invalid(path, expression, made.detail)] : []
}
