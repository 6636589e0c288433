import { assert, it } from "@effect/vitest"
import type * as Audit from "../../../src/testing/auth/Audit.ts"
import * as Refusal from "../../../src/testing/auth/Refusal.ts"

const event = (verb: string, code: number, more: object = {}) =>
  ({
    user: { username: "operator" },
    verb,
    objectRef: { apiGroup: "apps", resource: "deployments", namespace: "n", name: "a" },
    responseStatus: { code },
    ...more
  }) as Audit.Event

const asked = (verb: string): Refusal.Asked => ({
  verb,
  group: "apps",
  resource: "deployments",
  namespace: "n",
  name: "a"
})

it("an event is of what its user asked for, and of what an apply asks for besides", () => {
  const forbidden = { annotations: { "authorization.k8s.io/decision": "forbid" } }
  assert.deepStrictEqual(Refusal.decided(event("get", 403, forbidden), "operator"), {
    allowed: [],
    refused: [asked("get")]
  })
  assert.deepStrictEqual(Refusal.decided(event("get", 200), "operator"), { allowed: [asked("get")], refused: [] })
  assert.deepStrictEqual(Refusal.decided(event("get", 200), "another"), { allowed: [], refused: [] })
  assert.deepStrictEqual(Refusal.decided(event("patch", 201), "operator").allowed, [asked("patch"), asked("create")])
  const message = "deployments.apps \"a\" is forbidden: User \"system:serviceaccount:ops:op\" cannot create resource " +
    "\"deployments\" in API group \"apps\" in the namespace \"default\""
  const unmade = Refusal.decided(event("patch", 403, { responseStatus: { code: 403, message } }), "operator")
  assert.deepStrictEqual(unmade, { allowed: [asked("patch")], refused: [asked("create")] })
})

it("who hands out by a role or a binding what he may not do himself is asked for escalate or bind", () => {
  const group = "rbac.authorization.k8s.io"
  const message =
    "rolebindings.rbac.authorization.k8s.io \"a\" is forbidden: user \"operator\" (groups=[]) is attempting " +
    "to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}"
  const writes = (resource: string, roleRef: object, responseStatus: object = { code: 403, message }) =>
    Refusal.decided(
      event("patch", 403, {
        objectRef: { apiGroup: group, resource, namespace: "n", name: "a" },
        requestObject: { roleRef },
        responseStatus
      }),
      "operator"
    )
  const binding = { verb: "bind", group, resource: "clusterroles", namespace: "n", name: "edit" }
  const edit = { kind: "ClusterRole", name: "edit" }
  assert.deepStrictEqual(writes("rolebindings", edit).refused, [binding])
  assert.deepStrictEqual(writes("rolebindings", { kind: "Role", name: "r" }).refused, [
    { ...binding, resource: "roles", name: "r" }
  ])
  assert.deepStrictEqual(writes("rolebindings", edit, { code: 200 }).allowed.slice(1), [binding])
  assert.deepStrictEqual(writes("roles", {}).refused, [
    { verb: "escalate", group, resource: "roles", namespace: "n", name: "a" }
  ])
  assert.strictEqual(
    Refusal.remedy([], binding),
    "add the permissions of the role to `writes`, or add { resource: ClusterRole, verbs: [\"bind\"], names: [\"edit\"] }"
  )
})

it("the remedy names the kind where it is known, and what to write", () => {
  const kinds = [{ group: "apps", plural: "deployments", kind: "Deployment" }]
  assert.strictEqual(
    Refusal.remedy(kinds, { ...asked("patch"), resource: "deployments/status" }),
    "add { resource: Deployment, subresource: \"status\", verbs: [\"patch\"] } to `writes`"
  )
  assert.include(Refusal.remedy([], asked("list")), "in `owns` or `watches` of the controller")
  assert.include(Refusal.remedy([], asked("list")), "/* the kind of deployments.apps */")
})
