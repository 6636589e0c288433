/** Statement 128: by which FlowSchema a request is let in. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { as, bearer } from "../Access.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const flowSchemaHeader = "x-kubernetes-pf-flowschema-uid"
const priorityLevelHeader = "x-kubernetes-pf-prioritylevel-uid"

export const flowControl = [
  statement("128a", "every answer has an audit id and says by which FlowSchema and priority level it was let in", {
    note: "watches carry these headers since 1.22"
  }, function*() {
    const { minor, namespace, request } = yield* Target
    const flows = `/apis/flowcontrol.apiserver.k8s.io/${minor < 29 ? "v1beta1" : "v1"}`
    const uid = (path: string) => Effect.map(request("GET", `${flows}/${path}`), ({ object }) => object.metadata.uid)
    const lane = Effect.fnUntraced(function*(answer: Answer, schema: string, level: string) {
      assert.match(answer.headers["audit-id"]!, /^[0-9a-f-]{36}$/)
      assert.strictEqual(answer.headers["cache-control"], "no-cache, private")
      assert.strictEqual(answer.headers[flowSchemaHeader], yield* uid(`flowschemas/${schema}`))
      assert.strictEqual(answer.headers[priorityLevelHeader], yield* uid(`prioritylevelconfigurations/${level}`))
    })
    const ns = yield* namespace
    yield* lane(yield* request("GET", "/api/v1/namespaces"), "exempt", "exempt")
    yield* lane(yield* request("GET", "/api/v1/namespaces/none"), "exempt", "exempt")
    yield* lane(yield* request("GET", "/nothing"), "exempt", "exempt")
    yield* lane(yield* request("GET", "/api", { headers: as("jane") }), "global-default", "global-default")
    yield* lane(yield* request("GET", "/api/v1/pods", { headers: as("jane") }), "global-default", "global-default")
    const accounts = as(`system:serviceaccount:${ns}:a`)
    yield* lane(yield* request("GET", "/api", { headers: accounts }), "service-accounts", "workload-low")
    const system = as("system:serviceaccount:kube-system:a")
    yield* lane(yield* request("GET", "/api", { headers: system }), "kube-system-service-accounts", "workload-high")
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    yield* lane(
      yield* request("POST", leases, { headers: system, body: {} }),
      "system-leader-election",
      "leader-election"
    )
    const node = as("system:node:n", { "impersonate-group": "system:nodes" })
    yield* lane(yield* request("GET", "/api/v1/pods", { headers: node }), "system-nodes", "system")
    const manager = as("system:kube-controller-manager")
    yield* lane(yield* request("GET", "/api/v1/pods", { headers: manager }), "kube-controller-manager", "workload-high")
    const named = yield* request("GET", "/version", { headers: { "audit-id": "my-own" } })
    assert.strictEqual(named.headers["audit-id"], "my-own", "a client may name its request")
  }),

  statement("128b", "who is refused before flow control has no such headers", {}, function*() {
    const { bare, request } = yield* Target
    const unknown = yield* bare("GET", "/version", bearer("nobody"))
    assert.strictEqual(unknown.status, 401)
    assert.strictEqual(unknown.headers[flowSchemaHeader], undefined)
    assert.isString(unknown.headers["audit-id"])
    assert.strictEqual(unknown.headers["cache-control"], "no-cache, private")
    const headers = { ...as("jane"), "impersonate-group": "g" }
    const lost = yield* request("GET", "/version", { headers: { "impersonate-group": "g" } })
    assert.oneOf(lost.status, [400, 500])
    assert.strictEqual(lost.headers[priorityLevelHeader], undefined)
    assert.isString((yield* request("GET", "/version", { headers })).headers[priorityLevelHeader])
  }),

  statement("128c", "the FlowSchemas and priority levels of a new server", { since: 29 }, function*() {
    const { request } = yield* Target
    const path = "/apis/flowcontrol.apiserver.k8s.io/v1"
    const { object: schemas } = yield* request("GET", `${path}/flowschemas`)
    assert.includeDeepMembers(
      schemas["items"].map((schema: any) => [schema.metadata.name, schema.spec.matchingPrecedence]),
      [["exempt", 1], ["probes", 2], ["system-leader-election", 100], ["service-accounts", 9000], ["catch-all", 10_000]]
    )
    for (const { metadata, status } of schemas["items"]) {
      assert.strictEqual(metadata.annotations["apf.kubernetes.io/autoupdate-spec"], "true")
      assert.strictEqual(status.conditions[0].type, "Dangling")
      assert.strictEqual(status.conditions[0].status, "False")
    }
    const { object: levels } = yield* request("GET", `${path}/prioritylevelconfigurations`)
    const byName = Object.fromEntries(levels["items"].map((level: any) => [level.metadata.name, level.spec]))
    assert.deepStrictEqual(byName["exempt"], {
      type: "Exempt",
      exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 }
    })
    assert.strictEqual(byName["workload-low"].limited.nominalConcurrencyShares, 100)
    assert.deepStrictEqual(byName["catch-all"].limited.limitResponse, { type: "Reject" })
  })
]
