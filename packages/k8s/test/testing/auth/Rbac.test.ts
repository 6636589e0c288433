import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { type Attributes, resource } from "../../../src/api/Attributes.ts"
import * as PolicyRule from "../../../src/testing/auth/PolicyRule.ts"
import { collections, Rbac } from "../../../src/testing/auth/Rbac.ts"
import { Storage } from "../../../src/api/Storage.ts"
import { administrator, serviceAccount, type UserInfo } from "../../../src/api/UserInfo.ts"

const group = "rbac.authorization.k8s.io"

type Subject = Readonly<Record<string, string>>

const put = (storage: Storage, collection: string, namespace: string, name: string, rest: object) =>
  storage.put(collection, namespace === "" ? name : `${namespace}/${name}`, namespace, {
    apiVersion: `${group}/v1`,
    kind: "X",
    metadata: { name, uid: name, namespace },
    ...rest
  } as unknown as KubeObject)

const clusterRole = (storage: Storage, name: string, ...rules: ReadonlyArray<PolicyRule.PolicyRule>) =>
  put(storage, collections.clusterRoles, "", name, { rules })

const role = (storage: Storage, namespace: string, name: string, ...rules: ReadonlyArray<PolicyRule.PolicyRule>) =>
  put(storage, collections.roles, namespace, name, { rules })

const bind = (storage: Storage, namespace: string, name: string, ref: string, ...subjects: ReadonlyArray<Subject>) => {
  const [kind, to] = ref.split("/")
  const collection = namespace === "" ? collections.clusterRoleBindings : collections.roleBindings
  return put(storage, collection, namespace, name, { roleRef: { apiGroup: group, kind, name: to }, subjects })
}

const pods = (verb: string, more: Parameters<typeof resource>[0] = {}) => resource({ verb, resource: "pods", ...more })
const getPods = { apiGroups: [""], resources: ["pods"], verbs: ["get"] }

const jane: UserInfo = { username: "jane", groups: ["dev", "system:authenticated"] }

