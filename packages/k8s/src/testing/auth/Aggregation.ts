/**
 * `Aggregation`: ClusterRoles that are aggregated from others by their selectors.
 *
 * A real cluster has a controller for this. Here a role gets its rules in a separate update as soon as one of its
 * source roles has changed. Rules are ordered by the names of their roles, without duplicates; rules that a client
 * writes are overwritten.
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

/** The rules of an aggregated role, given all roles; undefined for other roles. */
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

/** Keeps the aggregated roles in a store up to date from now on. */
export const run = (storage: Storage): void => {
  storage.listen((change) => {
    if (change.collection !== collections.clusterRoles) return
    const { get, keys } = storage.list(collections.clusterRoles)
    const roles = keys.map(get)
    for (const role of roles) {
      const rules = rulesFor(role, roles)
      if (rules === undefined || JsonValue.equals(rules, PolicyRule.rulesOf(role))) continue
      // One at a time: this change triggers the update of roles that depend on this one.
      storage.put(collections.clusterRoles, role.metadata.name, "", asObject({ ...role, rules }))
      return
    }
  })
}
