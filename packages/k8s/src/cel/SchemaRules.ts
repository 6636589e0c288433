/**
 * `SchemaRules`: compiles the rules (`x-kubernetes-validations`) of a schema.
 *
 * `self` is the value that the schema describes, and `oldSelf` its old value: a rule that uses `oldSelf` is a
 * transition rule. The result includes a rule's errors, for the author of the definition, and its estimated cost.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go.
 */
import * as JsonValue from "../schema/JsonValue.ts"
import type * as Schema from "../schema/Schema.ts"
import * as DeclaredTypes from "./DeclaredTypes.ts"
import * as Environment from "./Environment.ts"
import type { Program } from "./Evaluator.ts"
import * as FieldPaths from "./FieldPaths.ts"
import * as StaticCost from "./StaticCost.ts"
import * as Types from "./Types.ts"
import { Fault } from "./Values.ts"

/** A rule as written. */
export interface Rule {
  readonly rule: string
  readonly message: string
  readonly messageExpression: string
  readonly reason: string | undefined
  readonly fieldPath: string
  readonly optionalOldSelf: boolean | undefined
}

/** An expression that is ready to run, or why it is not. */
export type Part =
  | { readonly _tag: "Ready"; readonly program: Program; readonly maxCost: number }
  | { readonly _tag: "Wrong"; readonly detail: string }

export interface CompiledRule {
  readonly rule: Rule
  /** Undefined for an empty rule. */
  readonly condition: Part | undefined
  readonly usesOldSelf: boolean
  readonly message: Part | undefined
  /** The path of a violation, relative to the value. */
  readonly path: string | undefined
}

const text = (value: unknown): string => typeof value === "string" ? value : ""

/** The rules of a schema. */
export const rulesOf = (schema: Schema.Schema): ReadonlyArray<Rule> =>
  (schema["x-kubernetes-validations"] ?? []).map((written) => {
    const entry = JsonValue.isObject(written) ? written : {}
    const optional = entry["optionalOldSelf"]
    return {
      rule: text(entry["rule"]),
      message: text(entry["message"]),
      messageExpression: text(entry["messageExpression"]),
      reason: typeof entry["reason"] === "string" ? entry["reason"] : undefined,
      fieldPath: text(entry["fieldPath"]),
      optionalOldSelf: typeof optional === "boolean" ? optional : undefined
    }
  })

/** The type name of objects without a name of their own, in type errors. */
const selfType = "selfType1"

interface Compiling {
  readonly environment: Environment.Environment
  readonly declared: DeclaredTypes.DeclaredType
}

interface Made {
  readonly part: Part
  readonly uses: ReadonlySet<string>
}

const wrong = (detail: string): Made => ({ part: { _tag: "Wrong", detail }, uses: new Set() })

const part = (
  { declared, environment }: Compiling,
  expression: string,
  wanted: Types.Type,
  words: { readonly compile: string; readonly type: string; readonly program: string }
): Made => {
  const made = Environment.compile(environment, expression)
  if (made._tag === "Refused") return wrong(`${words.compile}: ${made.issues}`)
  const { compiled } = made
  if (!Types.same(compiled.type, wanted)) return wrong(words.type)
  const uses = Environment.variablesOf(compiled)
  const program = Environment.program(compiled)
  if (program instanceof Fault) return { ...wrong(`${words.program}: ${program.message}`), uses }
  const maxCost = StaticCost.estimate(compiled.expr, compiled.checked, declared).max
  return { part: { _tag: "Ready", program, maxCost }, uses }
}

const conditionWords = {
  compile: "compilation failed",
  type: "cel expression must evaluate to a bool",
  program: "program instantiation failed"
}

const messageWords = {
  compile: "messageExpression compilation failed",
  type: "messageExpression must evaluate to a string",
  program: "messageExpression instantiation failed"
}

const compileRule = (schema: Schema.Schema, declared: DeclaredTypes.DeclaredType, rule: Rule): CompiledRule => {
  const base = { rule, usesOldSelf: false, message: undefined, path: undefined }
  if (rule.rule.trim() === "") return { ...base, condition: undefined }
  const oldSelf = rule.optionalOldSelf === true ? Types.optional(declared.type) : declared.type
  const environment = Environment.make({ self: declared.type, oldSelf }, DeclaredTypes.provider(declared))
  const compiling = { environment, declared }
  const condition = part(compiling, rule.rule, Types.bool, conditionWords)
  const usesOldSelf = condition.uses.has("oldSelf")
  if (condition.part._tag === "Wrong") return { ...base, condition: condition.part, usesOldSelf }
  return {
    rule,
    condition: condition.part,
    usesOldSelf,
    message: rule.messageExpression === ""
      ? undefined
      : part(compiling, rule.messageExpression, Types.string, messageWords).part,
    path: rule.fieldPath === "" ? undefined : FieldPaths.normalize(rule.fieldPath, schema)
  }
}

/** The type of `self` in a schema's rules; undefined if expressions do not see its values. */
export const declaredType = (schema: Schema.Schema, isRoot: boolean): DeclaredTypes.DeclaredType | undefined =>
  DeclaredTypes.fromSchema(schema, isRoot, selfType)

export const compile = (
  schema: Schema.Schema,
  declared: DeclaredTypes.DeclaredType
): ReadonlyArray<CompiledRule> => rulesOf(schema).map((rule) => compileRule(schema, declared, rule))
