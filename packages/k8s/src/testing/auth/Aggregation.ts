/**
 * `Aggregation`: ClusterRoles that are made of others, as their selectors say.
 *
 * A real cluster has a controller for it; here a role has its rules as soon as one it is made of has changed, by an
 * update of its own. Rules stand in order of the names of their roles, none twice; what somebody else wrote there is
 * overwritten.
 *
 * Source: k8s.io/kubernetes/pkg/controller/clusterroleaggregation.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt, asObject, at } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"
import * as PolicyRule from "./PolicyRule.ts"
import { collections } from "./Rbac.ts"

/** The rules a role should have, given all roles; undefined for a role that is not made of others. */
export const rulesFor = (
  role: KubeObject,
  roles: ReadonlyArray<KubeObject>
): ReadonlyArray<PolicyRule.PolicyRule> | undefined => {
  if (at(role, "aggregationRule") === undefined) return undefined
  const selectors = arrayAt(role, "aggregationRule", "clusterRoleSelectors").map((selector) =>
    Selector.fromObject(selector as Selector.LabelSelectorObject)
  )
  const selected = new Set<KubeObject>()
  for (const selector of selectors) {
    if (selector === undefined) continue
    for (const other of roles) if (Selector.matchesLabels(selector, other.metadata.labels)) selected.add(other)
  }
  const rules: Array<PolicyRule.PolicyRule> = []
  for (const other of [...selected].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    if (other.metadata.name === role.metadata.name) continue
    for (const rule of PolicyRule.rulesOf(other)) {
      if (!rules.some((known) => JsonValue.equals(known, rule))) rules.push(rule)
    }
  }
  return rules
}

/** Keeps the roles in a store up to date from now on. */
export const run = (storage: Storage): void => {
  storage.listen((change) => {
    if (change.collection !== collections.clusterRoles) return
    const { get, keys } = storage.list(collections.clusterRoles)
    const roles = keys.map(get)
    for (const role of roles) {
      const rules = rulesFor(role, roles)
      if (rules === undefined || JsonValue.equals(rules, PolicyRule.rulesOf(role))) continue
      // One at a time: the change is told, and whatever is made of this role follows.
      storage.put(collections.clusterRoles, role.metadata.name, "", asObject({ ...role, rules }))
      return
    }
  })
}
