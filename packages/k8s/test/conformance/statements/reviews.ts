/** Statement 130, the second half: the kinds by which one asks what somebody may do, and who somebody is. */
import { assert } from "@effect/vitest"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const authorization = "/apis/authorization.k8s.io/v1"
const authentication = "/apis/authentication.k8s.io/v1"
const group = "rbac.authorization.k8s.io"
const rbac = `/apis/${group}/v1`

const as = (user: string, more: Readonly<Record<string, string>> = {}) => ({
  headers: { "impersonate-user": user, ...more }
})

const isInvalid = (answer: Answer, faults: ReadonlyArray<string>): void => {
  assert.strictEqual(answer.status, 422, JSON.stringify(answer.body))
  const text = faults.length === 1 ? faults[0]! : `[${faults.join(", ")}]`
  assert.strictEqual(answer.error.message, `.authorization.k8s.io "" is invalid: ${text}`)
  assert.strictEqual(answer.error.details!.group, "authorization.k8s.io")
  assert.isUndefined(answer.error.details!.kind, "the kind is forgotten")
}

const isBadRequest = (answer: Answer, message: string): void => {
  assert.strictEqual(answer.status, 400, JSON.stringify(answer.body))
  assert.strictEqual(answer.error.reason, "BadRequest")
  assert.strictEqual(answer.error.message, message)
}

const pods = { verb: "get", resource: "pods" }
const version = { verb: "get", path: "/version" }

/** What a version of the server prints where there is no value, and where there is a path. */
const nothing = (minor: number): string => (minor < 32 ? "\"null\"" : "null")
const printed = (minor: number, path: string): string =>
  minor < 32
    ? `authorization.NonResourceAttributes{Path:"${path}", Verb:"get"}`
    : `{"Path":"${path}","Verb":"get"}`

