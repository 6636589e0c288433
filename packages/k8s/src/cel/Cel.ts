/**
 * `Cel`: expressions in the Common Expression Language, compiled and evaluated as a Kubernetes API server does.
 *
 *     const made = Cel.compile("object.spec.replicas <= 5", Cel.admission({ params: false, authorizer: false }))
 *     if (made._tag === "Compiled") made.expression.evaluate({ object: Cel.fromJson(pod) })
 *
 * An expression is compiled once and evaluated as often as needed; neither throws. Errors are worded as the server's,
 * ready for a field error (`compilation failed: …`) or a denial (`expression '…' resulted in error: …`). Evaluation has
 * a cost: each expression has a limit of its own, and the caller keeps the budget of several together.
 *
 * Language definition: https://github.com/google/cel-spec/blob/master/doc/langdef.md; Kubernetes' additions:
 * https://kubernetes.io/docs/reference/using-api/cel/.
 */
import * as AdmissionTypes from "./AdmissionTypes.ts"
import * as Environment from "./Environment.ts"
import * as Types from "./Types.ts"
import { Fault, type Value } from "./Values.ts"

export { type Environment, make as environment } from "./Environment.ts"
export { fromJson, toJson } from "./JsonValues.ts"
export * as Types from "./Types.ts"
export { Fault, type Value } from "./Values.ts"

/** The cost limit of one evaluation. */
export const callLimit = 1_000_000
/** The cost budget of all rules of an object, or of all validations of a policy, together. */
export const objectBudget = 10_000_000
/** The cost budget of all match conditions of a webhook or policy together. */
export const matchConditionsBudget = 2_500_000

/** The result of an evaluation: a value that is not a fault, or the server's error. */
export type Evaluated =
  | { readonly _tag: "Value"; readonly value: Value; readonly cost: number }
  | { readonly _tag: "Failed"; readonly message: string; readonly cost: number }

export interface Expression {
  readonly text: string
  readonly type: Types.Type
  /** The names of the variables in use. */
  readonly uses: ReadonlySet<string>
  /** Evaluates it. A variable without a value is an error only if it is evaluated. */
  readonly evaluate: (variables: Readonly<Record<string, Value>>) => Evaluated
}

export type Compilation =
  | { readonly _tag: "Compiled"; readonly expression: Expression }
  | { readonly _tag: "Refused"; readonly detail: string }

/** The error if an expression does not have one of the allowed types; an empty list allows all. */
const typeFault = (type: Types.Type, allowed: ReadonlyArray<Types.Type>): string | undefined => {
  if (allowed.length === 0 || allowed.some((one) => one.kind === "any" || Types.same(type, one))) return undefined
  const [first, ...rest] = allowed.map(typeName)
  return rest.length === 0
    ? `must evaluate to ${first} but got ${typeName(type)}`
    : `must evaluate to one of [${[first, ...rest].join(" ")}] but got ${typeName(type)}`
}

/** A type as Go prints it. */
export const typeName = (type: Types.Type): string =>
  type.params.length === 0 ? type.name : `${type.name}(${type.params.map(typeName).join(", ")})`

/** Compiles an expression that must have one of the types. */
export const compile = (
  text: string,
  environment: Environment.Environment,
  ...allowed: ReadonlyArray<Types.Type>
): Compilation => {
  const made = Environment.compile(environment, text)
  if (made._tag === "Refused") return { _tag: "Refused", detail: `compilation failed: ${made.issues}` }
  const { compiled } = made
  const wrongType = typeFault(compiled.type, allowed)
  if (wrongType !== undefined) return { _tag: "Refused", detail: wrongType }
  const program = Environment.program(compiled)
  if (program instanceof Fault) {
    return { _tag: "Refused", detail: `program instantiation failed: ${program.message}` }
  }
  return {
    _tag: "Compiled",
    expression: {
      text,
      type: compiled.type,
      uses: Environment.variablesOf(compiled),
      evaluate: (variables) => {
        const { cost, value } = program.run(variables, callLimit)
        return value instanceof Fault
          ? { _tag: "Failed", message: value.message, cost }
          : { _tag: "Value", value, cost }
      }
    }
  }
}

const admissionEnvironments = new Map<string, Environment.Environment>()

/** The environment of admission expressions: `object`, `oldObject`, `request` and so on. */
export const admission = (use: AdmissionTypes.Use): Environment.Environment => {
  const key = `${use.params}/${use.authorizer}`
  let made = admissionEnvironments.get(key)
  if (made === undefined) {
    made = Environment.make(AdmissionTypes.variables(use), AdmissionTypes.admissionTypes)
    admissionEnvironments.set(key, made)
  }
  return made
}
