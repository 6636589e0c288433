/**
 * `UserRoles`: what people may do with the operator's kinds, as parts of the cluster's own roles.
 *
 * Whoever may view, edit or administer a namespace may then do the same with the custom objects in it, without a binding
 * for each operator. Kinds without a namespace are in neither: who may change those is for the cluster's administrator to
 * say. Source of the rule: Kubernetes documentation, RBAC, "Aggregated ClusterRoles" and "User-facing roles".
 */
import type * as Resource from "@effect-operator/core/Resource"
import type { Manifest } from "./Manifest.ts"
import type { Rule } from "./Permissions.ts"

/** A kind that people work with. */
export interface Served {
  readonly resource: Resource.Any
  /** Whether it takes writes. */
  readonly writable: boolean
}

const reads = ["get", "list", "watch"] as const
const writes = ["create", "update", "patch", "delete", "deletecollection"] as const

const group = "rbac.authorization.k8s.io"

/** One rule for each group and list of verbs. */
const merged = (rules: ReadonlyArray<Rule>): ReadonlyArray<Rule> => {
  const out = new Map<string, Rule>()
  for (const rule of rules) {
    const key = JSON.stringify([rule.apiGroups, rule.verbs])
    const known = out.get(key)
    out.set(key, known === undefined ? rule : { ...known, resources: [...known.resources, ...rule.resources] })
  }
  return [...out.values()]
}

const ruleOf = ({ group, plural }: Resource.Any, verbs: ReadonlyArray<string>, subresource?: string): Rule => ({
  apiGroups: [group],
  resources: [subresource === undefined ? plural : `${plural}/${subresource}`],
  verbs
})

const has = ({ subresources }: Resource.Any, subresource: string): boolean => subresources.includes(subresource)

/** The status is read by everybody, and written by the operator alone. */
const viewed = ({ resource }: Served): ReadonlyArray<Rule> => [
  ruleOf(resource, reads),
  ...["status", "scale"].filter((subresource) => has(resource, subresource)).map((subresource) =>
    ruleOf(resource, ["get"], subresource)
  )
]

const edited = (served: Served): ReadonlyArray<Rule> => {
  const { resource, writable } = served
  if (!writable) return viewed(served)
  return [
    ruleOf(resource, [...reads, ...writes]),
    ...has(resource, "status") ? [ruleOf(resource, ["get"], "status")] : [],
    ...has(resource, "scale") ? [ruleOf(resource, ["get", "update", "patch"], "scale")] : []
  ]
}

/** Two ClusterRoles, `NAME-view` and `NAME-edit`; none if no kind has a namespace. */
export const make = (
  name: string,
  labels: Readonly<Record<string, string>>,
  kinds: ReadonlyArray<Served>
): ReadonlyArray<Manifest> => {
  const namespaced = kinds.filter(({ resource }) => resource.scope === "Namespaced")
  if (namespaced.length === 0) return []
  const role = (suffix: string, into: ReadonlyArray<string>, rules: ReadonlyArray<Rule>): Manifest => ({
    apiVersion: `${group}/v1`,
    kind: "ClusterRole",
    metadata: {
      name: `${name}-${suffix}`,
      labels: { ...labels, ...Object.fromEntries(into.map((to) => [`${group}/aggregate-to-${to}`, "true"])) }
    },
    rules: merged(rules)
  })
  return [
    role("view", ["view"], namespaced.flatMap(viewed)),
    role("edit", ["edit", "admin"], namespaced.flatMap(edited))
  ]
}
