/**
 * `ValidatingPolicy`: the admission plugin for ValidatingAdmissionPolicies.
 *
 * The binding of a policy determines what a violation does: it refuses the request, warns the client, or annotates the
 * audit event. Among several refusals the first is reported. A failing expression is a violation, unless the failure
 * policy is `Ignore`.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/{dispatcher,validator}.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Admission from "../Admission.ts"
import * as Cel from "../../cel/Cel.ts"
import { trimSpace } from "../../cel/library/Strings.ts"
import * as MatchConditions from "../../cel/MatchConditions.ts"
import type { Value } from "../../cel/Values.ts"
import { arrayAt, stringAt } from "../../api/Plain.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Matching from "./Matching.ts"
import * as Policies from "./Policies.ts"
import * as PolicyExpressions from "./PolicyExpressions.ts"

interface Validation {
  readonly expression: Cel.Compilation
  readonly text: string
  readonly message: string
  readonly messageExpression: Cel.Compilation | undefined
  readonly reason: string
}

interface Annotation {
  readonly key: string
  readonly text: string
  readonly expression: Cel.Compilation
}

interface Compiled {
  readonly scope: PolicyExpressions.Scope
  readonly conditions: MatchConditions.Matcher | undefined
  readonly validations: ReadonlyArray<Validation>
  readonly annotations: ReadonlyArray<Annotation>
}

const compile = (object: KubeObject): Compiled => {
  const { spec } = object as KubeObject & { readonly spec?: unknown }
  const scope = PolicyExpressions.scope(spec)
  const full = scope.environment({ authorizer: true, patch: false })
  const message = scope.environment({ authorizer: false, patch: false })
  const conditions = arrayAt(spec, "matchConditions").map((condition) => ({
    name: stringAt(condition, "name"),
    expression: stringAt(condition, "expression")
  }))
  const failurePolicy = stringAt(spec, "failurePolicy") === "Ignore" ? "Ignore" : "Fail"
  return {
    scope,
    conditions: conditions.length === 0 ? undefined : MatchConditions.matcher(conditions, failurePolicy, full),
    validations: arrayAt(spec, "validations").map((validation) => {
      const text = stringAt(validation, "expression")
      const messageText = stringAt(validation, "messageExpression")
      return {
        expression: Cel.compile(text, full, Cel.Types.bool),
        text,
        message: stringAt(validation, "message"),
        messageExpression: messageText === "" ? undefined : Cel.compile(messageText, message, Cel.Types.string),
        reason: stringAt(validation, "reason") || "Invalid"
      }
    }),
    annotations: arrayAt(spec, "auditAnnotations").map((annotation) => {
      const text = stringAt(annotation, "valueExpression")
      return {
        key: stringAt(annotation, "key"),
        text,
        expression: Cel.compile(text, full, Cel.Types.string, Cel.Types.nullType)
      }
    })
  }
}

/** The result of one validation. */
type Decision =
  | { readonly _tag: "Admit" }
  | { readonly _tag: "Deny"; readonly message: string; readonly reason: string }

const admit: Decision = { _tag: "Admit" }

interface Verdict {
  readonly decisions: ReadonlyArray<Decision>
  /** Annotations of the audit event, or errors in computing them. */
  readonly annotations: ReadonlyArray<{ readonly key: string; readonly value: string } | { readonly fault: string }>
}

const nothing: Verdict = { decisions: [], annotations: [] }

const maxMessage = 5 * 1024

/** The text of a `messageExpression`; empty if it has several lines or is too long. */
const shown = (value: Value): string => {
  const text = typeof value === "string" ? trimSpace(value) : ""
  return text.includes("\n") || new TextEncoder().encode(text).length > maxMessage ? "" : text
}

const decide = (
  validation: Validation,
  result: PolicyExpressions.Evaluated,
  message: PolicyExpressions.Evaluated | undefined,
  failed: (message: string) => Decision
): Decision => {
  if (result._tag === "Failed") return failed(result.message)
  if (result.value === true) return admit
  const own = message?._tag === "Value" ? shown(message.value) : ""
  return {
    _tag: "Deny",
    reason: validation.reason,
    message: own || trimSpace(validation.message) || `failed expression: ${trimSpace(validation.text)}`
  }
}

type Values = Readonly<Record<string, Value>>

const annotate = (
  compiled: Compiled,
  values: Values,
  ignoresFailure: boolean
): Verdict["annotations"] | undefined => {
  const { annotations, scope } = compiled
  const budget = { remaining: Cel.objectBudget }
  const results = PolicyExpressions.evaluateAll(scope, values, budget, annotations.map(({ expression }) => expression))
  return results?.flatMap((result, index): Verdict["annotations"] => {
    const { key } = annotations[index]!
    if (result === undefined) return []
    if (result._tag === "Failed") return ignoresFailure ? [] : [{ fault: result.message }]
    const value = typeof result.value === "string" ? trimSpace(result.value) : ""
    return value === "" ? [] : [{ key, value }]
  })
}

