/** Statements 121, 129 and 131: what somebody may do. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { as, bearer, grant, group, isForbidden, rbac, untilAllowed, user } from "../Access.ts"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

export const auth = [
  statement("121b", "owner references are set by who may delete the object, and block by who may update finalizers", {
    note: "with the admission plugin OwnerReferencesPermissionEnforcement"
  }, function*() {
    const { namespace, request, unique } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const name = unique("user")
    yield* grant([{ apiGroups: [""], resources: ["configmaps"], verbs: ["create", "patch", "get"] }], [user(name)])
    yield* untilAllowed(request("GET", `${path}/none`, { headers: as(name) }))
    // An owner that is there: what has none is collected.
    const secrets = `/api/v1/namespaces/${ns}/secrets`
    const { object: { metadata: { uid } } } = yield* request("POST", secrets, { body: { metadata: { name: "o" } } })
    const owner = (kind: string, apiVersion = "v1", more = {}) => ({ apiVersion, kind, name: "o", uid, ...more })
    const create = (metadata: unknown) => request("POST", path, { body: { metadata }, headers: as(name) })
    assert.strictEqual((yield* create({ name: "a", ownerReferences: [owner("Secret")] })).status, 201)
    const blocks = { blockOwnerDeletion: true }
    isForbidden(
      yield* create({ name: "b", ownerReferences: [owner("Secret", "v1", blocks)] }),
      "configmaps \"b\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you " +
        "can't set finalizers on: , <nil>",
      { name: "b", kind: "configmaps" }
    )
    isForbidden(
      yield* create({ name: "b", ownerReferences: [owner("Foo", "x.example/v1", blocks)] }),
      "configmaps \"b\" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for " +
        "APIVersion x.example/v1 Kind Foo: no matches for kind \"Foo\" in version \"x.example/v1\"",
      { name: "b", kind: "configmaps" }
    )
    const patch = (metadata: unknown) =>
      request("PATCH", `${path}/a`, {
        body: { metadata },
        headers: as(name),
        contentType: "application/merge-patch+json"
      })
    isForbidden(
      yield* patch({ ownerReferences: [] }),
      "configmaps \"a\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>",
      { name: "a", kind: "configmaps" }
    )
    assert.strictEqual((yield* patch({ labels: { x: "y" } })).status, 200, "owners stay as they are")
    yield* grant(
      [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["delete"] },
        { apiGroups: [""], resources: ["secrets/finalizers"], verbs: ["update"] }
      ],
      [user(name)],
      ns
    )
    const allowed = yield* untilAllowed(patch({ ownerReferences: [owner("Secret", "v1", blocks)] }))
    assert.strictEqual(allowed.status, 200)
  }),

  statement("121c", "who applies or replaces what is not there must be allowed to create it", {}, function*() {
    const { minor, namespace, request, unique } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/roles`
    const name = unique("user")
    yield* grant([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["patch", "get"] },
      { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"], verbs: ["update"] }
    ], [user(name)])
    yield* untilAllowed(request("GET", `${path}/none`, { headers: as(name) }))
    const apply = (query = {}) =>
      request("PATCH", `${path}/a`, {
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } },
        query: { fieldManager: "m", ...query },
        headers: as(name),
        contentType: "application/apply-patch+yaml"
      })
    const why = (plural: string, group: string) =>
      minor < 30
        ? ""
        : `User "${name}" cannot create resource "${plural}" in API group "${group}" in the namespace "${ns}"`
    const refused = `configmaps "a" is forbidden: ${why("configmaps", "")}`
    isForbidden(yield* apply(), refused, { name: "a", kind: "configmaps" })
    isForbidden(yield* apply({ dryRun: "All" }), refused, { name: "a", kind: "configmaps" })
    assert.strictEqual((yield* request("GET", `${path}/a`, {})).status, 404, "nothing was stored")
    isForbidden(
      yield* request("PUT", `${roles}/a`, { body: { metadata: { name: "a" }, rules: [] }, headers: as(name) }),
      `roles.rbac.authorization.k8s.io "a" is forbidden: ${why("roles", "rbac.authorization.k8s.io")}`,
      { name: "a", group: "rbac.authorization.k8s.io", kind: "roles" }
    )
    yield* request("POST", path, { body: { metadata: { name: "a" } } })
    const applied = yield* apply()
    assert.strictEqual(applied.status, 200)
    assert.deepStrictEqual(applied.object["data"], { k: "v" })
  }),

  statement("129a", "a refusal names user, verb, resource, API group and scope", {}, function*() {
    const { request, namespace } = yield* Target
    const ns = yield* namespace
    const cannot = (what: string) => `User "jane" cannot ${what}`
    const asked = (method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, query = {}) =>
      request(method, path, { headers: as("jane"), query, ...(method === "GET" ? {} : { body: {} }) })
    const pods = `/api/v1/namespaces/${ns}/pods`
    isForbidden(
      yield* asked("GET", "/api/v1/pods"),
      `pods is forbidden: ${cannot("list resource \"pods\" in API group \"\" at the cluster scope")}`,
      { kind: "pods" }
    )
    const inside = (what: string) => cannot(`${what} in API group "" in the namespace "${ns}"`)
    isForbidden(yield* asked("POST", pods), `pods is forbidden: ${inside("create resource \"pods\"")}`, {
      kind: "pods"
    })
    isForbidden(
      yield* asked("DELETE", pods),
      `pods is forbidden: ${inside("deletecollection resource \"pods\"")}`,
      { kind: "pods" }
    )
    isForbidden(
      yield* asked("GET", pods, { watch: "true" }),
      `pods is forbidden: ${inside("watch resource \"pods\"")}`,
      { kind: "pods" }
    )
    for (
      const [method, verb] of [["GET", "get"], ["PUT", "update"], ["PATCH", "patch"], ["DELETE", "delete"]] as const
    ) {
      isForbidden(
        yield* asked(method, `${pods}/a`),
        `pods "a" is forbidden: ${inside(`${verb} resource "pods"`)}`,
        { name: "a", kind: "pods" }
      )
    }
    isForbidden(
      yield* asked("GET", `${pods}/a/log`),
      `pods "a" is forbidden: ${inside("get resource \"pods/log\"")}`,
      { name: "a", kind: "pods" }
    )
    isForbidden(
      yield* asked("GET", `/apis/apps/v1/namespaces/${ns}/deployments/d/scale`),
      `deployments.apps "d" is forbidden: ${
        cannot(`get resource "deployments/scale" in API group "apps" in the namespace "${ns}"`)
      }`,
      { name: "d", group: "apps", kind: "deployments" }
    )
    isForbidden(
      yield* asked("GET", "/api/v1/nodes/n"),
      `nodes "n" is forbidden: ${cannot("get resource \"nodes\" in API group \"\" at the cluster scope")}`,
      { name: "n", kind: "nodes" }
    )
    isForbidden(
      yield* asked("GET", `/api/v1/namespaces/${ns}`),
      `namespaces "${ns}" is forbidden: ${inside("get resource \"namespaces\"")}`,
      { name: ns, kind: "namespaces" }
    )
    isForbidden(yield* asked("GET", "/metrics"), `forbidden: ${cannot("get path \"/metrics\"")}`, {})
    isForbidden(yield* asked("PUT", "/nothing"), `forbidden: ${cannot("put path \"/nothing\"")}`, {})
  }),

  statement(
    "129b",
    "a list or watch of one name is about that name; nothing in a refusal looks like HTML",
    {},
    function*() {
      const { namespace, request, unique } = yield* Target
      const ns = yield* namespace
      const path = `/api/v1/namespaces/${ns}/configmaps`
      const [name, other] = [unique("user"), "<a&b>"]
      const one = { fieldSelector: "metadata.name=one" }
      isForbidden(
        yield* request("GET", path, { headers: as(name), query: one }),
        `configmaps "one" is forbidden: User "${name}" cannot list resource "configmaps" in API group "" in the ` +
          `namespace "${ns}"`,
        { name: "one", kind: "configmaps" }
      )
      isForbidden(
        yield* request("GET", "/api/v1/pods", { headers: as(other) }),
        "pods is forbidden: User \"&lt;a&amp;b&gt;\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
        { kind: "pods" }
      )
      const rule = {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["one"],
        verbs: ["get", "list", "watch"]
      }
      yield* grant([rule], [user(name)], ns)
      const list = request("GET", path, { headers: as(name), query: one })
      assert.strictEqual((yield* untilAllowed(list)).status, 200)
      assert.strictEqual((yield* request("GET", path, { headers: as(name) })).status, 403)
      const two = { fieldSelector: "metadata.name=two" }
      assert.strictEqual((yield* request("GET", path, { headers: as(name), query: two })).status, 403)
      assert.strictEqual((yield* request("GET", `${path}/one`, { headers: as(name) })).status, 404)
      assert.strictEqual((yield* request("GET", `${path}/two`, { headers: as(name) })).status, 403)
      const watch = { ...one, watch: "true", timeoutSeconds: "1" }
      assert.strictEqual((yield* request("GET", path, { headers: as(name), query: watch })).status, 200)
    }
  ),

  statement("129d", "rules match verbs, groups, resources, subresources and paths, with stars", {}, function*() {
    const { namespace, request, unique } = yield* Target
    const ns = yield* namespace
    const name = unique("user")
    yield* grant([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] },
      { apiGroups: ["apps"], resources: ["*/scale"], verbs: ["get"] },
      { apiGroups: ["batch"], resources: ["*"], verbs: ["list"] },
      { nonResourceURLs: ["/metrics", "/debug/*"], verbs: ["get"] }
    ], [user(name)])
    const get = (path: string) => request("GET", path, { headers: as(name) })
    yield* untilAllowed(get("/metrics"))
    const inside = (path: string) => path.replace("NS", ns)
    const allowed = [
      "/api/v1/configmaps",
      "/api/v1/namespaces/NS/configmaps",
      "/apis/apps/v1/namespaces/NS/deployments/d/scale",
      "/apis/apps/v1/namespaces/NS/statefulsets/s/scale",
      "/apis/batch/v1/jobs"
    ]
    for (const path of allowed) assert.oneOf((yield* get(inside(path))).status, [200, 404], path)
    const refused = [
      "/api/v1/secrets",
      "/apis/apps/v1/deployments",
      "/apis/apps/v1/namespaces/NS/deployments/d",
      "/apis/apps/v1/namespaces/NS/deployments/d/status",
      "/apis/batch/v1/namespaces/NS/jobs/j",
      "/metrics/x",
      "/debug"
    ]
    for (const path of refused) assert.strictEqual((yield* get(inside(path))).status, 403, path)
    assert.strictEqual((yield* get("/debug/any/thing")).status, 404)
  }),

  statement(
    "129e",
    "a RoleBinding counts in its namespace; subjects are users, groups and service accounts",
    {},
    function*() {
      const { namespace, request, unique } = yield* Target
      const [ns, other] = [yield* namespace, yield* namespace]
      const [name, team, robot] = [unique("user"), unique("team"), unique("robot")]
      const rule = { apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }
      // The namespace of an account is told in full: what is missing is the binding's own, which the server fills in.
      const bound = { kind: "ServiceAccount", name: robot, namespace: other }
      yield* grant([rule], [user(name), { kind: "Group", apiGroup: group, name: team }, bound], ns)
      const list = (place: string, headers: Readonly<Record<string, string>>) =>
        request("GET", `/api/v1/${place}configmaps`, { headers })
      const own = `namespaces/${ns}/`
      assert.strictEqual((yield* untilAllowed(list(own, as(name)))).status, 200)
      assert.strictEqual((yield* list("", as(name))).status, 403)
      assert.strictEqual((yield* list(`namespaces/${other}/`, as(name))).status, 403)
      assert.strictEqual((yield* list(own, as("somebody", { "impersonate-group": team }))).status, 200)
      assert.strictEqual((yield* list(own, as("somebody", { "impersonate-group": "else" }))).status, 403)
      assert.strictEqual((yield* list(own, as(`system:serviceaccount:${other}:${robot}`))).status, 200)
      assert.strictEqual((yield* list(own, as(`system:serviceaccount:${ns}:${robot}`))).status, 403)
      const everyAccount = yield* namespace
      yield* grant([rule], [{ kind: "Group", apiGroup: group, name: `system:serviceaccounts:${ns}` }], everyAccount)
      const place = `namespaces/${everyAccount}/`
      assert.strictEqual((yield* untilAllowed(list(place, as(`system:serviceaccount:${ns}:any`)))).status, 200)
      assert.strictEqual((yield* list(place, as(`system:serviceaccount:${other}:any`))).status, 403)
    }
  ),

  statement("129f", "a refusal tells of roles that are bound and not there", {}, function*() {
    const { namespace, request, unique, until } = yield* Target
    const ns = yield* namespace
    const name = unique("user")
    const binding = (kind: string) => ({
      metadata: { name: unique("binding") },
      roleRef: { apiGroup: group, kind, name: "missing" },
      subjects: [user(name)]
    })
    yield* request("POST", `${rbac}/clusterrolebindings`, { body: binding("ClusterRole") })
    yield* request("POST", `${rbac}/namespaces/${ns}/rolebindings`, { body: binding("Role") })
    const list = (place: string) => request("GET", `/api/v1/${place}pods`, { headers: as(name) })
    const own = yield* until(list(`namespaces/${ns}/`), ({ error }) => error.message?.includes(", role.rbac") === true)
    const cannot = `pods is forbidden: User "${name}" cannot list resource "pods" in API group ""`
    isForbidden(
      own,
      `${cannot} in the namespace "${ns}": RBAC: [clusterrole.rbac.authorization.k8s.io "missing" not found, ` +
        "role.rbac.authorization.k8s.io \"missing\" not found]",
      { kind: "pods" }
    )
    isForbidden(
      yield* list(""),
      `${cannot} at the cluster scope: RBAC: clusterrole.rbac.authorization.k8s.io "missing" not found`,
      { kind: "pods" }
    )
  }),

  statement("129k", "a server has cluster-admin, admin, edit and view, and what everybody may do, from its start", {
    controllers: true
  }, function*() {
    const { namespace, request, unique } = yield* Target
    const role = (name: string) => Effect.map(request("GET", `${rbac}/clusterroles/${name}`), ({ object }) => object)
    const admin = yield* role("cluster-admin")
    assert.deepStrictEqual(admin["rules"].map(({ verbs }: any) => verbs), [["*"], ["*"]])
    assert.strictEqual(admin.metadata.annotations!["rbac.authorization.kubernetes.io/autoupdate"], "true")
    assert.strictEqual(admin.metadata.labels!["kubernetes.io/bootstrapping"], "rbac-defaults")
    const edit = yield* role("edit")
    assert.deepStrictEqual(edit["aggregationRule"], {
      clusterRoleSelectors: [{ matchLabels: { "rbac.authorization.k8s.io/aggregate-to-edit": "true" } }]
    })
    assert.strictEqual(edit.metadata.labels!["rbac.authorization.k8s.io/aggregate-to-admin"], "true")
    const { object: binding } = yield* request("GET", `${rbac}/clusterrolebindings/cluster-admin`)
    assert.deepStrictEqual(binding["subjects"], [{ kind: "Group", apiGroup: group, name: "system:masters" }])
    const ns = yield* namespace
    const name = unique("user")
    yield* request("POST", `${rbac}/namespaces/${ns}/rolebindings`, {
      body: {
        metadata: { name },
        roleRef: { apiGroup: group, kind: "ClusterRole", name: "view" },
        subjects: [user(name)]
      }
    })
    const ask = (method: "GET" | "POST", path: string) =>
      request(method, `/api/v1/namespaces/${ns}/${path}`, {
        headers: as(name),
        ...(method === "GET" ? {} : { body: {} })
      })
    assert.strictEqual((yield* untilAllowed(ask("GET", "pods"))).status, 200)
    assert.strictEqual((yield* ask("GET", "configmaps")).status, 200)
    assert.strictEqual((yield* ask("GET", "secrets")).status, 403)
    assert.strictEqual((yield* ask("POST", "configmaps")).status, 403)
    for (const path of ["/api", "/apis", "/api/v1", "/apis/apps/v1", "/version", "/healthz"]) {
      assert.strictEqual((yield* request("GET", path, { headers: as("jane") })).status, 200, path)
    }
  }),

  statement("131b", "who may not ask is told so before anything is said about what he asked", {}, function*() {
    const { bare, namespace, request } = yield* Target
    const ns = yield* namespace
    const headers = as("jane")
    const served = `/api/v1/namespaces/${ns}/configmaps`
    const cases: ReadonlyArray<readonly [string, Parameters<typeof request>[2]]> = [
      ["/apis/nope.example/v1/things", {}],
      ["/apis/apps/v1/things", {}],
      ["/apis/apps/v9/things", {}],
      ["/api/v1/namespaces/none/configmaps/a", {}],
      [`${served}/a/nothing`, {}],
      [served, { headers: { accept: "text/html" } }],
      [served, { query: { labelSelector: "!!!" } }]
    ]
    for (const [path, options = {}] of cases) {
      const answer = yield* request("GET", path, { ...options, headers: { ...options.headers, ...headers } })
      assert.strictEqual(answer.status, 403, path)
      assert.strictEqual(answer.error.reason, "Forbidden")
    }
    const writes = [{ contentType: "text/plain" }, { query: { dryRun: "x" } }, {}]
    for (const options of writes) {
      const answer = yield* request("POST", served, { ...options, headers, body: { metadata: {} } })
      assert.strictEqual(answer.status, 403)
    }
    const nobody = yield* bare("GET", "/apis/nope.example/v1/things", bearer("nobody"))
    assert.strictEqual(nobody.status, 401, "and who is not known before that")
  })
]
