/**
 * `PolicyRules`: defaults and validation of admission policies and their bindings.
 *
 * Expressions are compiled, and their errors are reported in the server's words. Variables are compiled in order, so
 * that each can use the previous ones.
 *
 * Source: k8s.io/kubernetes/pkg/apis/admissionregistration/{v1/defaults.go,validation/validation.go}.
 */
import * as CelName from "@effect-operator/core/CelName"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as Cel from "../../../cel/Cel.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type * as JsonValue from "../../../schema/JsonValue.ts"
import * as PolicyExpressions from "../../admission/PolicyExpressions.ts"
import type { Strategy } from "../Strategy.ts"
import { required } from "./Checks.ts"
import * as ConditionRules from "./ConditionRules.ts"
import * as LabelSelectorRules from "./LabelSelectorRules.ts"
import * as WebhookRules from "./WebhookRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>
type Json = JsonValue.JsonObject

const withScope = (owner: Json, key: string): Json =>
  owner[key] === undefined
    ? owner
    : { ...owner, [key]: arrayAt(owner, key).map((rule) => ({ scope: "*", ...objectAt(rule) })) }

const matchResources = (value: unknown): Json =>
  withScope(
    withScope(
      { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {}, ...objectAt(value) },
      "resourceRules"
    ),
    "excludeResourceRules"
  )

const edited = (object: Json, edit: (spec: Json) => Json): Json =>
  object["spec"] === undefined ? object : { ...object, spec: edit(objectAt(object, "spec")) }

/** The defaults of a policy. */
export const policyDefaults = (policy: Json): Json =>
  edited({ ...policy, spec: objectAt(policy, "spec") }, (spec) => ({
    failurePolicy: "Fail",
    ...spec,
    ...(spec["matchConstraints"] === undefined ? {} : { matchConstraints: matchResources(spec["matchConstraints"]) })
  }))

/** The defaults of a binding. */
export const bindingDefaults = (binding: Json): Json =>
  edited(binding, (spec) => ({
    ...spec,
    ...(spec["matchResources"] === undefined ? {} : { matchResources: matchResources(spec["matchResources"]) })
  }))

const oneOf = (path: string, value: unknown, values: ReadonlyArray<string>): Faults =>
  value === undefined || value === ""
    ? [FieldError.required(path, "")]
    : values.includes(String(value))
    ? []
    : [FieldError.notSupported(path, value, values)]

const optional = (path: string, value: unknown, values: ReadonlyArray<string>): Faults =>
  value === undefined ? [] : oneOf(path, value, values)

const repeats = (values: ReadonlyArray<unknown>, path: (index: number) => string): Faults =>
  values.flatMap((value, index) => values.indexOf(value) < index ? [FieldError.duplicate(path(index), value)] : [])

const segmentFaults = (name: string, path: string): Faults =>
  Names.pathSegment(name).map((fault) => FieldError.invalid(path, name, fault))

const ruleFaults = (rule: unknown, path: string): Faults => {
  const names = arrayAt(rule, "resourceNames").map(String)
  return [
    ...names.flatMap((name, index) => segmentFaults(name, `${path}.resourceNames[${index}]`)),
    ...repeats(names, (index) => `${path}.resourceNames[${index}]`),
    ...WebhookRules.ruleFaults(rule, path)
  ]
}

const constraintFaults = (value: unknown, path: string): Faults => [
  ...oneOf(`${path}.matchPolicy`, at(value, "matchPolicy"), ["Equivalent", "Exact"]),
  ...LabelSelectorRules.validate(at(value, "namespaceSelector"), `${path}.namespaceSelector`),
  ...LabelSelectorRules.validate(at(value, "objectSelector"), `${path}.objectSelector`),
  ...["resourceRules", "excludeResourceRules"].flatMap((key) =>
    arrayAt(value, key).flatMap((rule, index) => ruleFaults(rule, `${path}.${key}[${index}]`))
  )
]

