/**
 * `AccessReviews`: the three reviews of authorization.k8s.io that ask whether a user may do something.
 *
 * The user is the requesting one, or the one named in the review. Selectors are validated, but do not affect the
 * decision.
 *
 * Source: k8s.io/kubernetes/pkg/registry/authorization and pkg/apis/authorization/validation.
 */
import * as Selector from "@effect-operator/core/Selector"
import * as Result from "effect/Result"
import * as Attributes from "../../api/Attributes.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { UserInfo } from "../../api/UserInfo.ts"
import * as FieldError from "../../schema/FieldError.ts"
import type * as JsonValue from "../../schema/JsonValue.ts"
import * as PatchedDocument from "../server/go/PatchedDocument.ts"
import * as LabelSelectorRules from "../server/rules/LabelSelectorRules.ts"
import type { Authorizer } from "./Rbac.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

type Selectors = "fieldSelector" | "labelSelector"

const operators: ReadonlyArray<string> = ["In", "NotIn", "Exists", "DoesNotExist"]

const fieldFaults = (requirement: unknown, path: string): Faults => {
  const values = arrayAt(requirement, "values")
  const key = stringAt(requirement, "key") === "" ? [FieldError.required(`${path}.key`, "must be specified")] : []
  return [...key, ...LabelSelectorRules.operatorFaults(stringAt(requirement, "operator"), values, path, true)]
}

const labelFaults = (requirement: unknown, path: string): Faults =>
  LabelSelectorRules.requirementFaults(requirement, path, true)

const requirementFaults = { fieldSelector: fieldFaults, labelSelector: labelFaults } as const

const selectorFaults = (attributes: unknown, name: Selectors): Faults => {
  const selector = at(attributes, name)
  if (selector === undefined) return []
  const path = `spec.resourceAttributes.${name}`
  const raw = stringAt(selector, "rawSelector")
  const requirements = arrayAt(selector, "requirements")
  return [
    ...(raw !== "" && requirements.length > 0
      ? [FieldError.invalid(`${path}.rawSelector`, raw, "may not specified at the same time as requirements")]
      : []),
    ...(raw === "" && requirements.length === 0
      ? [
        FieldError.required(
          `${path}.requirements`,
          `when ${path} is specified, requirements or rawSelector is required`
        )
      ]
      : []),
    ...requirements.flatMap((requirement, index) =>
      requirementFaults[name](requirement, `${path}.requirements[${index}]`)
    )
  ]
}

/** Go prints the attributes of a path by field name, because the internal type has no JSON names. */
const printPath = (attributes: unknown): unknown => ({
  Path: stringAt(attributes, "path"),
  Verb: stringAt(attributes, "verb")
})