describe("Rbac", () => {
  it("says by which binding of which role to whom", () => {
    const storage = new Storage(100)
    const rbac = new Rbac(storage)
    const reason = (user: UserInfo, attributes: Attributes) => rbac.authorize(user, attributes).reason
    clusterRole(storage, "viewer", getPods)
    role(storage, "n", "local", { ...getPods, verbs: ["list"] })
    bind(storage, "", "all", "ClusterRole/viewer", { kind: "Group", name: "dev" })
    bind(storage, "n", "here", "Role/local", { kind: "User", name: "jane" }, { kind: "ServiceAccount", name: "a" })
    bind(storage, "n", "there", "ClusterRole/viewer", { kind: "ServiceAccount", name: "b", namespace: "m" })
    assert.strictEqual(
      reason(jane, pods("get")),
      `RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "viewer" to Group "dev"`
    )
    assert.strictEqual(
      reason(jane, pods("list", { namespace: "n" })),
      `RBAC: allowed by RoleBinding "here/n" of Role "local" to User "jane"`
    )
    assert.strictEqual(
      reason(serviceAccount("n", "a"), pods("list", { namespace: "n" })),
      `RBAC: allowed by RoleBinding "here/n" of Role "local" to ServiceAccount "a/n"`
    )
    assert.strictEqual(
      reason(serviceAccount("m", "b"), pods("get", { namespace: "n" })),
      `RBAC: allowed by RoleBinding "there/n" of ClusterRole "viewer" to ServiceAccount "b/m"`
    )
    assert.isFalse(rbac.authorize(serviceAccount("n", "b"), pods("get", { namespace: "n" })).allowed)
    assert.isFalse(rbac.authorize(jane, pods("list")).allowed, "a RoleBinding counts in its namespace")
    assert.deepStrictEqual(rbac.authorize(administrator, pods("x")), { allowed: true, reason: "" })
  })

  it("asks about names each time, and remembers the rest", () => {
    const storage = new Storage(100)
    const rbac = new Rbac(storage)
    clusterRole(storage, "one", { ...getPods, resourceNames: ["a"] })
    clusterRole(storage, "any", { ...getPods, resourceNames: ["b"] }, { ...getPods, verbs: ["list"] })
    bind(storage, "", "x", "ClusterRole/one", { kind: "User", name: "jane" })
    bind(storage, "", "y", "ClusterRole/any", { kind: "User", name: "jane" })
    const allowed = (verb: string, name: string) => rbac.authorize(jane, pods(verb, { name })).allowed
    for (let round = 0; round < 2; round++) {
      assert.deepStrictEqual(["a", "b", "c", ""].map((name) => allowed("get", name)), [true, true, false, false])
      assert.isTrue(allowed("list", ""))
    }
  })

  it("names roles that are bound and not there", () => {
    const storage = new Storage(100)
    const rbac = new Rbac(storage)
    bind(storage, "", "x", "ClusterRole/none", { kind: "User", name: "jane" })
    bind(storage, "n", "y", "Role/no", { kind: "User", name: "jane" })
    assert.strictEqual(
      rbac.authorize(jane, pods("get")).reason,
      `RBAC: clusterrole.${group} "none" not found`
    )
    assert.strictEqual(
      rbac.authorize(jane, pods("get", { namespace: "n" })).reason,
      `RBAC: [clusterrole.${group} "none" not found, role.${group} "no" not found]`
    )
    clusterRole(storage, "none", getPods)
    assert.isTrue(rbac.authorize(jane, pods("get")).allowed, "from the next request on")
    storage.remove(collections.clusterRoles, "none", "")
    assert.isFalse(rbac.authorize(jane, pods("get")).allowed)
  })

  /** What the definition says, without an index and without memory. */
  const allowedBy = (storage: Storage, user: UserInfo, attributes: Attributes): boolean => {
    const all = (collection: string, namespace = "") => {
      const { get, keys } = storage.list(collection, namespace)
      return keys.map(get) as ReadonlyArray<any>
    }
    const namespace = attributes._tag === "Path" ? "" : attributes.namespace
    const bindings = [
      ...all(collections.clusterRoleBindings),
      ...(namespace === "" ? [] : all(collections.roleBindings, namespace))
    ]
    return bindings.some((binding) =>
      binding.subjects.some((subject: Subject) =>
        subject["kind"] === "User" ? subject["name"] === user.username : user.groups.includes(subject["name"]!)
      ) &&
      [...all(collections.clusterRoles), ...all(collections.roles)].some((candidate) =>
        candidate.metadata.name === binding.roleRef.name &&
        (binding.roleRef.kind === "ClusterRole") === (candidate.metadata.namespace === "") &&
        (candidate.metadata.namespace === "" || candidate.metadata.namespace === binding.metadata.namespace) &&
        PolicyRule.rulesOf(candidate).some((one) => PolicyRule.allows(one, attributes))
      )
    )
  }

  it.effect("is right whatever changes between questions", () =>
    Effect.gen(function*() {
      const seed = "rbac-1"
      const random = yield* Random.Random.pipe(Random.withSeed(seed))
      const pick = <A>(values: ReadonlyArray<A>): A => values[Math.floor(random.nextDoubleUnsafe() * values.length)]!
      const storage = new Storage(10_000)
      const rbac = new Rbac(storage)
      const users: ReadonlyArray<UserInfo> = ["u", "v"].flatMap((username) =>
        [["g"], ["h", "g"], []].map((groups) => ({ username, groups }))
      )
      const anyRule = (): PolicyRule.PolicyRule => ({
        apiGroups: [pick(["", "apps", "*"])],
        resources: [pick(["pods", "jobs", "*"])],
        verbs: [pick(["get", "list", "*"])],
        ...(pick([true, false]) ? { resourceNames: [pick(["a", "b"])] } : {})
      })
      const change: ReadonlyArray<() => void> = [
        () => clusterRole(storage, pick(["r", "s"]), anyRule(), anyRule()),
        () => role(storage, pick(["m", "n"]), pick(["r", "s"]), anyRule()),
        () =>
          bind(
            storage,
            pick(["", "m", "n"]),
            pick(["x", "y"]),
            `${pick(["ClusterRole", "ClusterRole", "Role"])}/${pick(["r", "s"])}`,
            {
              kind: pick(["User", "Group"]),
              name: pick(["u", "v", "g", "h"])
            }
          ),
        () => storage.remove(collections.clusterRoles, pick(["r", "s"]), ""),
        () => {
          const namespace = pick(["m", "n"])
          storage.remove(collections.roleBindings, `${namespace}/${pick(["x", "y"])}`, namespace)
        },
        () => storage.remove(collections.clusterRoleBindings, pick(["x", "y"]), "")
      ]
      let allowed = 0
      for (let step = 0; step < 3000; step++) {
        if (step % 5 === 0) pick(change)()
        const attributes = resource({
          verb: pick(["get", "list"]),
          group: pick(["", "apps"]),
          resource: pick(["pods", "jobs"]),
          namespace: pick(["", "m", "n"]),
          name: pick(["", "a", "b"])
        })
        const user = pick(users)
        const expected = allowedBy(storage, user, attributes)
        assert.strictEqual(rbac.authorize(user, attributes).allowed, expected, `seed ${seed}, step ${step}`)
        if (expected) allowed++
      }
      assert.isAbove(allowed, 100)
    }))
})
