/** Statement 130, the first half: nobody grants what he does not have. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const group = "rbac.authorization.k8s.io"
const rbac = `/apis/${group}/v1`
const merge = "application/merge-patch+json"

const as = (user: string) => ({ headers: { "impersonate-user": user } })
const subject = (name: string) => ({ kind: "User", apiGroup: group, name })
const refTo = (kind: string, name: string) => ({ apiGroup: group, kind, name })

/** A user who may write roles and bindings, and has these rules besides. */
const roleMaker = Effect.fnUntraced(function*(...rules: ReadonlyArray<unknown>) {
  const { request, unique, until } = yield* Target
  const name = unique("maker")
  const all = [
    { apiGroups: [group], resources: ["*"], verbs: ["create", "update", "patch", "get", "delete"] },
    ...rules
  ]
  yield* request("POST", `${rbac}/clusterroles`, { body: { metadata: { name }, rules: all } })
  yield* request("POST", `${rbac}/clusterrolebindings`, {
    body: { metadata: { name }, roleRef: refTo("ClusterRole", name), subjects: [subject(name)] }
  })
  yield* until(request("GET", `${rbac}/clusterroles/${name}`, as(name)), ({ status }) => status === 200)
  return name
})

const attempt = (name: string) =>
  `user "${name}" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n`

