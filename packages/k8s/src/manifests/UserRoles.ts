/**
 * `UserRoles`: the permissions of people on the operator's kinds, aggregated into the cluster's own roles.
 *
 * Anybody who may view, edit or administer a namespace can then do the same with the custom objects in it, without a
 * binding for each operator. Cluster-scoped kinds are not included: permissions for those are the cluster
 * administrator's decision. Source: Kubernetes documentation, RBAC, "Aggregated ClusterRoles" and "User-facing roles".
 */
import type * as Resource from "@effect-operator/core/Resource"
import type { Manifest } from "./Manifest.ts"
import type { Rule } from "./Permissions.ts"

/** A kind for people to use. */
export interface Served {
  readonly resource: Resource.Any
  /** Whether it can be written. */
  readonly writable: boolean
}

const reads = ["get", "list", "watch"] as const
const writes = ["create", "update", "patch", "delete", "deletecollection"] as const

const group = "rbac.authorization.k8s.io"

/** Merges rules with the same group and verbs. */
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

/** Everybody can read the status, only the operator can write it. */
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

/** Two ClusterRoles, `NAME-view` and `NAME-edit`; none if no kind is namespaced. */
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
