/**
 * `RbacRules`: validates Roles, ClusterRoles and their bindings.
 *
 * Source: k8s.io/kubernetes/pkg/apis/rbac/validation.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import * as LabelSelectorRules from "./LabelSelectorRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const group = "rbac.authorization.k8s.io"

const ruleFaults = (rule: unknown, namespaced: boolean, path: string): Faults => {
  const empty = (key: string) => arrayAt(rule, key).length === 0
  const verbs = empty("verbs")
    ? [FieldError.required(`${path}.verbs`, "verbs must contain at least one value")]
    : []
  if (!empty("nonResourceURLs")) {
    const refuse = (why: string) => FieldError.invalid(`${path}.nonResourceURLs`, at(rule, "nonResourceURLs"), why)
    return [
      ...verbs,
      ...(namespaced ? [refuse("namespaced rules cannot apply to non-resource URLs")] : []),
      ...(empty("apiGroups") && empty("resources") && empty("resourceNames")
        ? []
        : [refuse("rules cannot apply to both regular resources and non-resource URLs")])
    ]
  }
  return [
    ...verbs,
    ...(empty("apiGroups")
      ? [FieldError.required(`${path}.apiGroups`, "resource rules must supply at least one api group")]
      : []),
    ...(empty("resources")
      ? [FieldError.required(`${path}.resources`, "resource rules must supply at least one resource")]
      : [])
  ]
}

const selectorFaults = (selector: unknown, path: string): Faults => {
  const found = LabelSelectorRules.validate(selector, path)
  // The server prints the result of parsing the selector, which is nil.
  return found.length === 0 ? [] : [...found, FieldError.invalid(path, null, "invalid label selector.")]
}

const aggregation = (role: KubeObject): Faults => {
  const path = "aggregationRule.clusterRoleSelectors"
  const selectors = arrayAt(role, "aggregationRule", "clusterRoleSelectors")
  return at(role, "aggregationRule") !== undefined && selectors.length === 0
    ? [FieldError.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    : selectors.flatMap((selector, index) => selectorFaults(selector, `${path}[${index}]`))
}

/** Faults of a Role or a ClusterRole. */
export const validateRole = (namespaced: boolean): Strategy["validate"] => (role) => [
  ...arrayAt(role, "rules").flatMap((rule, index) => ruleFaults(rule, namespaced, `rules[${index}]`)),
  ...(namespaced ? [] : aggregation(role))
]

const subjectFaults = (subject: unknown, namespaced: boolean, path: string): Faults => {
  const [kind, name, apiGroup] = [stringAt(subject, "kind"), stringAt(subject, "name"), stringAt(subject, "apiGroup")]
  const named = name === "" ? [FieldError.required(`${path}.name`, "")] : []
  const ofGroup = (wanted: string) =>
    apiGroup === wanted ? [] : [FieldError.notSupported(`${path}.apiGroup`, apiGroup, [wanted])]
  switch (kind) {
    case "ServiceAccount":
      return [
        ...named,
        ...(name === "" ? [] : Names.dnsSubdomain(name).map((why) => FieldError.invalid(`${path}.name`, name, why))),
        ...ofGroup(""),
        ...(namespaced || stringAt(subject, "namespace") !== "" ? [] : [FieldError.required(`${path}.namespace`, "")])
      ]
    case "User":
    case "Group":
      return [...named, ...ofGroup(group)]
    default:
      return [...named, FieldError.notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"])]
  }
}

/** Faults of a binding that may refer to these kinds of roles. */
export const validateBinding = (...kinds: ReadonlyArray<"Role" | "ClusterRole">): Strategy["validate"] => (binding) => {
  const ref = (key: string) => stringAt(binding, "roleRef", key)
  const namespaced = kinds.includes("Role")
  return [
    ...(ref("apiGroup") === group ? [] : [FieldError.notSupported("roleRef.apiGroup", ref("apiGroup"), [group])]),
    ...(kinds.some((kind) => kind === ref("kind"))
      ? []
      : [FieldError.notSupported("roleRef.kind", ref("kind"), kinds)]),
    ...(ref("name") === ""
      ? [FieldError.required("roleRef.name", "")]
      : Names.pathSegment(ref("name")).map((why) => FieldError.invalid("roleRef.name", ref("name"), why))),
    ...arrayAt(binding, "subjects").flatMap((subject, index) =>
      subjectFaults(subject, namespaced, `subjects[${index}]`)
    )
  ]
}
