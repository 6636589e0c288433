/** Questions: may somebody do something, which rules hold, and whom does a token stand for. */
import { ask, get, of, type Row, send } from "./Table.ts"

const authorization = "/apis/authorization.k8s.io/v1"
const local = `${authorization}/namespaces/{{ns}}/localsubjectaccessreviews`
const authentication = "/apis/authentication.k8s.io/v1/tokenreviews"

const review = (kind: string, spec: unknown, more: object = {}) => ({
  apiVersion: "authorization.k8s.io/v1",
  kind,
  ...more,
  spec
})

const attributes = { namespace: "{{ns}}", verb: "get", resource: "pods" }

const self: ReadonlyArray<unknown> = [
  { resourceAttributes: attributes },
  { resourceAttributes: {} },
  { resourceAttributes: { ...attributes, name: "a", subresource: "log", group: "", version: "v1" } },
  { resourceAttributes: { ...attributes, group: "*", version: "*", resource: "*", verb: "*" } },
  { nonResourceAttributes: { path: "/metrics", verb: "get" } },
  { nonResourceAttributes: {} },
  { resourceAttributes: attributes, nonResourceAttributes: { path: "/x", verb: "get" } },
  {},
  null,
  { resourceAttributes: "x" },
  { nonResourceAttributes: { path: 5 } }
]

const subject: ReadonlyArray<unknown> = [
  ...self,
  { user: "u-{{id}}", resourceAttributes: attributes },
  { user: "u-{{id}}", groups: ["g-{{id}}"], uid: "1", extra: { a: ["b"] }, resourceAttributes: attributes },
  { user: "u-{{id}}", groups: ["system:masters"], resourceAttributes: attributes },
  { groups: ["system:masters"], resourceAttributes: attributes },
  { groups: [], resourceAttributes: attributes },
  { user: "", resourceAttributes: attributes },
  { user: "u-{{id}}", nonResourceAttributes: { path: "/healthz", verb: "get" } },
  { user: "u-{{id}}", groups: ["system:authenticated"], nonResourceAttributes: { path: "/api", verb: "get" } },
  { user: "u-{{id}}", groups: ["system:authenticated"], nonResourceAttributes: { path: "/metrics", verb: "get" } },
  { user: "u-{{id}}", resourceAttributes: attributes, nonResourceAttributes: { path: "/x", verb: "get" } },
  { user: "u-{{id}}" },
  { user: 5 },
  { user: "system:serviceaccount:{{ns}}:sa", resourceAttributes: attributes },
  { user: "reader-{{id}}", resourceAttributes: attributes },
  { user: "reader-{{id}}", resourceAttributes: { ...attributes, namespace: "default" } },
  { user: "reader-{{id}}", resourceAttributes: { ...attributes, namespace: "" } },
  { user: "reader-{{id}}", resourceAttributes: { ...attributes, subresource: "log" } },
  { user: "reader-{{id}}", resourceAttributes: { ...attributes, verb: "delete" } },
  { user: "reader-{{id}}", resourceAttributes: { ...attributes, group: "apps" } }
]

const rights: ReadonlyArray<Row> = [
  send("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}/roles", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "reader" },
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }]
  }),
  send("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/{{ns}}/rolebindings", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "readers" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader-{{id}}" }]
  })
]

const named = { metadata: { name: "x" } }

export const reviews = [
  of("access reviews", [
    ...rights,
    // Rights count once a cache has them.
    ...Array.from({ length: 3 }, () => get("/api/v1/namespaces/{{ns}}/pods", { "impersonate-user": "reader-{{id}}" }))
      .slice(3),
    ...self.map((spec) =>
      send("POST", `${authorization}/selfsubjectaccessreviews`, review("SelfSubjectAccessReview", spec))
    ),
    ...subject.map((spec) =>
      send("POST", `${authorization}/subjectaccessreviews`, review("SubjectAccessReview", spec))
    ),
    ...subject.map((spec) => send("POST", local, review("LocalSubjectAccessReview", spec))),
    send("POST", local, review("LocalSubjectAccessReview", subject[11], { metadata: { namespace: "other" } })),
    send("POST", local, review("LocalSubjectAccessReview", subject[11], { metadata: { namespace: "{{ns}}" } })),
    send("POST", `${authorization}/subjectaccessreviews`, review("SubjectAccessReview", subject[11], named)),
    send("POST", `${authorization}/selfsubjectaccessreviews`, review("SelfSubjectAccessReview", self[0], named)),
    send("POST", `${authorization}/selfsubjectaccessreviews?dryRun=All`, review("SelfSubjectAccessReview", self[0])),
    send("POST", `${authorization}/selfsubjectaccessreviews`, review("SubjectAccessReview", self[0])),
    send("POST", `${authorization}/selfsubjectaccessreviews`, { kind: "SelfSubjectAccessReview" }),
    send("POST", `${authorization}/selfsubjectaccessreviews`, {}),
    send(
      "POST",
      `${authorization}/selfsubjectaccessreviews`,
      review("SelfSubjectAccessReview", self[0], {
        status: { allowed: false, reason: "mine" }
      })
    ),
    send("POST", `${authorization}/selfsubjectaccessreviews`, review("SelfSubjectAccessReview", self[0]), {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    }),
    get(`${authorization}/selfsubjectaccessreviews`),
    get(`${authorization}/subjectaccessreviews/x`),
    ask("DELETE", local)
  ]),
  of(
    "rules reviews",
    [
      { namespace: "" },
      {},
      null,
      { namespace: 5 }
    ].map((spec) => send("POST", `${authorization}/selfsubjectrulesreviews`, review("SelfSubjectRulesReview", spec)))
  ),
  of(
    "token reviews",
    [
      { token: "nonsense" },
      { token: "" },
      {},
      null,
      { token: 5 },
      { token: "a.b.c" },
      { token: "nonsense", audiences: ["a"] },
      { token: "nonsense", audiences: "a" }
    ].map((spec) => send("POST", authentication, { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec }))
      .concat([
        send("POST", authentication, {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          ...named,
          spec: { token: "x" }
        }),
        send("POST", authentication, { apiVersion: "authentication.k8s.io/v1", kind: "Nope", spec: { token: "x" } }),
        send("POST", `${authentication}?dryRun=All`, { spec: { token: "x" } }),
        send("POST", "/api/v1/namespaces/{{ns}}/serviceaccounts", {
          apiVersion: "v1",
          kind: "ServiceAccount",
          metadata: { name: "sa" }
        }),
        send("POST", "/api/v1/namespaces/{{ns}}/serviceaccounts/sa/token", { spec: { audiences: ["one", "two"] } }),
        send("POST", authentication, { spec: { token: "{{13:status.token}}" } }),
        send("POST", authentication, { spec: { token: "{{13:status.token}}", audiences: ["two", "three"] } }),
        send("POST", authentication, { spec: { token: "{{13:status.token}}", audiences: ["three"] } }),
        send("POST", authentication, { spec: { token: "{{13:status.token}}x", audiences: ["one"] } }),
        send("POST", "/api/v1/namespaces/{{ns}}/serviceaccounts/sa/token", {}),
        send("POST", authentication, { spec: { token: "{{18:status.token}}" } }),
        get("/api/v1/namespaces/{{ns}}/pods", { authorization: "Bearer {{18:status.token}}" })
      ])
  )
]
