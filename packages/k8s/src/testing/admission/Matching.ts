/**
 * `Matching`: which requests match a webhook or a policy.
 *
 * Rules name operations, groups, versions, resources and scope. Under the match policy `Equivalent`, a rule for another
 * version of the same objects matches as well, and the objects are then converted to that version. Selectors apply to
 * the labels of the namespace, of the new and of the old object.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/{webhook/{predicates,generic},policy/generic},
 * k8s.io/kubernetes/pkg/kubeapiserver/admission/exclusion.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Result from "effect/Result"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import type { Attributes, Kind } from "./Plugin.ts"
import { type Registry, type Served, subresource as subresourceOf } from "../server/Registry.ts"
import * as StatusError from "../../api/StatusError.ts"

/** A compiled rule. */
export interface Rule {
  readonly operations: ReadonlyArray<string>
  readonly apiGroups: ReadonlyArray<string>
  readonly apiVersions: ReadonlyArray<string>
  readonly resources: ReadonlyArray<readonly [resource: string, subresource: string]>
  /** Only in policies; empty matches all. */
  readonly resourceNames: ReadonlyArray<string>
  readonly scope: string
}

const strings = (value: unknown, key: string): ReadonlyArray<string> => arrayAt(value, key).map(String)

const split = (resource: string): readonly [string, string] => {
  const slash = resource.indexOf("/")
  return slash < 0 ? [resource, ""] : [resource.slice(0, slash), resource.slice(slash + 1)]
}

/** A `RuleWithOperations`, or a `NamedRuleWithOperations`. */
export const rule = (value: unknown): Rule => ({
  operations: strings(value, "operations"),
  apiGroups: strings(value, "apiGroups"),
  apiVersions: strings(value, "apiVersions"),
  resources: strings(value, "resources").map(split),
  resourceNames: strings(value, "resourceNames"),
  scope: stringAt(value, "scope") || "*"
})

const has = (items: ReadonlyArray<string>, wanted: string): boolean => items.includes("*") || items.includes(wanted)

/** Whether a rule matches a request, as if it were for `resource`. */
export const ruleMatches = (rule: Rule, attributes: Attributes, resource: Served = attributes.resource): boolean => {
  const { name, operation, subresource } = attributes
  return has(rule.operations, operation) && has(rule.apiGroups, resource.group) &&
    has(rule.apiVersions, resource.version) &&
    rule.resources.some(([plural, part]) =>
      (plural === "*" || plural === resource.plural) && (part === "*" || part === subresource)
    ) && (rule.scope === "*" || rule.scope === (isNamespaced(attributes) ? "Namespaced" : "Cluster")) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
}

/** Whether an object is namespaced. A Namespace is not, although its requests have a namespace. */
const isNamespaced = ({ namespace, resource }: Attributes): boolean =>
  namespace !== "" && resource.collection !== "namespaces"

/** The resource and kind under which a webhook or policy sees a request: those that its rule names. */
export interface Invocation {
  readonly resource: Served
  readonly kind: Kind
}

/** The view of the first rule that matches; undefined if none does. */
export const invocation = (
  rules: ReadonlyArray<Rule>,
  equivalent: boolean,
  attributes: Attributes,
  { registry }: { readonly registry: Registry }
): Invocation | undefined => {
  const { resource, subresource } = attributes
  if (rules.some((rule) => ruleMatches(rule, attributes))) return { resource, kind: attributes.kind }
  if (!equivalent) return undefined
  const others = equivalents(registry, resource, subresource)
  for (const rule of rules) {
    const other = others.find((other) => ruleMatches(rule, attributes, other))
    if (other !== undefined) return { resource: other, kind: kindOf(other, subresource) }
  }
  return undefined
}

const known = new WeakMap<Served, Map<string, ReadonlyArray<Served>>>()

/** The other resources that serve the objects of a resource and have the same subresource. */
const equivalents = (
  registry: Registry,
  resource: Served,
  subresource: string
): ReadonlyArray<Served> => {
  let of = known.get(resource)
  if (of === undefined) known.set(resource, of = new Map())
  let found = of.get(subresource)
  if (found === undefined) {
    found = registry.all().filter((other) =>
      other !== resource && other.collection === resource.collection &&
      (subresource === "" || subresourceOf(other, subresource) !== undefined)
    )
    of.set(subresource, found)
  }
  return found
}

/** The kind of the objects in requests for a resource or one of its subresources. */
export const kindOf = (resource: Served, subresource: string): Kind =>
  subresource === "" ? resource : subresourceOf(resource, subresource) ?? resource

/** A compiled label selector; undefined if it selects everything. */
export const selector = (value: unknown): Selector.LabelSelector | undefined => {
  const parsed = Selector.fromObject(value as Selector.LabelSelectorObject | undefined)
  return parsed === undefined || parsed.length === 0 ? undefined : parsed
}

/** Whether the namespace of a request is selected. Cluster-scoped objects other than Namespaces always are. */
export const namespaceMatches = (
  selector: Selector.LabelSelector | undefined,
  attributes: Attributes,
  { storage }: { readonly storage: Storage }
): Result.Result<boolean, StatusError.StatusError> => {
  const { namespace, object, operation, resource, subresource } = attributes
  const isNamespace = resource.collection === "namespaces"
  if (selector === undefined || (namespace === "" && !isNamespace)) return Result.succeed(true)
  // A Namespace is selected by its new labels.
  const written = isNamespace && subresource === "" && (operation === "CREATE" || operation === "UPDATE")
  const found = written ? object : storage.get("namespaces", namespace)
  return found === undefined
    ? Result.fail(StatusError.notFound({ group: "", plural: "namespaces" }, namespace))
    : Result.succeed(Selector.matchesLabels(selector, found.metadata.labels))
}

/** Whether the new or the old object is selected. */
export const objectMatches = (selector: Selector.LabelSelector | undefined, attributes: Attributes): boolean => {
  if (selector === undefined) return true
  const selected = (object: KubeObject | undefined): boolean =>
    object !== undefined && Selector.matchesLabels(selector, at(object, "metadata", "labels") as Labels)
  return selected(attributes.object) || selected(attributes.oldObject)
}

type Labels = Readonly<Record<string, string>> | undefined

const configurations: ReadonlySet<string> = new Set([
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding"
])

/** Webhooks are not called for the configuration of admission, so that nobody can lock themselves out. */
export const isExempt = ({ kind }: Attributes): boolean =>
  kind.group === "admissionregistration.k8s.io" && configurations.has(kind.kind)

const unjudged: ReadonlySet<string> = new Set([
  "validatingadmissionpolicies.admissionregistration.k8s.io",
  "validatingadmissionpolicybindings.admissionregistration.k8s.io",
  "mutatingadmissionpolicies.admissionregistration.k8s.io",
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
  "selfsubjectreviews.authentication.k8s.io",
  "tokenreviews.authentication.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io"
])

/**
 * Policies do not apply to policies and reviews, on which a cluster depends. They do apply to webhook configurations.
 */
export const isUnjudged = ({ resource: { group, plural } }: Attributes): boolean => unjudged.has(`${plural}.${group}`)

/**
 * Whether requests for a resource or its subresource contain objects of the resource: those for `status` do, those for
 * `scale` do not.
 */
export const bringsObjects = (resource: Served, subresource: string): boolean => {
  const { group, kind } = kindOf(resource, subresource)
  return kind === resource.kind && group === resource.group
}
