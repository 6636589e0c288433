/** Somebody else: who may impersonate whom, and how those without rights are refused. */
import { ask, get, of, type Row, send } from "./Table.ts"

const core = "/api/v1/namespaces/{{ns}}"
const rbac = "/apis/rbac.authorization.k8s.io/v1"
const fuzz = "/apis/fuzz.example.com/v1/namespaces/{{ns}}"
const user = { "impersonate-user": "u-{{id}}" }
const merge = { "content-type": "application/merge-patch+json" }

const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } })

const refused: ReadonlyArray<Row> = [
  get(`${core}/configmaps`, user),
  get(`${core}/configmaps/a`, user),
  get(`${core}/configmaps?watch=true`, user),
  get("/api/v1/configmaps", user),
  get("/api/v1/nodes", user),
  get("/api/v1/nodes/n", user),
  get("/api/v1/namespaces", user),
  get("/api/v1/namespaces/{{ns}}", user),
  get(core + "/pods/a/log", user),
  ask("POST", `${core}/pods/a/exec?command=ls`, user),
  send("POST", `${core}/configmaps`, configMap("a"), user),
  send("PUT", `${core}/configmaps/a`, configMap("a"), user),
  send("PATCH", `${core}/configmaps/a`, {}, { ...user, ...merge }),
  ask("DELETE", `${core}/configmaps/a`, user),
  ask("DELETE", `${core}/configmaps`, user),
  ask("HEAD", `${core}/configmaps`, user),
  ask("OPTIONS", `${core}/configmaps`, user),
  send("PUT", `${core}/pods/a/status`, {}, user),
  send("POST", `${core}/pods/a/eviction`, {}, user),
  send("PUT", "/api/v1/namespaces/{{ns}}/finalize", {}, user),
  get("/apis/apps/v1/namespaces/{{ns}}/deployments", user),
  get("/apis/apps/v1/deployments", user),
  send("PATCH", "/apis/apps/v1/namespaces/{{ns}}/deployments/a/scale", {}, { ...user, ...merge }),
  get(`${fuzz}/widgets`, user),
  get(`${fuzz}/widgets/a/status`, user),
  get("/apis/fuzz.example.com/v1/widgets", user),
  get("/apis/fuzz.example.com/v9/widgets", user),
  get(`${core}/nope`, user),
  get("/apis/nope/v1/things", user),
  get("/apis/nope/v1/namespaces/x/things/y/z", user),
  get("/nope", user),
  get("/metrics", user),
  get("/nope/nope", user),
  get("/", user),
  get("/api", user),
  get("/apis", user),
  get("/apis/apps/v1", user),
  get("/version", user),
  get("/healthz", user),
  get("/healthz/etcd", user),
  get("/livez", user),
  get("/readyz", user),
  get("/readyz/nope", user),
  get("/openapi/v2/nope", user),
  ask("POST", "/version", user),
  ask("DELETE", "/healthz", user),
  get("/api/v1/watch/namespaces/{{ns}}/configmaps", user),
  get(`${core}/services/a/proxy/x`, user),
  get("/api/v1/nodes/x/proxy/y", user),
  get(`${core}/configmaps/a%2Fb`, user),
  get(`${core}/configmaps/`, user),
  get("/api/v1/namespaces/", user),
  send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    spec: { resourceAttributes: { namespace: "{{ns}}", verb: "get", resource: "pods" } }
  }, user),
  send("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: { namespace: "{{ns}}" } }, user),
  send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec: {} }, user),
  send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: {} }, user)
]

const whoami = `${core}/secrets/who`

const impersonations: ReadonlyArray<Readonly<Record<string, string>>> = [
  { "impersonate-user": "" },
  { "impersonate-user": "u-{{id}}", "impersonate-group": "g" },
  { "impersonate-user": "u-{{id}}", "impersonate-group": "system:masters" },
  { "impersonate-user": "u-{{id}}", "impersonate-group": "system:authenticated" },
  { "impersonate-user": "u-{{id}}", "impersonate-group": "system:unauthenticated" },
  { "impersonate-user": "u-{{id}}", "impersonate-extra-scopes": "view" },
  { "impersonate-user": "u-{{id}}", "impersonate-extra-acme.com%2Fproject": "x" },
  { "impersonate-user": "u-{{id}}", "impersonate-extra-bad%zz": "x" },
  { "impersonate-user": "system:anonymous" },
  { "impersonate-user": "system:anonymous", "impersonate-group": "g" },
  { "impersonate-user": "system:serviceaccount:{{ns}}:sa" },
  { "impersonate-user": "system:serviceaccount:kube-system:none" },
  { "impersonate-user": "system:serviceaccount:bad" },
  { "impersonate-user": "system:serviceaccount:a:b:c" },
  { "impersonate-user": "system:node:n" },
  { "impersonate-user": "system:kube-scheduler" },
  { "impersonate-user": "with space" },
  { "impersonate-user": "quo\"te" }
]

