import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"

const path = "/apis/flowcontrol.apiserver.k8s.io/v1"

const ask = (method: "GET" | "POST" | "PUT" | "DELETE", rest: string, body?: object) =>
  Effect.gen(function*() {
    const { handle } = yield* ApiServer
    const headers = { "content-type": "application/json", "user-agent": "curl/1" }
    const { body: answer } = yield* handle({ method, path: `${path}/${rest}`, query: [], headers, body })
    return answer as any
  })

const schema = (level: string) => ({
  metadata: { name: "mine" },
  spec: { priorityLevelConfiguration: { name: level } }
})

const dangling = Effect.map(ask("GET", "flowschemas/mine"), ({ status }) => status.conditions)

const level = {
  metadata: { name: "late" },
  spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } }
}

describe("FlowSchemaConditions", () => {
  it.effect("say whether the priority level is there, as it comes and goes", () =>
    Effect.gen(function*() {
      const made = yield* ask("POST", "flowschemas", schema("late"))
      assert.deepStrictEqual(made.status, {})
      const [first, ...others] = yield* dangling
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual([first.type, first.status, first.reason], ["Dangling", "True", "NotFound"])
      assert.strictEqual(
        first.message,
        "This FlowSchema references the PriorityLevelConfiguration object named \"late\" but there is no such object"
      )
      yield* ask("POST", "prioritylevelconfigurations", level)
      const [second] = yield* dangling
      assert.deepStrictEqual([second.status, second.reason], ["False", "Found"])
      assert.strictEqual(
        second.message,
        "This FlowSchema references the PriorityLevelConfiguration object named \"late\" and it exists"
      )
      yield* ask("DELETE", "prioritylevelconfigurations/late")
      assert.strictEqual((yield* dangling)[0].status, "True")
      yield* ask("PUT", "flowschemas/mine", schema("workload-low"))
      assert.strictEqual((yield* dangling)[0].status, "False")
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("are owned by the server, and written once", () =>
    Effect.gen(function*() {
      yield* ask("POST", "flowschemas", schema("late"))
      const { metadata } = yield* ask("GET", "flowschemas/mine")
      const entries = metadata.managedFields.map((entry: any) => [entry.manager, entry.operation, entry.subresource])
      assert.deepStrictEqual(entries, [
        ["api-priority-and-fairness-config-consumer-v1", "Apply", "status"],
        ["curl", "Update", undefined]
      ])
      const [{ fieldsV1 }] = metadata.managedFields
      assert.deepStrictEqual(Object.keys(fieldsV1["f:status"]["f:conditions"]), ["k:{\"type\":\"Dangling\"}"])
      yield* ask("POST", "prioritylevelconfigurations", { ...level, metadata: { name: "other" } })
      assert.strictEqual(
        (yield* ask("GET", "flowschemas/mine")).metadata.resourceVersion,
        metadata.resourceVersion
      )
    }).pipe(Effect.provide(ApiServer.layer)))
})