const versionFaults = (apiVersion: string, path: string): Faults => {
  if (apiVersion === "") return [FieldError.required(path, "")]
  const parts = apiVersion.split("/")
  if (parts.length > 2) {
    return [FieldError.invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)]
  }
  const [group, version] = parts.length === 2 ? parts as [string, string] : ["", apiVersion]
  const wrong = (value: string, faults: ReadonlyArray<string>): Faults =>
    faults.length === 0 ? [] : [FieldError.invalid(path, value, faults.join(","))]
  return [
    ...(group === "" ? [] : wrong(group, Names.dnsSubdomain(group))),
    ...(version === ""
      ? [FieldError.invalid(path, apiVersion, "version must be specified")]
      : wrong(version, Names.dns1035Label(version)))
  ]
}

const paramKindFaults = (kind: unknown, path: string): Faults => {
  if (kind === undefined) return []
  const name = stringAt(kind, "kind")
  const faults = Names.dns1035Label(name.toLowerCase())
  return [
    ...versionFaults(stringAt(kind, "apiVersion"), `${path}.apiVersion`),
    ...(name === ""
      ? [FieldError.required(`${path}.kind`, "")]
      : faults.length === 0
      ? []
      : [FieldError.invalid(
        `${path}.kind`,
        name,
        `may have mixed case, but should otherwise match: ${faults.join(",")}`
      )])
  ]
}

const compiled = (made: Cel.Compilation, path: string, text: string): Faults =>
  made._tag === "Compiled" ? [] : [FieldError.invalid(path, text, made.detail)]

const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !CelName.reserved.has(name)

const variableFaults = (scope: PolicyExpressions.Scope, spec: unknown): Faults =>
  arrayAt(spec, "variables").flatMap((variable, index): Faults => {
    const path = `spec.variables[${index}]`
    const name = stringAt(variable, "name")
    const expression = stringAt(variable, "expression")
    return [
      ...(name.trim() === ""
        ? [FieldError.required(`${path}.name`, "name is not specified")]
        : isIdentifier(name)
        ? []
        : [FieldError.invalid(`${path}.name`, name, "must be a valid CEL identifier")]),
      ...(expression.trim() === ""
        ? [FieldError.required(`${path}.expression`, "expression is not specified")]
        : compiled(scope.variables[index]!.made, `${path}.expression`, expression))
    ]
  })

const hasNewlines = (text: string): boolean => /[\n\r]/.test(text)

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"]

const validationFaults = (scope: PolicyExpressions.Scope, validation: unknown, path: string): Faults => {
  const expression = stringAt(validation, "expression")
  const message = stringAt(validation, "message")
  const messageExpression = stringAt(validation, "messageExpression")
  const whole = scope.environment({ authorizer: true, patch: false })
  const plain = scope.environment({ authorizer: false, patch: false })
  const empty = "must be non-empty if specified"
  return [
    ...(expression.trim() === ""
      ? [FieldError.required(`${path}.expression`, "expression is not specified")]
      : compiled(Cel.compile(expression, whole, Cel.Types.bool), `${path}.expression`, expression)),
    ...(messageExpression === ""
      ? []
      : messageExpression.trim() === ""
      ? [FieldError.invalid(`${path}.messageExpression`, messageExpression, empty)]
      : compiled(
        Cel.compile(messageExpression, plain, Cel.Types.string),
        `${path}.messageExpression`,
        messageExpression
      )),
    ...(message !== "" && message.trim() === ""
      ? [FieldError.invalid(`${path}.message`, message, empty)]
      : hasNewlines(message.trim())
      ? [FieldError.invalid(`${path}.message`, message, "must not contain line breaks")]
      : []),
    ...optional(`${path}.reason`, at(validation, "reason"), reasons)
  ]
}

const maxAnnotations = 20
const maxValueExpression = 5 * 1024

const annotationFaults = (
  scope: PolicyExpressions.Scope,
  policy: KubeObject,
  annotation: unknown,
  path: string
): Faults => {
  const key = stringAt(annotation, "key")
  const expression = stringAt(annotation, "valueExpression")
  const field = `${path}.valueExpression`
  const name = `${policy.metadata.name}/${key}`
  const environment = scope.environment({ authorizer: true, patch: false })
  return [
    ...Names.labelKey(name).map((fault) => FieldError.invalid(`${path}.key`, name, fault)),
    ...(expression.trim() === ""
      ? [FieldError.required(field, "valueExpression is not specified")]
      : Names.byteLength(expression.trim()) > maxValueExpression
      ? [FieldError.required(field, `must not exceed ${maxValueExpression} bytes in length`)]
      : compiled(Cel.compile(expression.trim(), environment, Cel.Types.string, Cel.Types.nullType), field, expression))
  ]
}