const asWhom = (headers: Readonly<Record<string, string>>): ReadonlyArray<Row> => [
  get(whoami, headers),
  get("/api/v1/nodes/none-{{id}}", headers),
  get("/nope", headers)
]

const bad: ReadonlyArray<Readonly<Record<string, string>>> = [
  { authorization: "" },
  { authorization: "Bearer nonsense" },
  { authorization: "Bearer" },
  { authorization: "Bearer " },
  { authorization: "Basic YTpi" },
  { authorization: "bearer nonsense" },
  { authorization: "Nope x" },
  { authorization: "Bearer a b" },
  { authorization: "", "impersonate-user": "u-{{id}}" },
  { authorization: "Bearer nonsense", "impersonate-user": "u-{{id}}" }
]

const strangers = bad.flatMap((headers) => [
  get(`${core}/configmaps`, headers),
  get("/version", headers),
  get("/healthz", headers),
  get("/livez?verbose", headers),
  get("/api", headers),
  get("/nope", headers),
  ask("DELETE", `${core}/configmaps/a`, headers)
])

const role = (kind: string, name: string, rules: unknown, more: object = {}) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name },
  rules,
  ...more
})

const binding = (kind: string, name: string, roleRef: unknown, subjects: unknown) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name },
  roleRef,
  subjects
})

const subject = (name: string, kind = "User") => ({ apiGroup: "rbac.authorization.k8s.io", kind, name })
const roleRef = (kind: string, name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name })

const roles = `${rbac}/namespaces/{{ns}}/roles`
const rolebindings = `${rbac}/namespaces/{{ns}}/rolebindings`
const author = { "impersonate-user": "author-{{id}}" }
const helper = { "impersonate-user": "helper-{{id}}" }
const grouped = { "impersonate-user": "someone", "impersonate-group": "crew-{{id}}" }
const sa = { "impersonate-user": "system:serviceaccount:{{ns}}:sa" }

const rule = (verbs: ReadonlyArray<string>, resources: ReadonlyArray<string>, more: object = {}) => ({
  apiGroups: [""],
  resources,
  verbs,
  ...more
})

/** Rights count once the server's cache has them: it is asked again until it has. */
const known = (headers: Readonly<Record<string, string>>, path: string): ReadonlyArray<Row> => [
  { method: "GET", path, headers, until: 200 }
]

