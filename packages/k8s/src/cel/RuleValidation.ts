/**
 * `RuleValidation`: validates an object by the CEL rules of its schema.
 *
 * Rules run for every non-null value that their schema describes: first a node's own, then those of its entries.
 * Transition rules run if there is an old value, those with `optionalOldSelf` always. If a rule without `oldSelf` is
 * violated by an unchanged value, that is only a warning. All rules of an object share a cost budget; when it is
 * exhausted, or one rule exceeds its own limit, nothing more is checked.
 *
 * Rules are compiled once per schema; a schema without rules costs one map look-up.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go.
 */
import * as Correlation from "../schema/Correlation.ts"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as Schema from "../schema/Schema.ts"
import * as Cel from "./Cel.ts"
import { costFault, type Outcome, type Program } from "./Evaluator.ts"
import { trimSpace } from "./library/Strings.ts"
import * as SchemaRules from "./SchemaRules.ts"
import * as SchemaValues from "./SchemaValues.ts"
import { Fault, none, Optional, type Value } from "./Values.ts"

/** The rules of a schema and of its inner schemas. */
interface Node {
  readonly schema: Schema.Schema
  readonly isRoot: boolean
  readonly rules: ReadonlyArray<SchemaRules.CompiledRule>
  readonly usesOldSelf: boolean
  readonly items: Node | undefined
  readonly values: Node | undefined
  readonly properties: ReadonlyMap<string, Node>
}

const build = (schema: Schema.Schema, isRoot: boolean): Node | undefined => {
  const inner = (child: Schema.Schema): Node | undefined =>
    build(child, child["x-kubernetes-embedded-resource"] === true)
  const values = Schema.mapValue(schema)
  const properties = new Map<string, Node>()
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const made = inner(child)
    if (made !== undefined) properties.set(name, made)
  }
  const declared = SchemaRules.rulesOf(schema).length === 0 ? undefined : SchemaRules.declaredType(schema, isRoot)
  const rules = declared === undefined ? [] : SchemaRules.compile(schema, declared)
  const items = schema.items === undefined ? undefined : inner(schema.items)
  const entries = values === undefined ? undefined : inner(values)
  return rules.length === 0 && items === undefined && entries === undefined && properties.size === 0
    ? undefined
    : {
      schema,
      isRoot,
      rules,
      usesOldSelf: rules.some(({ usesOldSelf }) => usesOldSelf),
      items,
      values: entries,
      properties
    }
}

const built = new WeakMap<Schema.Schema, { readonly node: Node | undefined }>()

const nodeOf = (schema: Schema.Schema, isRoot: boolean): Node | undefined => {
  let found = built.get(schema)
  if (found === undefined) {
    found = { node: build(schema, isRoot) }
    built.set(schema, found)
  }
  return found.node
}

/** True if there is any rule in the schema of an object. */
export const hasRules = (schema: Schema.Schema): boolean => nodeOf(schema, true) !== undefined

/** The errors so far, and the remaining budget; a negative budget ends the validation. */
interface Run {
  readonly errors: Array<FieldError.FieldError>
  readonly warnings: Array<string>
  budget: number
}

/** The correlation of a value, and that of its nearest correlated ancestor. */
interface Ratchet {
  readonly current: Correlation.Correlation | undefined
  readonly parent: Correlation.Correlation | undefined
}

const forgives = ({ current, parent }: Ratchet): boolean => {
  const judged = current ?? parent
  return judged !== undefined && Correlation.unchanged(judged)
}

const within = (
  ratchet: Ratchet,
  correlate: (parent: Correlation.Correlation) => Correlation.Correlation | undefined
): Ratchet => ratchet.current === undefined ? ratchet : { current: correlate(ratchet.current), parent: ratchet.current }

const atKey = (ratchet: Ratchet, key: string): Ratchet =>
  ratchet.parent === undefined && (key === "apiVersion" || key === "kind")
    ? { current: undefined, parent: undefined }
    : within(ratchet, (parent) => Correlation.child(parent, key))

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

const fieldOf = (path: string): string => path === "" ? "<nil>" : path

const end = (run: Run, node: Node, path: string, detail: string): void => {
  run.errors.push(FieldError.invalid(fieldOf(path), node.schema.type ?? "", detail))
  run.budget = -1
}

