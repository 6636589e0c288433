/** What statements about access have in common: users, what they are given, and how they are refused. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, Target } from "./Target.ts"

export const rbac = "/apis/rbac.authorization.k8s.io/v1"
export const group = "rbac.authorization.k8s.io"

export const as = (user: string, more: Readonly<Record<string, string>> = {}) => ({ "impersonate-user": user, ...more })

export const isForbidden = (answer: Answer, message: string, details: unknown): void => {
  assert.strictEqual(answer.status, 403, JSON.stringify(answer.body))
  assert.strictEqual(answer.error.message, message)
  assert.strictEqual(answer.error.reason, "Forbidden")
  assert.deepStrictEqual(answer.error.details, details)
}

/** A ClusterRole with these rules, and a binding of it to these subjects, in one namespace or everywhere. */
export const grant = Effect.fnUntraced(function*(
  rules: ReadonlyArray<unknown>,
  subjects: ReadonlyArray<unknown>,
  namespace?: string
) {
  const { request, unique } = yield* Target
  const name = unique("role")
  yield* request("POST", `${rbac}/clusterroles`, { body: { metadata: { name }, rules } })
  const body = { metadata: { name }, roleRef: { apiGroup: group, kind: "ClusterRole", name }, subjects }
  const path = namespace === undefined
    ? `${rbac}/clusterrolebindings`
    : `${rbac}/namespaces/${namespace}/rolebindings`
  const { status } = yield* request("POST", path, { body })
  assert.strictEqual(status, 201)
  return name
})

export const user = (name: string) => ({ kind: "User", apiGroup: group, name })

/** Waits until somebody may do what he was just allowed to. */
export const untilAllowed = (request: Effect.Effect<Answer, any, any>) =>
  Effect.flatMap(Target, ({ until }) => until(request as Effect.Effect<Answer, never>, ({ status }) => status !== 403))

/** A new service account of a namespace, and a token of it. */
export const account = Effect.fnUntraced(function*(namespace: string, spec: unknown = {}) {
  const { request, unique } = yield* Target
  const name = unique("account")
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts`
  const { object } = yield* request("POST", path, { body: { metadata: { name } } })
  const answer = yield* request("POST", `${path}/${name}/token`, { body: { spec } })
  assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
  return { name, uid: object.metadata.uid, answer, token: String(answer.object["status"].token) }
})

export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