const limited: ReadonlyArray<Row> = [
  send(
    "POST",
    roles,
    role("Role", "author", [
      rule(["get", "list", "create", "update", "patch", "delete", "escalate-not"], ["configmaps"]),
      { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles", "rolebindings"], verbs: ["*"] },
      rule(["get"], ["secrets"], { resourceNames: ["one"] }),
      rule(["get"], ["pods/log"])
    ])
  ),
  send("POST", rolebindings, binding("RoleBinding", "authors", roleRef("Role", "author"), [subject("author-{{id}}")])),
  send(
    "POST",
    roles,
    role("Role", "helper", [
      rule(["impersonate"], ["users"], { resourceNames: ["author-{{id}}"] })
    ])
  ),
  send(
    "POST",
    `${rbac}/clusterroles`,
    role("ClusterRole", "impersonator-{{id}}", [
      rule(["impersonate"], ["users"], { resourceNames: ["author-{{id}}"] }),
      rule(["impersonate"], ["groups"], { resourceNames: ["crew-{{id}}"] }),
      { nonResourceURLs: ["/metrics/nope", "/nope/*"], verbs: ["get"] }
    ])
  ),
  send(
    "POST",
    `${rbac}/clusterroles`,
    role("ClusterRole", "reader-{{id}}", [
      rule(["get", "list"], ["configmaps", "pods", "pods/log"])
    ])
  ),
  send(
    "POST",
    `${rbac}/clusterrolebindings`,
    binding("ClusterRoleBinding", "impersonators-{{id}}", roleRef("ClusterRole", "impersonator-{{id}}"), [
      subject("helper-{{id}}")
    ])
  ),
  send(
    "POST",
    rolebindings,
    binding("RoleBinding", "crew", roleRef("ClusterRole", "reader-{{id}}"), [
      subject("crew-{{id}}", "Group"),
      { kind: "ServiceAccount", name: "sa", namespace: "{{ns}}" }
    ])
  ),
  ...known(author, `${core}/configmaps`),
  ...known(grouped, `${core}/configmaps`),
  ...known(sa, `${core}/configmaps`),
  send("POST", `${core}/configmaps`, configMap("a"), author),
  get(`${core}/configmaps/a`, author),
  ask("DELETE", `${core}/configmaps`, author),
  get("/api/v1/configmaps", author),
  get("/api/v1/namespaces/default/configmaps", author),
  get(`${core}/configmaps?watch=true`, author),
  get(`${core}/secrets/one`, author),
  get(`${core}/secrets/two`, author),
  get(`${core}/secrets`, author),
  get(`${core}/secrets?fieldSelector=metadata.name%3Done`, author),
  get(`${core}/pods/p/log`, author),
  get(`${core}/pods/p`, author),
  // Nobody gives what he does not have.
  send("POST", roles, role("Role", "mine", [rule(["get"], ["configmaps"])]), author),
  send("POST", roles, role("Role", "more", [rule(["get", "watch"], ["configmaps", "pods"])]), author),
  send("POST", roles, role("Role", "all", [rule(["*"], ["*"])]), author),
  send("POST", roles, role("Role", "named", [rule(["get"], ["secrets"], { resourceNames: ["one", "two"] })]), author),
  send(
    "POST",
    roles,
    role("Role", "apps", [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] }]),
    author
  ),
  send("PUT", `${roles}/mine`, role("Role", "mine", [rule(["get", "watch"], ["configmaps"])]), author),
  send("PATCH", `${roles}/mine`, { rules: [rule(["deletecollection"], ["configmaps"])] }, { ...author, ...merge }),
  send("PATCH", `${roles}/mine`, { metadata: { labels: { a: "b" } } }, { ...author, ...merge }),
  send("POST", rolebindings, binding("RoleBinding", "b1", roleRef("Role", "mine"), [subject("x")]), author),
  send("POST", rolebindings, binding("RoleBinding", "b2", roleRef("Role", "helper"), [subject("x")]), author),
  send("POST", rolebindings, binding("RoleBinding", "b3", roleRef("Role", "none"), [subject("x")]), author),
  send(
    "POST",
    rolebindings,
    binding("RoleBinding", "b4", roleRef("ClusterRole", "cluster-admin"), [subject("x")]),
    author
  ),
  send("POST", rolebindings, binding("RoleBinding", "b5", roleRef("ClusterRole", "none"), [subject("x")]), author),
  send("PATCH", `${rolebindings}/b1`, { subjects: [subject("y")] }, { ...author, ...merge }),
  send("PATCH", `${rolebindings}/crew`, { subjects: [subject("y")] }, { ...author, ...merge }),
  send("POST", `${rbac}/clusterroles`, role("ClusterRole", "x-{{id}}", []), author),
  // A group and a service account.
  send("POST", `${core}/configmaps`, configMap("b"), grouped),
  get(`${core}/secrets`, grouped),
  get(`${core}/pods`, sa),
  get("/api/v1/nodes", sa),
  // Impersonation is not inherited.
  { method: "GET", path: "/nope/nope", headers: helper, until: 404 },
  get("/metrics/nope", helper),
  get("/metrics/other", helper),
  send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    spec: { resourceAttributes: { namespace: "{{ns}}", verb: "create", resource: "configmaps" } }
  }, author),
  send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    spec: { resourceAttributes: { namespace: "{{ns}}", verb: "list", resource: "pods" } }
  }, grouped),
  send("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: { namespace: "{{ns}}" } }, author),
  send("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: { namespace: "default" } }, helper),
  ask("DELETE", `${rbac}/clusterrolebindings/impersonators-{{id}}`),
  ask("DELETE", `${rbac}/clusterroles/reader-{{id}}`),
  ask("DELETE", `${rbac}/clusterroles/impersonator-{{id}}`)
]

export const access = [
  of("refusals", refused),
  of("impersonation", impersonations.flatMap(asWhom)),
  of("strangers", strangers),
  of("rights", limited)
]
