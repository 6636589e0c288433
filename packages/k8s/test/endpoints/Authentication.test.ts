import { KubeClient } from "@effect-operator/core"
import { Endpoints } from "@effect-operator/k8s"
import { ClusterRole, ClusterRoleBinding, ServiceAccount } from "@effect-operator/k8s/kinds"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { allow, asking, cluster, operate } from "../observability/support.ts"

const reviews = [
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] }
]

/** A service account, and a token of it. */
const tokenOf = Effect.fnUntraced(function*(name: string) {
  const client = yield* KubeClient.KubeClient
  yield* client.create(ServiceAccount, { metadata: { namespace: "default", name } })
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } }
  const answer = yield* client.create(
    ServiceAccount,
    { metadata: { namespace: "default", name }, ...request } as never,
    {
      subresource: "token"
    }
  )
  return (answer as unknown as { readonly status: { readonly token: string } }).status.token
})

const permit = Effect.fnUntraced(function*(name: string) {
  const client = yield* KubeClient.KubeClient
  yield* client.create(ClusterRole, {
    metadata: { name: "scrape" },
    rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]
  })
  yield* client.create(ClusterRoleBinding, {
    metadata: { name: "scrape" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "scrape" },
    subjects: [{ kind: "ServiceAccount", namespace: "default", name }]
  })
})

const counts = ApiServer.ApiServer.use(({ requestCounts }) =>
  Effect.map(requestCounts, (all) => [
    all["create tokenreviews.authentication.k8s.io"] ?? 0,
    all["create subjectaccessreviews.authorization.k8s.io"] ?? 0
  ])
)

describe("authentication of /metrics", () => {
  it.effect("asks the API server who that is and whether they may, and remembers the answers for a while", () =>
    Effect.gen(function*() {
      yield* allow("operator", reviews)
      const { get } = yield* operate([], { endpoints: { authentication: true } })
      const token = yield* tokenOf("prometheus")
      const other = yield* tokenOf("somebody")
      yield* permit("prometheus")
      const as = (token: string, path = "/metrics") =>
        Effect.map(get(path, { authorization: `Bearer ${token}` }), ({ status }) => status)
      assert.strictEqual((yield* get("/metrics")).status, 401, "nobody is let in anonymously")
      assert.strictEqual((yield* get("/metrics", { authorization: "Basic eDp5" })).status, 401)
      assert.strictEqual(yield* as("made-up"), 401)
      assert.strictEqual(yield* as(token), 200)
      assert.strictEqual(yield* as(other), 403)
      assert.strictEqual(yield* as(token, "/debug/operator"), 403, "another path, another right")
      assert.strictEqual((yield* get("/readyz")).status, 200, "probes are for the kubelet")
      const before = yield* counts
      for (let i = 0; i < 10; i++) yield* as(token)
      assert.deepStrictEqual(yield* counts, before, "remembered")
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(yield* as(token), 200)
      assert.deepStrictEqual(yield* counts, [before[0]! + 1, before[1]!], "the token is asked for again")
      yield* TestClock.adjust("5 minutes")
      const client = yield* KubeClient.KubeClient
      yield* client.delete(ClusterRoleBinding, { name: "scrape" })
      assert.strictEqual(yield* as(token), 403, "a right that was withdrawn")
    }).pipe(Effect.provide(cluster())))

  it.effect("nobody is let in while the API server does not answer", () =>
    Effect.gen(function*() {
      // The operator may not ask for reviews.
      const { get } = yield* operate([], { endpoints: { authentication: true } })
      const asked = yield* Effect.forkChild(get("/metrics", { authorization: "Bearer abc" }))
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual((yield* Fiber.join(asked)).status, 500)
    }).pipe(Effect.provide(cluster())))

  it.effect("without a manager there is nobody to ask", () =>
    Effect.gen(function*() {
      const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0", authentication: true })
      assert.strictEqual((yield* asking(endpoints).get("/metrics")).status, 503)
    }))
})