export const reviews = [
  statement("130g", "SelfSubjectAccessReview: may I? With the binding that says so", {}, function*() {
    const { minor, request } = yield* Target
    const ask = (spec: unknown, user?: string, more = {}) =>
      request("POST", `${authorization}/selfsubjectaccessreviews`, {
        ...(user === undefined ? {} : as(user)),
        body: { spec, ...more }
      })
    const admin = yield* ask({ resourceAttributes: pods })
    assert.strictEqual(admin.status, 201)
    assert.deepStrictEqual(admin.object["status"], { allowed: true })
    assert.deepStrictEqual(admin.object["spec"], { resourceAttributes: pods })
    assert.strictEqual(admin.object.kind, "SelfSubjectAccessReview")
    assert.strictEqual(admin.object.apiVersion, "authorization.k8s.io/v1")
    assert.deepStrictEqual((yield* ask({ resourceAttributes: pods }, "jane")).object["status"], { allowed: false })
    const open = yield* ask({ nonResourceAttributes: { verb: "get", path: "/apis/x" } }, "jane")
    assert.deepStrictEqual(open.object["status"], {
      allowed: true,
      reason: "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group " +
        "\"system:authenticated\""
    })
    isInvalid(yield* ask({}), [
      `spec.resourceAttributes: Invalid value: ${nothing(minor)}: exactly one of nonResourceAttributes or ` +
      "resourceAttributes must be specified"
    ])
    isInvalid(yield* ask({ resourceAttributes: pods, nonResourceAttributes: version }), [
      `spec.nonResourceAttributes: Invalid value: ${printed(minor, "/version")}: cannot be specified in combination ` +
      "with resourceAttributes"
    ])
    const named = yield* ask({ resourceAttributes: pods }, undefined, { metadata: { name: "x" } })
    assert.strictEqual(named.status, 422)
    assert.match(
      named.error.message!,
      /^\.authorization\.k8s\.io "" is invalid: metadata: Invalid value: .*: must be empty$/
    )
    const dry = yield* request("POST", `${authorization}/selfsubjectaccessreviews`, {
      query: { dryRun: "All" },
      body: { spec: { resourceAttributes: pods } }
    })
    assert.strictEqual(dry.status, 201)
    const read = yield* request("GET", `${authorization}/selfsubjectaccessreviews`)
    assert.strictEqual(read.status, 405)
    const odd = yield* request("POST", `${authorization}/selfsubjectaccessreviews`, { body: { kind: "Foo" } })
    assert.match(
      odd.error.message!,
      /^Foo in version "v1" cannot be handled as a SelfSubjectAccessReview: no kind "Foo"/
    )
  }),

  statement("130h", "SubjectAccessReview: may he? For those who may ask", {}, function*() {
    const { minor, request } = yield* Target
    const ask = (spec: unknown, by?: string) =>
      request("POST", `${authorization}/subjectaccessreviews`, { ...(by === undefined ? {} : as(by)), body: { spec } })
    const asked = { user: "jane", groups: ["dev"], extra: { a: ["b"] }, uid: "1", resourceAttributes: pods }
    const plain = yield* ask(asked)
    assert.strictEqual(plain.status, 201)
    assert.deepStrictEqual(plain.object["spec"], asked)
    assert.deepStrictEqual(plain.object["status"], { allowed: false })
    const masters = yield* ask({ groups: ["system:masters"], nonResourceAttributes: { verb: "get", path: "/x" } })
    assert.deepStrictEqual(masters.object["status"], { allowed: true })
    const account = yield* ask({ user: "x", groups: ["system:authenticated"], nonResourceAttributes: version })
    assert.match(account.object["status"].reason, /^RBAC: allowed by ClusterRoleBinding "system:\S+" of ClusterRole "/)
    isInvalid(yield* ask({ resourceAttributes: pods }), [
      "spec.user: Invalid value: \"\": at least one of user or group must be specified"
    ])
    isInvalid(yield* ask({ user: "jane" }), [
      `spec.resourceAttributes: Invalid value: ${nothing(minor)}: exactly one of nonResourceAttributes or ` +
      "resourceAttributes must be specified"
    ])
    const refused = yield* ask(asked, "jane")
    assert.strictEqual(refused.status, 403)
    assert.strictEqual(
      refused.error.message,
      "subjectaccessreviews.authorization.k8s.io is forbidden: User \"jane\" cannot create resource " +
        "\"subjectaccessreviews\" in API group \"authorization.k8s.io\" at the cluster scope"
    )
  }),

  statement("130i", "LocalSubjectAccessReview: may he, in this namespace?", {}, function*() {
    const { minor, namespace, request, unique, until } = yield* Target
    const ns = yield* namespace
    const path = `${authorization}/namespaces/${ns}/localsubjectaccessreviews`
    const ask = (body: unknown) => request("POST", path, { body })
    const here = { ...pods, namespace: ns }
    const [role, user] = [unique("role"), unique("user")]
    yield* request("POST", `${rbac}/namespaces/${ns}/roles`, {
      body: { metadata: { name: role }, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }
    })
    yield* request("POST", `${rbac}/namespaces/${ns}/rolebindings`, {
      body: {
        metadata: { name: "b" },
        roleRef: { apiGroup: group, kind: "Role", name: role },
        subjects: [{ kind: "User", name: user }, { kind: "ServiceAccount", name: "a", namespace: ns }]
      }
    })
    const review = (name: string, attributes: unknown = here) => ({
      metadata: { namespace: ns },
      spec: { user: name, resourceAttributes: attributes }
    })
    const allowed = yield* until(ask(review(user)), ({ object }) => object["status"].allowed)
    assert.strictEqual(
      allowed.object["status"].reason,
      `RBAC: allowed by RoleBinding "b/${ns}" of Role "${role}" to User "${user}"`
    )
    const account = yield* ask(review(`system:serviceaccount:${ns}:a`))
    assert.strictEqual(
      account.object["status"].reason,
      `RBAC: allowed by RoleBinding "b/${ns}" of Role "${role}" to ServiceAccount "a/${ns}"`
    )
    assert.deepStrictEqual((yield* ask(review("nobody"))).object["status"], { allowed: false })
    isInvalid(yield* ask(review(user, { ...pods, namespace: "other" })), [
      "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace"
    ])
    const mismatch = `spec.resourceAttributes.namespace must match namespace: ${ns}`
    const nowhereElse = yield* ask({ spec: { user, resourceAttributes: pods } })
    if (minor < 30) isBadRequest(nowhereElse, mismatch)
    else {
      isInvalid(nowhereElse, [
        "spec.resourceAttributes.namespace: Invalid value: \"\": must match metadata.namespace"
      ])
    }
    isBadRequest(
      yield* ask({
        metadata: { namespace: "other" },
        spec: { user, resourceAttributes: { ...pods, namespace: "other" } }
      }),
      minor < 30 ? mismatch : "the namespace of the provided object does not match the namespace sent on the request"
    )
    isInvalid(yield* ask({ metadata: { namespace: ns }, spec: { user, nonResourceAttributes: version } }), [
      `spec.nonResourceAttributes: Invalid value: ${printed(minor, "/version")}: disallowed on this kind of request`
    ])
    const nowhere = yield* request("POST", `${authorization}/namespaces/none/localsubjectaccessreviews`, {
      body: { metadata: { namespace: "none" }, spec: { user, resourceAttributes: { ...pods, namespace: "none" } } }
    })
    assert.strictEqual(nowhere.status, 201, "the namespace need not exist")
  }),

  statement("130j", "SelfSubjectRulesReview lists the rules that apply in a namespace", {}, function*() {
    const { namespace, request, unique, until } = yield* Target
    const ns = yield* namespace
    const user = unique("user")
    yield* request("POST", `${rbac}/namespaces/${ns}/roles`, {
      body: {
        metadata: { name: "r" },
        rules: [{ apiGroups: [""], resources: ["pods"], resourceNames: ["a"], verbs: ["get", "list"] }]
      }
    })
    const binding = (name: string, role: string) => ({
      metadata: { name },
      roleRef: { apiGroup: group, kind: "Role", name: role },
      subjects: [{ kind: "User", name: user }]
    })
    yield* request("POST", `${rbac}/namespaces/${ns}/rolebindings`, { body: binding("b", "r") })
    yield* request("POST", `${rbac}/namespaces/${ns}/rolebindings`, { body: binding("c", "none") })
    const ask = (spec: unknown, by: string) =>
      request("POST", `${authorization}/selfsubjectrulesreviews`, { ...as(by), body: { spec } })
    const full = yield* until(
      ask({ namespace: ns }, user),
      ({ object }) => object["status"].evaluationError !== undefined && object["status"].resourceRules.length > 1
    )
    const { evaluationError, incomplete, nonResourceRules, resourceRules } = full.object["status"]
    assert.strictEqual(incomplete, false)
    assert.strictEqual(evaluationError, "role.rbac.authorization.k8s.io \"none\" not found")
    assert.deepInclude(resourceRules, {
      verbs: ["get", "list"],
      apiGroups: [""],
      resources: ["pods"],
      resourceNames: ["a"]
    })
    assert.deepInclude(resourceRules, {
      verbs: ["create"],
      apiGroups: ["authorization.k8s.io"],
      resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
    })
    assert.deepInclude(nonResourceRules, {
      verbs: ["get"],
      nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"]
    })
    assert.deepStrictEqual(full.object["spec"], {}, "what was asked is not repeated")
    isBadRequest(yield* ask({}, user), "no namespace on request")
    const admin = yield* request("POST", `${authorization}/selfsubjectrulesreviews`, {
      body: { spec: { namespace: ns } }
    })
    const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] }
    assert.deepInclude(admin.object["status"].resourceRules, all)
    assert.deepInclude(admin.object["status"].nonResourceRules, { verbs: ["*"], nonResourceURLs: ["*"] })
  }),

  statement("130k", "SelfSubjectReview: who am I?", { since: 28 }, function*() {
    const { request } = yield* Target
    const ask = (headers: Readonly<Record<string, string>>) =>
      request("POST", `${authentication}/selfsubjectreviews`, { headers, body: {} })
    const jane = { "impersonate-user": "jane", "impersonate-uid": "7", "impersonate-extra-scopes": "a" }
    const told = yield* ask(jane)
    assert.strictEqual(told.status, 201)
    assert.deepStrictEqual(told.object["status"], {
      userInfo: { username: "jane", uid: "7", groups: ["system:authenticated"], extra: { scopes: ["a"] } }
    })
    assert.match(String(told.object.metadata.creationTimestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.isUndefined(told.object["spec"])
    const account = yield* ask({ "impersonate-user": "system:serviceaccount:default:a" })
    assert.deepStrictEqual(account.object["status"].userInfo.groups, [
      "system:serviceaccounts",
      "system:serviceaccounts:default",
      "system:authenticated"
    ])
    const anonymous = yield* ask({ "impersonate-user": "system:anonymous" })
    assert.strictEqual(anonymous.status, 403, "who is nobody may not even ask")
  }),

  statement("130l", "TokenReview: whom does a token stand for?", {}, function*() {
    const { minor, namespace, request, until } = yield* Target
    const ns = yield* namespace
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`
    const { object: account } = yield* request("POST", accounts, { body: { metadata: { name: "a" } } })
    const issue = (spec: unknown) => request("POST", `${accounts}/a/token`, { body: { spec } })
    const ask = (spec: unknown) => request("POST", `${authentication}/tokenreviews`, { body: { spec } })
    isBadRequest(yield* ask({}), "token is required for TokenReview in authentication")
    const bad = yield* ask({ token: "bad" })
    assert.strictEqual(bad.status, 201)
    assert.deepStrictEqual(bad.object["status"], { user: {}, error: "invalid bearer token" })
    const issuer = "https://kubernetes.default.svc"
    const issued = yield* issue({})
    const token: string = issued.object["status"].token
    const good = yield* ask({ token })
    const { extra, ...user } = good.object["status"].user
    assert.deepStrictEqual(user, {
      username: `system:serviceaccount:${ns}:a`,
      uid: account.metadata.uid,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${ns}`, "system:authenticated"]
    })
    assert.strictEqual(good.object["status"].authenticated, true)
    assert.deepStrictEqual(good.object["status"].audiences, [issuer])
    if (minor >= 32) assert.match(extra["authentication.kubernetes.io/credential-id"][0], /^JTI=[0-9a-f-]{36}$/)
    assert.deepStrictEqual((yield* ask({ token, audiences: ["x"] })).object["status"], {
      user: {},
      error: `[invalid bearer token, token audiences ["${issuer}"] is invalid for the target audiences ["x"]]`
    })
    const foreign = yield* issue({ audiences: ["x", "y"] })
    const reviewed = yield* ask({ token: foreign.object["status"].token, audiences: ["y", "z"] })
    assert.deepStrictEqual(reviewed.object["status"].audiences, ["y"])
    const forged = yield* ask({ token: `${token}x` })
    assert.match(
      forged.object["status"].error,
      /^\[invalid bearer token, .*go-jose: error in cryptographic primitive\]$/
    )
    yield* request("DELETE", `${accounts}/a`)
    const gone = yield* until(ask({ token }), ({ object }) => object["status"].error !== undefined)
    assert.deepStrictEqual(gone.object["status"].user, {})
    assert.strictEqual(gone.object["status"].error, `[invalid bearer token, serviceaccounts "a" not found]`)
  }),

  statement("130m", "selectors in reviews are judged, and noted where they cannot be read", { since: 34 }, function*() {
    const { request } = yield* Target
    const ask = (attributes: object) =>
      request("POST", `${authorization}/selfsubjectaccessreviews`, {
        body: { spec: { resourceAttributes: { verb: "list", resource: "pods", ...attributes } } }
      })
    const field = "spec.resourceAttributes.fieldSelector"
    isInvalid(yield* ask({ fieldSelector: {} }), [
      `${field}.requirements: Required value: when ${field} is specified, requirements or rawSelector is required`
    ])
    const requirements = [{ key: "spec.nodeName", operator: "In", values: ["n"] }]
    isInvalid(yield* ask({ fieldSelector: { rawSelector: "a=b", requirements } }), [
      `${field}.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements`
    ])
    const good = yield* ask({ fieldSelector: { requirements }, labelSelector: { rawSelector: "a in (b)" } })
    assert.deepStrictEqual(good.object["status"], { allowed: true })
    const unread = yield* ask({ labelSelector: { rawSelector: "a in b" } })
    assert.strictEqual(
      unread.object["status"].evaluationError,
      "spec.resourceAttributes.labelSelector ignored due to parse error"
    )
    const partly = yield* ask({ fieldSelector: { requirements: [...requirements, { key: "x", operator: "New" }] } })
    assert.strictEqual(
      partly.object["status"].evaluationError,
      "spec.resourceAttributes.fieldSelector partially ignored due to parse error"
    )
  })
]