const annotationsFaults = (scope: PolicyExpressions.Scope, policy: KubeObject): Faults => {
  const annotations = arrayAt(policy, "spec", "auditAnnotations")
  const path = "spec.auditAnnotations"
  const keys = annotations.map((annotation) => stringAt(annotation, "key"))
  return [
    ...(annotations.length > maxAnnotations
      ? [FieldError.invalid(path, annotations, `must not have more than ${maxAnnotations} auditAnnotations`)]
      : []),
    ...annotations.flatMap((annotation, index) => [
      ...annotationFaults(scope, policy, annotation, `${path}[${index}]`),
      ...(keys.indexOf(keys[index]!) < index ? [FieldError.duplicate(`${path}[${index}].key`, keys[index])] : [])
    ])
  ]
}

/** The faults that both kinds of policies can have, up to their variables. */
const policyFaults = (scope: PolicyExpressions.Scope, spec: unknown, mutating: boolean): Faults => {
  const constraints = at(spec, "matchConstraints")
  const params = at(spec, "paramKind")
  return [
    ...oneOf("spec.failurePolicy", at(spec, "failurePolicy"), ["Fail", "Ignore"]),
    ...paramKindFaults(params, "spec.paramKind"),
    ...(constraints === undefined ? [FieldError.required("spec.matchConstraints", "")] : [
      ...constraintFaults(constraints, "spec.matchConstraints"),
      ...(arrayAt(constraints, "resourceRules").length === 0
        ? [FieldError.required("spec.matchConstraints.resourceRules", "")]
        : []),
      ...(mutating ? operationFaults(constraints, "spec.matchConstraints") : [])
    ]),
    ...WebhookRules.conditionFaults(arrayAt(spec, "matchConditions"), "spec.matchConditions", {
      params: params !== undefined
    }),
    ...variableFaults(scope, spec)
  ]
}

const mutable = ["*", "CONNECT", "CREATE", "UPDATE"]

/** A deletion cannot be mutated. */
const operationFaults = (constraints: unknown, path: string): Faults =>
  arrayAt(constraints, "resourceRules").flatMap((rule) =>
    arrayAt(rule, "operations").flatMap((operation) =>
      mutable.includes(String(operation))
        ? []
        : [FieldError.notSupported(`${path}.resourceRules.operations`, operation, mutable)]
    )
  )

/** Faults of a ValidatingAdmissionPolicy. */
export const validatingPolicy: Strategy["validate"] = (policy) => {
  const spec = objectAt(policy, "spec")
  const scope = PolicyExpressions.scope(spec, undefined, false)
  const validations = arrayAt(spec, "validations")
  const nothing = "validations or auditAnnotations must contain at least one item"
  return [
    ...policyFaults(scope, spec, false),
    ...(validations.length === 0 && arrayAt(spec, "auditAnnotations").length === 0
      ? [FieldError.required("spec.validations", nothing), FieldError.required("spec.auditAnnotations", nothing)]
      : [
        ...validations.flatMap((validation, index) =>
          validationFaults(scope, validation, `spec.validations[${index}]`)
        ),
        ...annotationsFaults(scope, policy)
      ])
  ]
}

const patches = {
  JSONPatch: { own: "jsonPatch", other: "applyConfiguration", type: Cel.Types.list(Cel.Types.struct("JSONPatch")) },
  ApplyConfiguration: { own: "applyConfiguration", other: "jsonPatch", type: Cel.Types.struct("Object") }
} as const

const mutationFaults = (scope: PolicyExpressions.Scope, mutation: unknown, path: string): Faults => {
  const patchType = stringAt(mutation, "patchType")
  if (patchType !== "JSONPatch" && patchType !== "ApplyConfiguration") {
    return oneOf(`${path}.patchType`, patchType, ["ApplyConfiguration", "JSONPatch"])
  }
  const { other, own, type } = patches[patchType]
  const expression = stringAt(mutation, own, "expression").trim()
  const field = `${path}.${own}.expression`
  const environment = scope.environment({ authorizer: true, patch: true })
  return [
    ...(at(mutation, own) === undefined
      ? [FieldError.required(`${path}.${own}`, `must be specified when patchType is ${patchType}`)]
      : expression === ""
      ? [FieldError.required(field, "")]
      : compiled(Cel.compile(expression, environment, type), field, expression)),
    ...(at(mutation, other) === undefined
      ? []
      : [FieldError.invalid(
        `${path}.${other}`,
        `{${other}}`,
        `must not be specified when patchType is ${patchType}`
      )])
  ]
}

