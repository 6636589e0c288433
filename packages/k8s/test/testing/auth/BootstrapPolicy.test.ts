import { assert, describe, it } from "@effect/vitest"
import * as Bootstrap from "../../../src/testing/auth/Bootstrap.ts"
import * as BootstrapFlows from "../../../src/testing/auth/BootstrapFlows.ts"
import * as BootstrapPolicy from "../../../src/testing/auth/BootstrapPolicy.ts"
import * as PolicyRule from "../../../src/testing/auth/PolicyRule.ts"
import { collections } from "../../../src/testing/auth/Rbac.ts"
import { Storage } from "../../../src/api/Storage.ts"

const entries = BootstrapPolicy.objects()
const named = (name: string) => entries.find(({ object }) => object.metadata.name === name)!.object
const of = (collection: string) =>
  entries.filter((entry) => entry.collection === collection).map(({ object }) => object)

describe("BootstrapPolicy", () => {
  it("reads every role: each rule has verbs, and resources of groups or paths", () => {
    const roles = [...of(collections.clusterRoles), ...of(collections.roles)]
    assert.isAbove(roles.length, 60)
    for (const role of roles) {
      const rules = PolicyRule.rulesOf(role)
      if (role.metadata.name !== "system:node") assert.isNotEmpty(rules, role.metadata.name)
      for (const rule of rules) {
        assert.isNotEmpty(rule.verbs)
        const [resources, paths] = [rule.resources ?? [], rule.nonResourceURLs ?? []]
        assert.isTrue((resources.length > 0) !== (paths.length > 0), role.metadata.name)
        assert.strictEqual(resources.length > 0, (rule.apiGroups ?? []).length > 0)
        for (const text of [...resources, ...paths, ...rule.verbs]) assert.match(text, /^\S+$/)
      }
    }
  })

  it("binds roles that are there", () => {
    for (const { namespace, object } of entries) {
      const { roleRef } = object as { readonly roleRef?: { readonly kind: string; readonly name: string } }
      if (roleRef === undefined) continue
      const found = entries.some((entry) =>
        entry.object.metadata.name === roleRef.name && entry.object.kind === roleRef.kind &&
        (roleRef.kind === "ClusterRole" || entry.namespace === namespace)
      )
      assert.isTrue(found, object.metadata.name)
    }
    assert.deepStrictEqual((named("system:controller:job-controller") as any).metadata.labels, {
      "kubernetes.io/bootstrapping": "rbac-defaults"
    })
  })

  it("has admin, edit and view with the rules of what they are made of", () => {
    const allows = (name: string, piece: PolicyRule.PolicyRule) =>
      PolicyRule.missing(PolicyRule.rulesOf(named(name)), [piece]).length === 0
    const view = { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] }
    const secrets = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] }
    const roles = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"], verbs: ["create"] }
    assert.deepStrictEqual(["view", "edit", "admin"].map((name) => allows(name, view)), [true, true, true])
    assert.deepStrictEqual(["view", "edit", "admin"].map((name) => allows(name, secrets)), [false, true, true])
    assert.deepStrictEqual(["view", "edit", "admin"].map((name) => allows(name, roles)), [false, false, true])
  })

  it("is shared by all servers, but for what is an object's own", () => {
    const [one, two] = [new Storage(10), new Storage(10)]
    let count = 0
    for (const storage of [one, two]) Bootstrap.install(storage, [], 0, () => (count++ % 10) / 10)
    const get = (storage: Storage) => storage.get(collections.clusterRoles, "admin") as any
    assert.strictEqual(get(one).rules, get(two).rules)
    const uids = new Set(one.snapshot().map(({ metadata }) => metadata.uid))
    assert.strictEqual(uids.size, one.snapshot().length)
    assert.isAtLeast(uids.size, entries.length + BootstrapFlows.objects().length)
    for (const uid of uids) assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
  })
})