/** The verdict of a policy on a request. */
const judge = ({ compiled, ignoresFailure }: Policies.Policy<Compiled>, values: Values): Verdict => {
  const { conditions, scope, validations } = compiled
  const failed = (message: string): Decision => ignoresFailure ? admit : { _tag: "Deny", message, reason: "Invalid" }
  const only = (message: string): Verdict => ({ decisions: [failed(message)], annotations: [] })
  const match = conditions?.(values)
  if (match?._tag === "Failed") return only(match.message)
  if (match?._tag === "Differs") return nothing
  const budget = { remaining: Cel.objectBudget }
  const results = PolicyExpressions.evaluateAll(scope, values, budget, validations.map(({ expression }) => expression))
  if (results === undefined) return only(PolicyExpressions.outOfBudget)
  const violated = results.some((result) => result?._tag !== "Value" || result.value !== true)
  const messages = violated
    ? PolicyExpressions.evaluateAll(
      scope,
      values,
      budget,
      validations.map(({ messageExpression }) => messageExpression)
    )
    : []
  const decisions = validations.map((validation, index) => {
    const result = results[index]!
    return messages === undefined && result._tag === "Value"
      ? failed(`failed messageExpression: ${PolicyExpressions.outOfBudget}`)
      : decide(validation, result, messages?.[index], failed)
  })
  const annotations = annotate(compiled, values, ignoresFailure)
  return annotations === undefined ? only(PolicyExpressions.outOfBudget) : { decisions, annotations }
}

const codes: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 }

/** The refusal of a request. */
const refusal = (attributes: Admission.Attributes, message: string, reason: string): StatusError.StatusError => {
  const { body } = Admission.forbidden(attributes, message)
  const details = { ...body.details, causes: [...body.details?.causes ?? [], { message }] }
  return StatusError.make(codes[reason] ?? 422, reason, body.message ?? "", details)
}

const failureAnnotation = "validation.policy.admission.k8s.io/validation_failure"
const maxAnnotation = 10 * 1024

/** Collects refusals, of which the first is reported, and the other effects of policies. */
class Answer {
  private readonly attributes: Admission.Attributes
  private readonly annotations = new Map<string, Array<string>>()
  first: StatusError.StatusError | undefined

  constructor(attributes: Admission.Attributes) {
    this.attributes = attributes
  }

  deny(policy: string, binding: string | undefined, message: string, reason: string): void {
    const by = binding === undefined ? "" : ` with binding '${binding}'`
    this.first ??= refusal(
      this.attributes,
      `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`,
      reason
    )
  }

  fault({ binding, message, policy }: Policies.ConfigurationFault): void {
    if (!policy.ignoresFailure) this.deny(policy.name, binding?.name, message, "Invalid")
  }

  take({ binding, policy }: Policies.Invocation<Compiled>, verdict: Verdict): void {
    const actions = arrayAt(binding.object, "spec", "validationActions")
    for (const [index, decision] of verdict.decisions.entries()) {
      if (decision._tag === "Admit") continue
      const { message, reason } = decision
      for (const action of actions) {
        if (action === "Deny") this.deny(policy.name, binding.name, message, reason)
        else if (action === "Warn") {
          const who = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`
          this.attributes.warn(`Validation failed for ${who}: ${message}`)
        } else if (action === "Audit") {
          const failure = {
            message,
            policy: policy.name,
            binding: binding.name,
            expressionIndex: index,
            validationActions: actions
          }
          this.attributes.annotate(failureAnnotation, JSON.stringify([failure]))
        }
      }
    }
    for (const annotation of verdict.annotations) {
      if ("fault" in annotation) this.deny(policy.name, binding.name, annotation.fault, "Invalid")
      else this.note(`${policy.name}/${annotation.key}`, annotation.value.slice(0, maxAnnotation))
    }
  }

  private note(key: string, value: string): void {
    const values = this.annotations.get(key) ?? []
    if (!values.includes(value)) this.annotations.set(key, [...values, value])
  }

  publish(): void {
    for (const [key, values] of this.annotations) this.attributes.annotate(key, values.join(", "))
  }
}

/** `ValidatingAdmissionPolicy`. */
export const plugin = (server: Admission.Server): Admission.Plugin => {
  const hooks = Policies.hooks(server, "validatingadmissionpolicies", compile)
  return {
    name: "ValidatingAdmissionPolicy",
    handles: (attributes) => hooks().length > 0 && !Matching.isUnjudged(attributes),
    validate: Effect.fnUntraced(function*(attributes) {
      const answer = new Answer(attributes)
      for (const hook of hooks()) {
        for (const found of yield* Policies.invocations(server, hook, attributes, "validating")) {
          if ("message" in found) answer.fault(found)
          else answer.take(found, judge(found.policy, Policies.variables(server, found)))
        }
      }
      answer.publish()
      if (answer.first !== undefined) return yield* Effect.fail(answer.first)
    })
  }
}
