/**
 * `PolicyRule`: what a rule of a role allows, and whether some rules cover others.
 *
 * A rule for resources allows a request if its verbs, groups, resources and, if it has any, names all match. A star
 * matches everything; a star, a slash and a subresource match that subresource of every resource. A rule for paths
 * matches whole paths, or prefixes that end in a star. To check whether rules cover others, the others are split into
 * minimal rules, each of which must be covered by a single rule.
 *
 * Source: k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go, k8s.io/component-helpers/auth/rbac/validation and
 * pkg/registry/rbac/validation/policy_compact.go.
 */
import type * as RbacV1 from "../../kinds/rbac.v1.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt } from "../../api/Plain.ts"
import { type Attributes, combined } from "../../api/Attributes.ts"

export type PolicyRule = RbacV1.PolicyRule

const none: ReadonlyArray<string> = []

/** The rules of a stored role. */
export const rulesOf = (role: unknown): ReadonlyArray<PolicyRule> =>
  arrayAt(role, "rules").filter(JsonValue.isObject) as ReadonlyArray<object> as ReadonlyArray<PolicyRule>

const has = (values: ReadonlyArray<string> | undefined, value: string): boolean =>
  values !== undefined && (values.includes("*") || values.includes(value))

/** Whether a path equals a pattern, or has the prefix before its `*`. */
const pathMatches = (pattern: string, path: string): boolean =>
  pattern === "*" || pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, "")))

/** Whether a rule matches a request, apart from names. */
export const appliesTo = (rule: PolicyRule, attributes: Attributes): boolean => {
  if (!has(rule.verbs, attributes.verb)) return false
  if (attributes._tag === "Path") {
    return (rule.nonResourceURLs ?? none).some((pattern) => pathMatches(pattern, attributes.path))
  }
  return has(rule.apiGroups, attributes.group) && (
    has(rule.resources, combined(attributes)) ||
    (attributes.subresource !== "" && (rule.resources ?? none).includes(`*/${attributes.subresource}`))
  )
}

/** The names to which a rule is limited; undefined if it is not. */
export const namesOf = (rule: PolicyRule): ReadonlyArray<string> | undefined =>
  rule.resourceNames === undefined || rule.resourceNames.length === 0 ? undefined : rule.resourceNames

/** Whether a rule allows a request. */
export const allows = (rule: PolicyRule, attributes: Attributes): boolean =>
  appliesTo(rule, attributes) &&
  (attributes._tag === "Path" || (namesOf(rule)?.includes(attributes.name) ?? true))

/** Splits a rule into equivalent rules with one verb, and one group, resource and name, or one path. */
export const breakdown = (rule: PolicyRule): ReadonlyArray<PolicyRule> => [
  ...(rule.apiGroups ?? none).flatMap((group) =>
    (rule.resources ?? none).flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        (namesOf(rule) ?? [undefined]).map((name) => ({
          apiGroups: [group],
          resources: [resource],
          ...(name === undefined ? {} : { resourceNames: [name] }),
          verbs: [verb]
        }))
      )
    )
  ),
  ...(rule.nonResourceURLs ?? none).flatMap((path) =>
    rule.verbs.map((verb) => ({ nonResourceURLs: [path], verbs: [verb] }))
  )
]

const all = (values: ReadonlyArray<string> | undefined, wanted: ReadonlyArray<string> | undefined): boolean =>
  (wanted ?? none).every((value) => (values ?? none).includes(value))

const resourceCovered = (owned: ReadonlyArray<string> | undefined, resource: string): boolean => {
  const slash = resource.indexOf("/")
  return has(owned, resource) || (slash >= 0 && (owned ?? none).includes(`*/${resource.slice(slash + 1)}`))
}

const pathCovered = (owned: string, path: string): boolean =>
  owned === path || (owned.endsWith("*") && path.startsWith(owned.replace(/\*+$/, "")))

/** Whether a rule covers a minimal rule. */
const covers = (owned: PolicyRule, piece: PolicyRule): boolean =>
  (owned.verbs.includes("*") || all(owned.verbs, piece.verbs)) &&
  ((owned.apiGroups ?? none).includes("*") || all(owned.apiGroups, piece.apiGroups)) &&
  (piece.resources ?? none).every((resource) => resourceCovered(owned.resources, resource)) &&
  (piece.nonResourceURLs ?? none).every((path) =>
    (owned.nonResourceURLs ?? none).some((pattern) => pathCovered(pattern, path))
  ) &&
  (namesOf(owned) === undefined || (namesOf(piece) !== undefined && all(owned.resourceNames, piece.resourceNames)))

/** The minimal rules of `wanted` that no rule in `owned` covers. */
export const missing = (
  owned: ReadonlyArray<PolicyRule>,
  wanted: ReadonlyArray<PolicyRule>
): ReadonlyArray<PolicyRule> => wanted.flatMap(breakdown).filter((piece) => !owned.some((rule) => covers(rule, piece)))

/** Merges minimal rules that differ only in their verbs. */
export const compact = (pieces: ReadonlyArray<PolicyRule>): ReadonlyArray<PolicyRule> => {
  const bySubject = new Map<string, PolicyRule>()
  const others: Array<PolicyRule> = []
  for (const piece of pieces) {
    if (piece.nonResourceURLs !== undefined) {
      others.push(piece)
      continue
    }
    const key = JSON.stringify([piece.apiGroups, piece.resources, piece.resourceNames])
    const known = bySubject.get(key)
    bySubject.set(key, known === undefined ? piece : { ...known, verbs: [...known.verbs, ...piece.verbs] })
  }
  return [...others, ...bySubject.values()]
}

/** A slice of strings as Go prints it: `["a" "b"]`. */
export const goStrings = (values: ReadonlyArray<string>): string => `[${values.map(FieldError.quote).join(" ")}]`

/** A rule in refusals. */
export const print = (rule: PolicyRule): string => {
  const parts = ([
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs]
  ] as const).flatMap(([label, values]) =>
    values === undefined || values.length === 0 ? [] : [`${label}:${goStrings(values)}`]
  )
  return `{${parts.join(", ")}}`
}