const ruleText = ({ message, rule }: SchemaRules.Rule): string => trimSpace(message === "" ? rule : message)

const violation = (
  field: string,
  value: unknown,
  detail: string,
  reason: string | undefined
): FieldError.FieldError => {
  const shown = value === undefined ? {} : { value }
  switch (reason) {
    case "FieldValueForbidden":
      return FieldError.forbidden(field, detail)
    case "FieldValueRequired":
      return FieldError.required(field, detail)
    case "FieldValueDuplicate":
      return { type: "Duplicate", field, ...shown, detail: "" }
    default:
      return { type: "Invalid", field, ...shown, detail }
  }
}

const maxMessage = 5 * 1024

/** The result of a messageExpression; undefined if it is not usable. */
const usableMessage = (value: Value): string | undefined => {
  if (typeof value !== "string") return undefined
  const text = trimSpace(value)
  return text === "" || text.includes("\n") || new TextEncoder().encode(text).length > maxMessage ? undefined : text
}

/** The message of a violated rule, or an error that ends the validation. */
const message = (
  run: Run,
  compiled: SchemaRules.CompiledRule,
  variables: Readonly<Record<string, Value>>
): { readonly text: string } | { readonly fatal: string } => {
  const { message: expression, rule } = compiled
  const otherwise = { text: rule.message === "" ? `failed rule: ${ruleText(rule)}` : trimSpace(rule.message) }
  if (expression?._tag !== "Ready") return otherwise
  const { cost, value } = expression.program.run(variables, Cel.callLimit)
  if (cost > run.budget) {
    return {
      fatal:
        "messageExpression evaluation failed due to running out of cost budget, no further validation rules will " +
        "be run"
    }
  }
  if (value instanceof Fault && value.message === costFault) {
    const source = FieldError.quote(rule.messageExpression)
    return {
      fatal: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${source}`
    }
  }
  run.budget -= cost
  const text = usableMessage(value)
  return text === undefined ? otherwise : { text }
}

/** The error for a rule that could not be evaluated. */
const failure = (fault: Fault, rule: SchemaRules.Rule): string =>
  fault.message.startsWith("no such overload")
    ? `'${fault.message}': call arguments did not match a supported operator, function or macro signature for rule: ` +
      ruleText(rule)
    : `${fault.message} evaluating rule: ${ruleText(rule)}`

interface Subject {
  readonly node: Node
  readonly path: string
  readonly data: unknown
  readonly old: unknown
  readonly ratchet: Ratchet
}

const valueOf = ({ isRoot, schema }: Node, data: unknown): Value =>
  isRoot && JsonValue.isObject(data) ? SchemaValues.fromRoot(data, schema) : SchemaValues.fromData(data, schema)

/** Runs the program of a rule; undefined if that ended the validation. */
const evaluate = (
  run: Run,
  { node, path }: Subject,
  program: Program,
  rule: SchemaRules.Rule,
  variables: Readonly<Record<string, Value>>
): Outcome | undefined => {
  const outcome = program.run(variables, Cel.callLimit)
  if (outcome.cost > run.budget) return void end(run, node, path, outOfBudget)
  run.budget -= outcome.cost
  if (outcome.value instanceof Fault && outcome.value.message === costFault) {
    const detail = `'${costFault}': no further validation rules will be run due to call cost exceeds limit for rule: `
    return void end(run, node, path, detail + ruleText(rule))
  }
  return outcome
}

const isComposite = (schema: Schema.Schema): boolean => schema.type === "object" || schema.type === "array"

const applyRule = (
  run: Run,
  subject: Subject,
  compiled: SchemaRules.CompiledRule,
  variables: Readonly<Record<string, Value>>
): void => {
  const { data, node, path, ratchet } = subject
  const { condition, rule } = compiled
  const type = node.schema.type ?? ""
  if (condition === undefined) return
  if (condition._tag === "Wrong") {
    run.errors.push(FieldError.invalid(fieldOf(path), type, `rule compile error: ${condition.detail}`))
    return
  }
  const outcome = evaluate(run, subject, condition.program, rule, variables)
  if (outcome === undefined || outcome.value === true) return
  if (outcome.value instanceof Fault) {
    run.errors.push(FieldError.invalid(fieldOf(path), type, failure(outcome.value, rule)))
    return
  }
  const field = compiled.path === undefined ? path : Schema.childPath(path, compiled.path)
  const tell = (error: FieldError.FieldError): void => {
    if (!compiled.usesOldSelf && forgives(ratchet)) run.warnings.push(FieldError.format(error))
    else run.errors.push(error)
  }
  const found = message(run, compiled, variables)
  if ("fatal" in found) {
    tell(FieldError.invalid(fieldOf(field), type, found.fatal))
    run.budget = -1
    return
  }
  tell(violation(fieldOf(field), isComposite(node.schema) ? undefined : data, found.text, rule.reason))
}

const applyRules = (run: Run, subject: Subject): void => {
  const { data, node, old, path } = subject
  if (node.rules.length === 0) return
  if (run.budget <= 0) return end(run, node, path, outOfBudget)
  const hasOld = old !== undefined && old !== null
  const self = valueOf(node, data)
  const oldSelf = node.usesOldSelf && hasOld ? valueOf(node, old) : undefined
  for (const compiled of node.rules) {
    const optional = compiled.rule.optionalOldSelf === true
    if (compiled.usesOldSelf && !hasOld && !optional) continue
    const before = optional ? oldSelf === undefined ? none : new Optional(oldSelf) : oldSelf
    applyRule(run, subject, compiled, before === undefined ? { self } : { self, oldSelf: before })
    if (run.budget < 0) return
  }
}

const visit = (run: Run, subject: Subject): void => {
  const { data, node, old, path, ratchet } = subject
  if (data === null || data === undefined || run.budget < 0) return
  applyRules(run, subject)
  if (run.budget < 0) return
  if (JsonValue.isArray(data)) {
    if (node.items === undefined) return
    for (const [index, item] of data.entries()) {
      const before = Correlation.oldItem(node.schema, item, old)
      const inner = within(ratchet, (parent) => Correlation.item(parent, index))
      visit(run, { node: node.items, path: `${path}[${index}]`, data: item, old: before, ratchet: inner })
      if (run.budget < 0) return
    }
  } else if (JsonValue.isObject(data)) visitEntries(run, subject, data)
}

const visitEntries = (run: Run, { node, old, path, ratchet }: Subject, data: JsonValue.JsonObject): void => {
  if (node.values === undefined && node.properties.size === 0) return
  const before = JsonValue.isObject(old) ? old : {}
  for (const [key, value] of Object.entries(data)) {
    const property = node.properties.get(key)
    const inner = property ?? node.values
    if (inner === undefined) continue
    visit(run, {
      node: inner,
      path: property === undefined ? Schema.keyPath(path, key) : Schema.childPath(path, key),
      data: value,
      old: JsonValue.get(before, key),
      ratchet: atKey(ratchet, key)
    })
    if (run.budget < 0) return
  }
}

export interface Judged {
  readonly errors: ReadonlyArray<FieldError.FieldError>
  /** Violations that are forgiven, because the value is unchanged. */
  readonly warnings: ReadonlyArray<string>
}

const nothing: Judged = { errors: [], warnings: [] }

const judge = (node: Node, subject: Omit<Subject, "node">): Judged => {
  const run: Run = { errors: [], warnings: [], budget: Cel.objectBudget }
  visit(run, { node, ...subject })
  return run
}

/** The violations of an object; `previous` is the object before an update. */
export const validate = (schema: Schema.Schema, object: unknown, previous: unknown): Judged => {
  const node = nodeOf(schema, true)
  if (node === undefined) return nothing
  const current = previous === undefined ? undefined : { value: object, old: previous, schema }
  return judge(node, { path: "", data: object, old: previous, ratchet: { current, parent: undefined } })
}

/** The violations of a default, both as an unchanged and as a new value; none is forgiven. */
export const validateDefault = (schema: Schema.Schema, path: string): ReadonlyArray<FieldError.FieldError> => {
  const node = nodeOf(schema, schema["x-kubernetes-embedded-resource"] === true)
  if (node === undefined) return []
  const ratchet: Ratchet = { current: undefined, parent: undefined }
  const judged = (old: unknown) => judge(node, { path, data: schema.default, old, ratchet }).errors
  const kept = judged(schema.default)
  return kept.length > 0 ? kept : judged(undefined)
}
