import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as RbacRules from "../../../../src/testing/server/rules/RbacRules.ts"

const role = (...rules: ReadonlyArray<unknown>) =>
  RbacRules.validateRole(true)({ rules } as never).map(FieldError.format)

const binding = (fields: Record<string, unknown>) =>
  RbacRules.validateBinding("Role", "ClusterRole")({
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" },
    ...fields
  } as never).map(FieldError.format)

describe("RbacRules", () => {
  it("judges rules", () => {
    assert.deepStrictEqual(role({ apiGroups: [""], resources: ["pods"], verbs: ["get"] }), [])
    assert.deepStrictEqual(role({}), [
      "rules[0].verbs: Required value: verbs must contain at least one value",
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
      "rules[0].resources: Required value: resource rules must supply at least one resource"
    ])
    assert.deepStrictEqual(role({ verbs: ["get"], nonResourceURLs: ["/x"] }), [
      "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs"
    ])
    const cluster = RbacRules.validateRole(false)({ rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] } as never)
    assert.deepStrictEqual(cluster, [])
  })

  it("judges what a ClusterRole is gathered by", () => {
    const gathered = (...clusterRoleSelectors: ReadonlyArray<unknown>) =>
      RbacRules.validateRole(false)({ aggregationRule: { clusterRoleSelectors } } as never).map(FieldError.format)
    const path = "aggregationRule.clusterRoleSelectors"
    assert.deepStrictEqual(gathered({ matchLabels: { a: "b" } }, {}), [])
    assert.deepStrictEqual(gathered(), [
      `${path}: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil`
    ])
    assert.deepStrictEqual(gathered({}, { matchExpressions: [{ key: "a", operator: "X" }] }), [
      `${path}[1].matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`,
      `${path}[1]: Invalid value: null: invalid label selector.`
    ])
  })

  it("judges bindings", () => {
    assert.deepStrictEqual(binding({}), [])
    assert.deepStrictEqual(binding({ roleRef: { apiGroup: "x", kind: "User", name: "" } }), [
      "roleRef.apiGroup: Unsupported value: \"x\": supported values: \"rbac.authorization.k8s.io\"",
      "roleRef.kind: Unsupported value: \"User\": supported values: \"Role\", \"ClusterRole\"",
      "roleRef.name: Required value"
    ])
    const account = { kind: "ServiceAccount", name: "a" }
    const cluster = RbacRules.validateBinding("ClusterRole")({
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "a" },
      subjects: [account]
    } as never)
    assert.deepStrictEqual(cluster.map(FieldError.format), ["subjects[0].namespace: Required value"])
    assert.deepStrictEqual(binding({ subjects: [account, { kind: "Robot", name: "" }] }), [
      "subjects[1].name: Required value",
      "subjects[1].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\""
    ])
  })
})