/** Faults of the status of a ValidatingAdmissionPolicy. */
export const policyStatus: Strategy["validateStatus"] = (policy) => [
  ...arrayAt(policy, "status", "typeChecking", "expressionWarnings").flatMap((warning, index) =>
    required(warning, `status.typeChecking.expressionWarnings[${index}]`, "warning", "fieldRef")
  ),
  ...ConditionRules.validate(policy)
]

/** Faults of a MutatingAdmissionPolicy. */
export const mutatingPolicy: Strategy["validate"] = (policy) => {
  const spec = objectAt(policy, "spec")
  const scope = PolicyExpressions.scope(spec)
  const mutations = arrayAt(spec, "mutations")
  return [
    ...policyFaults(scope, spec, true),
    ...(mutations.length === 0
      ? [FieldError.required("spec.mutations", "mutations must contain at least one item")]
      : mutations.flatMap((mutation, index) => mutationFaults(scope, mutation, `spec.mutations[${index}]`))),
    ...oneOf("spec.reinvocationPolicy", at(spec, "reinvocationPolicy"), ["IfNeeded", "Never"])
  ]
}

const paramRefFaults = (ref: unknown, path: string): Faults => {
  if (ref === undefined) return []
  const name = stringAt(ref, "name")
  const selector = at(ref, "selector")
  const both = name !== "" && selector !== undefined
  const exclusive = "name and selector are mutually exclusive"
  return [
    ...(name === "" ? [] : segmentFaults(name, `${path}.name`)),
    ...(both ? [FieldError.forbidden(`${path}.name`, exclusive)] : []),
    ...LabelSelectorRules.validate(selector, `${path}.selector`),
    ...(both ? [FieldError.forbidden(`${path}.selector`, exclusive)] : []),
    ...(name === "" && selector === undefined
      ? [FieldError.required(path, "one of name or selector must be specified")]
      : []),
    ...oneOf(`${path}.parameterNotFoundAction`, at(ref, "parameterNotFoundAction"), ["Deny", "Allow"])
  ]
}

const bindingFaults = (spec: unknown): Faults => {
  const policy = stringAt(spec, "policyName")
  const resources = at(spec, "matchResources")
  return [
    ...(policy === ""
      ? [FieldError.required("spec.policyName", "")]
      : Names.dnsSubdomain(policy).map((fault) => FieldError.invalid("spec.policyName", policy, fault))),
    ...paramRefFaults(at(spec, "paramRef"), "spec.paramRef"),
    ...(resources === undefined ? [] : constraintFaults(resources, "spec.matchResources"))
  ]
}

const actionFaults = (actions: ReadonlyArray<unknown>, path: string): Faults => [
  ...actions.flatMap((action, index) => [
    ...oneOf(`${path}[${index}]`, action, ["Audit", "Deny", "Warn"]),
    ...(actions.indexOf(action) < index ? [FieldError.duplicate(`${path}[${index}]`, action)] : [])
  ]),
  ...(actions.includes("Deny") && actions.includes("Warn")
    ? [FieldError.invalid(
      path,
      actions,
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and " +
        "headers serves no purpose)"
    )]
    : []),
  ...(actions.length === 0 ? [FieldError.required(path, "at least one validation action is required")] : [])
]

/** Faults of a ValidatingAdmissionPolicyBinding. */
export const validatingBinding: Strategy["validate"] = (binding) => [
  ...bindingFaults(at(binding, "spec")),
  ...actionFaults(arrayAt(binding, "spec", "validationActions"), "spec.validationActions")
]

/** Faults of a MutatingAdmissionPolicyBinding. */
export const mutatingBinding: Strategy["validate"] = (binding) => [
  ...bindingFaults(at(binding, "spec")),
  ...operationFaults(at(binding, "spec", "matchResources"), "spec.matchResources")
]
