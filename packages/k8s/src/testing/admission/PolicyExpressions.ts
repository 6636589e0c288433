/**
 * `PolicyExpressions`: the expressions of one policy, and the `variables` that they can use.
 *
 * A variable is a named expression and can use the variables before it. It is evaluated at its first use, at most once
 * for a list of expressions, and its cost counts for the expression that used it. All expressions of a list share a
 * budget; when it is exhausted, the policy has failed.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/cel/{composition,activation}.go.
 */
import * as AdmissionTypes from "../../cel/AdmissionTypes.ts"
import * as Cel from "../../cel/Cel.ts"
import type { TypeProvider } from "../../cel/Checker.ts"
import * as Environment from "../../cel/Environment.ts"
import * as Types from "../../cel/Types.ts"
import { fault, MapValue, type Value } from "../../cel/Values.ts"
import { quote } from "../../schema/FieldError.ts"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"

/** What an expression can use in addition to the common variables. */
export interface Use {
  readonly authorizer: boolean
  /** The types for patches. */
  readonly patch: boolean
}

interface Variable {
  readonly name: string
  readonly made: Cel.Compilation
}

/** The compiled variables of a policy, and the environment of its expressions. */
export interface Scope {
  readonly variables: ReadonlyArray<Variable>
  readonly environment: (use: Use) => Environment.Environment
}

const variablesType = "kubernetes.variables"

const isPatchObject = (name: string): boolean => name === "Object" || name.startsWith("Object.")

const patchFields: Readonly<Record<string, Types.Type>> = {
  op: Types.string,
  path: Types.string,
  from: Types.string,
  value: Types.dyn
}

/** `Object{…}` can have any field, `JSONPatch{…}` those of an operation. */
const withPatchTypes = ({ field, isStruct }: TypeProvider): TypeProvider => ({
  isStruct: (name) => name === "JSONPatch" || isPatchObject(name) || isStruct(name),
  field: (type, name) =>
    isPatchObject(type) ? Types.dyn : type === "JSONPatch" ? patchFields[name] ?? Types.dyn : field(type, name)
})

const plainKinds: ReadonlySet<Types.Kind> = new Set<Types.Kind>([
  "any",
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "null",
  "string",
  "timestamp",
  "uint",
  "list",
  "map"
])

/** The type of a variable; dynamic for types of libraries. */
const visible = (type: Types.Type): Types.Type =>
  plainKinds.has(type.kind) ? { ...type, params: type.params.map(visible) } : Types.dyn

/** The types that are known of what expressions can use. */
export interface Known {
  readonly variables: (use: { readonly authorizer: boolean }) => Readonly<Record<string, Types.Type>>
  readonly types: TypeProvider
}

/** Objects and parameters are dynamic. */
const untyped = (spec: unknown): Known => {
  const params = at(spec, "paramKind") !== undefined
  return {
    variables: ({ authorizer }) => AdmissionTypes.variables({ params, authorizer }),
    types: AdmissionTypes.admissionTypes
  }
}

/**
 * A policy's variables, each compiled against those before it. `always` declares `variables` even if the policy has
 * none.
 */
export const scope = (
  spec: unknown,
  known: Known = untyped(spec),
  always = true
): Scope => {
  const variables: Array<Variable> = []
  const fields = new Map<string, Types.Type>()
  const own: TypeProvider = {
    isStruct: (name) => name === variablesType || known.types.isStruct(name),
    field: (type, name) => type === variablesType ? fields.get(name) : known.types.field(type, name)
  }
  const patching = withPatchTypes(own)
  const composed = always || arrayAt(spec, "variables").length > 0 ? { variables: Types.struct(variablesType) } : {}
  const environment = ({ authorizer, patch }: Use): Environment.Environment =>
    Environment.make(
      { ...known.variables({ authorizer }), ...composed },
      patch ? patching : own,
      patch ? Environment.patchFunctions : Environment.functions
    )
  for (const variable of arrayAt(spec, "variables")) {
    const name = stringAt(variable, "name")
    const made = Cel.compile(stringAt(variable, "expression"), environment({ authorizer: true, patch: false }))
    variables.push({ name, made })
    fields.set(name, made._tag === "Compiled" ? visible(made.expression.type) : Types.dyn)
  }
  return { variables, environment }
}

/** The variables during evaluation. */
class Lazy extends MapValue {
  private readonly variables: ReadonlyArray<Variable>
  private readonly values: Readonly<Record<string, Value>>
  private readonly known = new Map<string, Value>()
  /** The cost since it was last reset. */
  cost = 0

  constructor(variables: ReadonlyArray<Variable>, values: Readonly<Record<string, Value>>) {
    super()
    this.variables = variables
    this.values = { ...values, variables: this }
  }

  get size(): number {
    return this.variables.length
  }

  keys(): ReadonlyArray<Value> {
    return this.variables.map(({ name }) => name)
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return undefined
    let value = this.known.get(key)
    if (value === undefined) {
      const variable = this.variables.findLast(({ name }) => name === key)
      if (variable === undefined) return undefined
      value = this.evaluate(variable)
      this.known.set(key, value)
    }
    return value
  }

  private evaluate({ made, name }: Variable): Value {
    if (made._tag === "Refused") return fault(`composited variable ${quote(name)} fails to compile: ${made.detail}`)
    const result = made.expression.evaluate(this.values)
    this.cost += result.cost
    return result._tag === "Value"
      ? result.value
      : fault(`composited variable ${quote(name)} fails to evaluate: ${result.message}`)
  }
}

export type Evaluated =
  | { readonly _tag: "Value"; readonly value: Value }
  | { readonly _tag: "Failed"; readonly message: string }

export const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run"

/** The remaining budget; negative once it is exhausted. */
export interface Budget {
  remaining: number
}

/** Evaluates expressions of a policy one by one, with one set of variables. */
export const evaluator = (
  { variables }: Scope,
  values: Readonly<Record<string, Value>>,
  budget: Budget
): (made: Cel.Compilation) => Evaluated => {
  const lazy = new Lazy(variables, values)
  const all = { ...values, variables: lazy }
  return (made) => {
    if (made._tag === "Refused") return { _tag: "Failed", message: `compilation error: ${made.detail}` }
    const result = made.expression.evaluate(all)
    const cost = result.cost + lazy.cost
    lazy.cost = 0
    budget.remaining = cost > budget.remaining ? -1 : budget.remaining - cost
    if (budget.remaining < 0) return { _tag: "Failed", message: outOfBudget }
    return result._tag === "Value"
      ? { _tag: "Value", value: result.value }
      : { _tag: "Failed", message: `expression '${made.expression.text}' resulted in error: ${result.message}` }
  }
}

/** The results of all expressions; undefined if the budget was exhausted. */
export const evaluateAll = (
  scoped: Scope,
  values: Readonly<Record<string, Value>>,
  budget: Budget,
  expressions: ReadonlyArray<Cel.Compilation | undefined>
): ReadonlyArray<Evaluated | undefined> | undefined => {
  const evaluate = evaluator(scoped, values, budget)
  const results: Array<Evaluated | undefined> = []
  for (const made of expressions) {
    results.push(made === undefined ? undefined : evaluate(made))
    if (budget.remaining < 0) return undefined
  }
  return results
}
