import * as ConfigMap from "../../../src/kinds/core.v1.ts"
import { KubeClient } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as Audit from "../../../src/testing/auth/Audit.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"
import { post } from "../support/server.ts"

const rbac = "/apis/rbac.authorization.k8s.io/v1"

/** What the server tells while the effect runs. */
const during = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const { audit } = yield* ApiServer
    const events: Array<Audit.Event> = []
    const fiber = yield* Effect.forkChild(Stream.runForEach(audit, (event) => Effect.sync(() => events.push(event))), {
      startImmediately: true
    })
    yield* effect
    yield* TestClock.adjust("1 millis")
    yield* Fiber.interrupt(fiber)
    return events
  })

const robot = TestClient.serviceAccount("default", "robot")

const asRobot = TestClient.layerAs(robot)

/** A program that wants to do more than it may. */
const program = Effect.gen(function*() {
  const client = yield* KubeClient
  yield* Stream.runDrain(client.list(ConfigMap.ConfigMap, { namespace: "default" }))
  yield* client.create(ConfigMap.ConfigMap, { metadata: { name: "a", namespace: "default" } })
  const refused = yield* Effect.flip(client.delete(ConfigMap.ConfigMap, { name: "a", namespace: "default" }))
  assert.strictEqual(refused.reason._tag, "Forbidden")
})

const allow = Effect.gen(function*() {
  yield* post(`${rbac}/namespaces/default/roles`, {
    metadata: { name: "robot" },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "create"] }]
  })
  yield* post(`${rbac}/namespaces/default/rolebindings`, {
    metadata: { name: "robot" },
    roleRef: { kind: "Role", name: "robot" },
    subjects: [{ kind: "ServiceAccount", name: "robot", namespace: "default" }]
  })
})

describe("Audit", () => {
  it.effect("shows a program's own rights: what it used, what it lacked, and the least it needs", () =>
    Effect.gen(function*() {
      yield* allow
      yield* TestClock.adjust("1 minute")
      const events = yield* during(Effect.provide(program, asRobot))
      assert.deepStrictEqual(
        events.map((
          { annotations, verb }
        ) => [verb, annotations![Audit.decisionAnnotation], annotations![Audit.reasonAnnotation]]),
        [
          [
            "list",
            "allow",
            `RBAC: allowed by RoleBinding "robot/default" of Role "robot" to ServiceAccount "robot/default"`
          ],
          [
            "create",
            "allow",
            `RBAC: allowed by RoleBinding "robot/default" of Role "robot" to ServiceAccount "robot/default"`
          ],
          ["delete", "forbid", ""]
        ]
      )
      assert.deepStrictEqual(events[0]!.user.username, robot.username)
      assert.strictEqual(events[0]!.stageTimestamp, "1970-01-01T00:01:00.000000Z")
      assert.deepStrictEqual(Audit.needed(events), {
        default: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create", "delete", "list"] }]
      })
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("leaves bodies out where only metadata is asked for", () =>
    Effect.gen(function*() {
      const [event] = yield* during(post("/api/v1/namespaces/default/configmaps", { metadata: { name: "a" } }))
      assert.strictEqual(event!.level, "Metadata")
      assert.isUndefined(event!.requestObject)
      assert.isUndefined(event!.responseObject)
      assert.strictEqual(event!.objectRef!.name, "a")
    }).pipe(Effect.provide(ApiServer.layerOptions({ auditLevel: "Metadata" }))))

  it("sums up requests as rules, by namespace", () => {
    const event = (verb: string, objectRef: Audit.ObjectReference | undefined, requestURI = "/"): Audit.Event => ({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: "",
      stage: "ResponseComplete",
      requestURI,
      verb,
      user: {},
      ...(objectRef === undefined ? {} : { objectRef }),
      responseStatus: {},
      requestReceivedTimestamp: "",
      stageTimestamp: ""
    })
    assert.deepStrictEqual(
      Audit.needed([
        event("watch", { resource: "pods", apiVersion: "v1" }),
        event("list", { resource: "pods", apiVersion: "v1" }),
        event("list", { resource: "pods", apiVersion: "v1" }),
        event("update", { resource: "deployments", apiGroup: "apps", subresource: "status", namespace: "n" }),
        event("get", undefined, "/version?timeout=1s")
      ]),
      {
        "": [
          { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
          { nonResourceURLs: ["/version"], verbs: ["get"] }
        ],
        n: [{ apiGroups: ["apps"], resources: ["deployments/status"], verbs: ["update"] }]
      }
    )
  })

  it.effect("an overloaded server says when to come again, as long as it is", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      const get = (user?: typeof robot) => server.handle({ method: "GET", path: "/api", query: [], headers: {} }, user)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* server.throttle((_, { username }) => (username === robot.username ? 7 : undefined))
        const refused = yield* get(robot)
        assert.strictEqual(refused.status, 429)
        assert.strictEqual(refused.headers["retry-after"], "7")
        assert.strictEqual(refused.body, "Too many requests, please try again later.\n")
        assert.isString(refused.headers["x-kubernetes-pf-flowschema-uid"])
        assert.strictEqual((yield* get()).status, 200)
      }))
      assert.strictEqual((yield* get(robot)).status, 200)
    }).pipe(Effect.provide(ApiServer.layer)))
})
