/** Beside statements 128 and 129: every request leaves an event that says who did what, by which right. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const decision = "authorization.k8s.io/decision"
const reason = "authorization.k8s.io/reason"

export const audit = [
  statement("129l", "an audit event tells what was asked, of what, with which outcome", {}, function*() {
    const { audited, namespace, request, unique } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const id = unique("audit")
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v" } }
    yield* request("POST", path, {
      body,
      query: { fieldManager: "me" },
      headers: { "audit-id": id, "user-agent": "me/1" }
    })
    const [event] = yield* audited(id, 1)
    assert.strictEqual(event!.kind, "Event")
    assert.strictEqual(event!.apiVersion, "audit.k8s.io/v1")
    assert.strictEqual(event!.level, "RequestResponse")
    assert.strictEqual(event!.stage, "ResponseComplete")
    assert.strictEqual(event!.verb, "create")
    assert.strictEqual(event!.requestURI, `${path}?fieldManager=me`)
    assert.strictEqual(event!.userAgent, "me/1")
    assert.includeMembers([...event!.user.groups!], ["system:masters"])
    assert.isUndefined(event!.impersonatedUser)
    const { name, ...about } = event!.objectRef!
    assert.deepStrictEqual(about, { resource: "configmaps", namespace: ns, apiVersion: "v1" })
    assert.oneOf(name, ["a", undefined])
    assert.deepEqual<unknown>(event!.responseStatus, { metadata: {}, code: 201 })
    assert.deepStrictEqual((event!.requestObject as typeof body).data, body.data)
    assert.deepStrictEqual((event!.responseObject as typeof body).data, body.data)
    assert.deepStrictEqual(event!.annotations, { [decision]: "allow", [reason]: "" })
    const micro = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
    assert.match(event!.requestReceivedTimestamp, micro)
    assert.match(event!.stageTimestamp, micro)
  }),

  statement("129m", "an audit event tells as whom, by which binding, and what was refused", {}, function*() {
    const { audited, bare, request, unique } = yield* Target
    const asked = Effect.fnUntraced(function*(path: string) {
      const id = unique("audit")
      yield* request("GET", path, { headers: { "audit-id": id, "impersonate-user": "jane" } })
      return (yield* audited(id, 1))[0]!
    })
    const allowed = yield* asked("/apis")
    assert.deepStrictEqual(allowed.impersonatedUser, { username: "jane", groups: ["system:authenticated"] })
    assert.deepStrictEqual(allowed.annotations, {
      [decision]: "allow",
      [reason]:
        "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group " +
        "\"system:authenticated\""
    })
    assert.isUndefined(allowed.objectRef)
    assert.strictEqual(allowed.verb, "get")
    const refused = yield* asked("/apis/apps/v1/namespaces/x/deployments/d/scale")
    assert.deepStrictEqual(refused.annotations, { [decision]: "forbid", [reason]: "" })
    assert.deepStrictEqual(refused.objectRef, {
      resource: "deployments",
      namespace: "x",
      name: "d",
      apiGroup: "apps",
      apiVersion: "v1",
      subresource: "scale"
    })
    assert.strictEqual(refused.responseStatus.code, 403)
    assert.strictEqual(refused.responseStatus.reason, "Forbidden")
    assert.strictEqual(refused.responseStatus.status, "Failure")
    const id = unique("audit")
    yield* bare("GET", "/version", { headers: { "audit-id": id, authorization: "Bearer nobody" } })
    const [unknown] = yield* audited(id, 1)
    assert.strictEqual(unknown!.stage, "ResponseStarted")
    assert.deepStrictEqual(unknown!.user, {})
    assert.strictEqual(unknown!.responseStatus.code, 401)
    assert.isUndefined(unknown!.annotations)
  }),

  statement("129n", "a watch is told when it begins and when it ends", {}, function*() {
    const { audited, namespace, unique, watch } = yield* Target
    const ns = yield* namespace
    const id = unique("audit")
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const watching = yield* watch(path, { timeoutSeconds: "1" }, { "audit-id": id })
    const [begun] = yield* audited(id, 1)
    assert.strictEqual(begun!.stage, "ResponseStarted")
    assert.strictEqual(begun!.verb, "watch")
    assert.strictEqual(begun!.responseStatus.code, 200)
    // What happens there meanwhile is nothing to this statement, but must be read before the end is.
    yield* watching.within(1500)
    yield* watching.ended
    const events = yield* audited(id, 2)
    assert.deepStrictEqual(events.map(({ stage }) => stage), ["ResponseStarted", "ResponseComplete"])
    assert.isUndefined(events[1]!.responseObject)
    assert.strictEqual(events[1]!.requestReceivedTimestamp, begun!.requestReceivedTimestamp)
    assert.deepStrictEqual(events[1]!.objectRef, { resource: "configmaps", namespace: ns, apiVersion: "v1" })
  })
]