/** Faults of the attributes: a review has exactly one of two kinds. */
const specFaults = (spec: JsonValue.JsonObject): Faults => {
  const { nonResourceAttributes, resourceAttributes } = spec
  return [
    ...(resourceAttributes !== undefined && nonResourceAttributes !== undefined
      ? [
        FieldError.invalid(
          "spec.nonResourceAttributes",
          printPath(nonResourceAttributes),
          "cannot be specified in combination with resourceAttributes"
        )
      ]
      : []),
    ...(resourceAttributes === undefined && nonResourceAttributes === undefined
      ? [
        FieldError.invalid(
          "spec.resourceAttributes",
          null,
          "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        )
      ]
      : [])
  ]
}

const userFaults = (spec: JsonValue.JsonObject): Faults =>
  stringAt(spec, "user") === "" && arrayAt(spec, "groups").length === 0
    ? [FieldError.invalid("spec.user", "", "at least one of user or group must be specified")]
    : []

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

const metadataFaults = (metadata: JsonValue.JsonObject, allowed: ReadonlySet<string>, detail: string): Faults => {
  if (Object.keys(metadata).every((key) => allowed.has(key))) return []
  const printed = FieldError.goJsonInOrder(PatchedDocument.written(metadata, { ref: objectMeta }))
  return [FieldError.invalidPrinted("metadata", printed, detail)]
}

const free: ReadonlySet<string> = new Set(["managedFields"])
const freeWithNamespace: ReadonlySet<string> = new Set(["managedFields", "namespace"])

/** Faults of a review of one of the three kinds. */
export const faults = (kind: string, metadata: JsonValue.JsonObject, spec: JsonValue.JsonObject): Faults => {
  const common = [
    ...specFaults(spec),
    ...(kind === "SelfSubjectAccessReview" ? [] : userFaults(spec)),
    ...selectorFaults(spec["resourceAttributes"], "fieldSelector"),
    ...selectorFaults(spec["resourceAttributes"], "labelSelector")
  ]
  if (kind !== "LocalSubjectAccessReview") return [...common, ...metadataFaults(metadata, free, "must be empty")]
  const namespace = stringAt(spec, "resourceAttributes", "namespace")
  const path = spec["nonResourceAttributes"]
  return [
    ...common,
    ...metadataFaults(metadata, freeWithNamespace, "must be empty except for namespace"),
    ...(spec["resourceAttributes"] === undefined || namespace === stringAt(metadata, "namespace")
      ? []
      : [FieldError.invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace")]),
    ...(path === undefined
      ? []
      : [
        FieldError.invalid("spec.nonResourceAttributes", printPath(path), "disallowed on this kind of request")
      ])
  ]
}

const attributesOf = (spec: JsonValue.JsonObject): Attributes.Attributes => {
  const about = spec["resourceAttributes"]
  if (about === undefined) {
    const path = spec["nonResourceAttributes"]
    return { _tag: "Path", verb: stringAt(path, "verb"), path: stringAt(path, "path") }
  }
  const text = (key: string) => stringAt(about, key)
  return Attributes.resource({
    verb: text("verb"),
    group: text("group"),
    version: text("version") || "*",
    resource: text("resource"),
    subresource: text("subresource"),
    namespace: text("namespace"),
    name: text("name")
  })
}

/** How many requirements of a selector the server understands, and how many there are. */
const understood = (spec: JsonValue.JsonObject, name: Selectors): readonly [number, number] => {
  const selector = at(spec, "resourceAttributes", name)
  const requirements = arrayAt(selector, "requirements")
  if (requirements.length > 0) {
    const usable = requirements.filter((requirement) => {
      const operator = stringAt(requirement, "operator")
      return name === "labelSelector"
        ? operators.includes(operator)
        : (operator === "In" || operator === "NotIn") && arrayAt(requirement, "values").length === 1
    })
    return [usable.length, requirements.length]
  }
  const raw = stringAt(selector, "rawSelector")
  const failed = name === "labelSelector"
    ? Result.isFailure(Selector.parseLabels(raw))
    : Result.isFailure(Selector.parseFields(raw))
  return [failed ? 0 : 1, 1]
}

const evaluationError = (spec: JsonValue.JsonObject): string =>
  (["fieldSelector", "labelSelector"] as const).flatMap((name) => {
    if (at(spec, "resourceAttributes", name) === undefined) return []
    const [usable, all] = understood(spec, name)
    return usable === all
      ? []
      : [`spec.resourceAttributes.${name} ${usable > 0 ? "partially " : ""}ignored due to parse error`]
  }).join("; ")

/** The user in a SubjectAccessReview. */
export const subjectOf = (spec: JsonValue.JsonObject): UserInfo => ({
  username: stringAt(spec, "user"),
  groups: arrayAt(spec, "groups").map(String),
  uid: stringAt(spec, "uid"),
  extra: objectAt(spec, "extra") as NonNullable<UserInfo["extra"]>
})

/** The answer to a valid review. */
export const status = (authorizer: Authorizer, user: UserInfo, spec: JsonValue.JsonObject): JsonValue.JsonObject => {
  const { allowed, reason } = authorizer.authorize(user, attributesOf(spec))
  const error = evaluationError(spec)
  return {
    allowed,
    ...(reason === "" ? {} : { reason }),
    ...(error === "" ? {} : { evaluationError: error })
  }
}