export const escalation = [
  statement("130a", "a role holds only what its author holds; what is missing is told rule by rule", {}, function*() {
    const { namespace, request, unique } = yield* Target
    const ns = yield* namespace
    const name = yield* roleMaker({ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] })
    const role = unique("role")
    const rules = [
      { apiGroups: ["", "apps"], resources: ["pods", "deployments/scale"], verbs: ["get", "list"] },
      { nonResourceURLs: ["/metrics", "/x*", "/version"], verbs: ["get", "post"] },
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["a", "b"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }
    ]
    const refused = yield* request("POST", `${rbac}/clusterroles`, {
      ...as(name),
      body: { metadata: { name: role }, rules }
    })
    assert.strictEqual(refused.status, 403)
    assert.strictEqual(refused.error.reason, "Forbidden")
    assert.deepStrictEqual(refused.error.details, { name: role, group, kind: "clusterroles" })
    assert.strictEqual(
      refused.error.message,
      `clusterroles.${group} "${role}" is forbidden: ${attempt(name)}` + [
        "{APIGroups:[\"\"], Resources:[\"deployments/scale\"], Verbs:[\"get\" \"list\"]}",
        "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}",
        "{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"a\"], Verbs:[\"get\" \"list\"]}",
        "{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"b\"], Verbs:[\"get\" \"list\"]}",
        "{APIGroups:[\"apps\"], Resources:[\"deployments/scale\"], Verbs:[\"get\" \"list\"]}",
        "{APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}",
        "{NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}",
        "{NonResourceURLs:[\"/metrics\"], Verbs:[\"post\"]}",
        "{NonResourceURLs:[\"/version\"], Verbs:[\"post\"]}",
        "{NonResourceURLs:[\"/x*\"], Verbs:[\"get\"]}",
        "{NonResourceURLs:[\"/x*\"], Verbs:[\"post\"]}"
      ].join("\n")
    )
    const path = `${rbac}/namespaces/${ns}/roles`
    const own = (verbs: ReadonlyArray<string>) => ({
      metadata: { name: "r" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs }]
    })
    const made = yield* request("POST", path, { ...as(name), body: own(["get"]) })
    assert.strictEqual(made.status, 201)
    const put = yield* request("PUT", `${path}/r`, { ...as(name), body: own(["get", "list"]) })
    assert.strictEqual(
      put.error.message,
      `roles.${group} "r" is forbidden: ${attempt(name)}{APIGroups:[""], Resources:["configmaps"], Verbs:["list"]}`
    )
    const patch = { ...as(name), contentType: merge, body: own(["delete"]) }
    assert.strictEqual((yield* request("PATCH", `${path}/r`, patch)).status, 403)
    const dry = yield* request("POST", path, { ...as(name), query: { dryRun: "All" }, body: own(["*"]) })
    assert.strictEqual(dry.status, 403)
    const { object } = yield* request("GET", `${path}/r`)
    assert.deepStrictEqual(object["rules"][0].verbs, ["get"])
  }),

  statement("130b", "a binding hands out only what its author holds, or has the verb bind for", {}, function*() {
    const { minor, namespace, request, unique, until } = yield* Target
    const ns = yield* namespace
    const role = unique("secrets")
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }]
    yield* request("POST", `${rbac}/clusterroles`, { body: { metadata: { name: role }, rules } })
    const name = yield* roleMaker()
    const path = `${rbac}/namespaces/${ns}/rolebindings`
    const bind = (kind: string, to: string, by = name) =>
      request("POST", path, {
        ...as(by),
        body: { metadata: { name: unique("b") }, roleRef: refTo(kind, to), subjects: [subject(by)] }
      })
    const refused = yield* bind("ClusterRole", role)
    assert.strictEqual(refused.status, 403)
    assert.match(refused.error.message!, /^rolebindings\.rbac\.authorization\.k8s\.io "b-\S+" is forbidden: user /)
    assert.strictEqual(
      refused.error.message!.slice(refused.error.message!.indexOf("user ")),
      `${attempt(name)}{APIGroups:[""], Resources:["secrets"], Verbs:["list"]}`
    )
    const missing = yield* bind("Role", "none")
    assert.strictEqual(missing.status, 404)
    const missed = minor < 30 ? "roles" : "rolebindings"
    assert.strictEqual(missing.error.message, `${missed}.${group} "none" not found`)
    assert.deepStrictEqual(missing.error.details, { name: "none", group, kind: missed })
    const odd = yield* bind("Foo", "none")
    assert.strictEqual(odd.status, 500)
    assert.strictEqual(odd.error.message, "unsupported role reference kind: \"Foo\"")
    const binder = yield* roleMaker({
      apiGroups: [group],
      resources: ["clusterroles"],
      resourceNames: [role],
      verbs: ["bind"]
    })
    const bound = yield* until(bind("ClusterRole", role, binder), ({ status }) => status !== 403)
    assert.strictEqual(bound.status, 201)
    assert.strictEqual((yield* bind("ClusterRole", "view", binder)).status, 403)
  }),

  statement("130c", "escalate frees from it; a role made of others takes one who may do everything", {}, function*() {
    const { request, unique, until } = yield* Target
    const name = yield* roleMaker({ apiGroups: [group], resources: ["clusterroles"], verbs: ["escalate"] })
    const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]
    const create = (by: string, body: object) =>
      request("POST", `${rbac}/clusterroles`, { ...as(by), body: { metadata: { name: unique("role") }, ...body } })
    const made = yield* until(create(name, { rules: everything }), ({ status }) => status !== 403)
    assert.strictEqual(made.status, 201)
    const plain = yield* roleMaker()
    const gathers = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } }
    const refused = yield* create(plain, gathers)
    assert.strictEqual(refused.status, 403)
    assert.match(
      refused.error.message!,
      /^clusterroles\.rbac\.\S+ "role-\S+" is forbidden: must have cluster-admin privileges to use the aggregationRule$/
    )
    assert.strictEqual((yield* create(name, gathers)).status, 201)
    const text = `{APIGroups:["*"], Resources:["*"], Verbs:["*"]}`
    assert.isTrue((yield* create(plain, { rules: everything })).error.message!.endsWith(text))
  }),

  statement(
    "130d",
    "finalizers and owners of a role are anybody's who may write it; order of the checks",
    {},
    function*() {
      const { request, unique } = yield* Target
      const role = unique("role")
      const path = `${rbac}/clusterroles`
      const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }]
      yield* request("POST", path, { body: { metadata: { name: role }, rules } })
      const name = yield* roleMaker()
      const patch = (body: unknown, of = role) =>
        request("PATCH", `${path}/${of}`, { ...as(name), contentType: merge, body })
      assert.strictEqual((yield* patch({ metadata: { finalizers: ["a.example/b"] } })).status, 200)
      assert.strictEqual((yield* patch({ metadata: { labels: { a: "b" } } })).status, 403)
      assert.strictEqual((yield* patch({ metadata: { finalizers: null } })).status, 200)
      assert.strictEqual((yield* patch({ rules: [] }, "none")).status, 404, "what is not there is not found")
      const stale = yield* request("PUT", `${path}/${role}`, {
        ...as(name),
        body: { metadata: { name: role, resourceVersion: "1" }, rules }
      })
      assert.strictEqual(stale.status, 403, "before the resourceVersion is looked at")
      const invalid = yield* request("POST", path, {
        ...as(name),
        body: { metadata: { name: "a/b" }, rules: [...rules, { verbs: [] }] }
      })
      assert.strictEqual(invalid.status, 403, "and before the object is")
      const allowed = yield* request("POST", path, { ...as(name), body: { metadata: { name: "a/b" }, rules: [] } })
      assert.strictEqual(allowed.status, 422)
    }
  ),

  statement("130e", "ClusterRoles are made of those their selectors choose", { controllers: true }, function*() {
    const { request, unique, until } = yield* Target
    const [label, name] = [unique("label"), unique("sum")]
    const path = `${rbac}/clusterroles`
    const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] })
    const part = (of: string, ...resources: ReadonlyArray<string>) =>
      request("POST", path, {
        body: { metadata: { name: `${name}-${of}`, labels: { [label]: "true" } }, rules: resources.map(rule) }
      })
    yield* request("POST", path, {
      body: {
        metadata: { name },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: "true" } }] },
        rules: [rule("nodes")]
      }
    })
    const resources = (of: Readonly<Record<string, any>>) =>
      (of["rules"] ?? []).flatMap((entry: { readonly resources: ReadonlyArray<string> }) => entry.resources)
    yield* part("b", "pods", "secrets")
    yield* part("a", "configmaps", "pods")
    const sum = request("GET", `${path}/${name}`)
    const full = yield* until(sum, ({ object }) => resources(object).length === 3)
    assert.deepStrictEqual(resources(full.object), ["configmaps", "pods", "secrets"], "by name, none twice")
    yield* request("DELETE", `${path}/${name}-b`)
    const less = yield* until(sum, ({ object }) => resources(object).length === 2)
    assert.deepStrictEqual(resources(less.object), ["configmaps", "pods"])
    yield* request("PATCH", `${path}/${name}`, { contentType: merge, body: { rules: [rule("nodes")] } })
    const restored = yield* until(sum, ({ object }) => !resources(object).includes("nodes"))
    assert.deepStrictEqual(resources(restored.object), ["configmaps", "pods"], "what others write is overwritten")
  }),

  statement("130f", "roles and bindings that make no sense are refused", {}, function*() {
    const { minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const role = yield* request("POST", `${rbac}/namespaces/${ns}/roles`, {
      body: {
        metadata: { name: "bad" },
        rules: [{ verbs: [], nonResourceURLs: ["/x"], resources: ["a"] }, { verbs: ["get"] }]
      }
    })
    assert.strictEqual(role.status, 422)
    const paths = minor < 32 ? "[]string{\"/x\"}" : "[\"/x\"]"
    assert.strictEqual(
      role.error.message,
      `Role.${group} "bad" is invalid: [rules[0].verbs: Required value: verbs must contain at least one value, ` +
        `rules[0].nonResourceURLs: Invalid value: ${paths}: namespaced rules cannot apply to non-resource URLs, ` +
        `rules[0].nonResourceURLs: Invalid value: ${paths}: rules cannot apply to both regular resources and ` +
        "non-resource URLs, rules[1].apiGroups: Required value: resource rules must supply at least one api group, " +
        "rules[1].resources: Required value: resource rules must supply at least one resource]"
    )
    const binding = yield* request("POST", `${rbac}/namespaces/${ns}/rolebindings`, {
      body: {
        metadata: { name: "bad" },
        roleRef: { apiGroup: "x", kind: "Foo", name: "a/b" },
        subjects: [
          { kind: "User", name: "" },
          { kind: "ServiceAccount", name: "A_B", apiGroup: "x" },
          { kind: "X", name: "y" },
          { kind: "Group", apiGroup: "y", name: "g" }
        ]
      }
    })
    assert.strictEqual(binding.status, 422)
    assert.sameMembers(binding.error.details!.causes!.map((cause) => `${cause.field} ${cause.reason}`), [
      "roleRef.apiGroup FieldValueNotSupported",
      "roleRef.kind FieldValueNotSupported",
      "roleRef.name FieldValueInvalid",
      "subjects[0].name FieldValueRequired",
      "subjects[1].name FieldValueInvalid",
      "subjects[1].apiGroup FieldValueNotSupported",
      "subjects[2].kind FieldValueNotSupported",
      "subjects[3].apiGroup FieldValueNotSupported"
    ])
    const wide = yield* request("POST", `${rbac}/clusterrolebindings`, {
      body: {
        metadata: { name: "bad" },
        roleRef: { kind: "Role", name: "" },
        subjects: [{ kind: "ServiceAccount", name: "a" }]
      }
    })
    assert.strictEqual(
      wide.error.message,
      `ClusterRoleBinding.${group} "bad" is invalid: [roleRef.kind: Unsupported value: "Role": supported values: ` +
        "\"ClusterRole\", roleRef.name: Required value, subjects[0].namespace: Required value]"
    )
    const sum = yield* request("POST", `${rbac}/clusterroles`, {
      body: { metadata: { name: "bad" }, aggregationRule: {} }
    })
    assert.strictEqual(
      sum.error.message,
      `ClusterRole.${group} "bad" is invalid: aggregationRule.clusterRoleSelectors: Required value: at least one ` +
        "clusterRoleSelector required if aggregationRule is non-nil"
    )
  })
]
