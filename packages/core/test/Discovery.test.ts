import { Discovery, KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { over, status } from "./support/Client.ts"

const list = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: "test.io/v1",
  resources: [
    { name: "webs", singularName: "web", namespaced: true, kind: "Web", verbs: ["get"], shortNames: ["w"] },
    { name: "webs/status", singularName: "", namespaced: true, kind: "Web", verbs: ["get"] },
    { name: "zones", singularName: "zone", namespaced: false, kind: "Zone", verbs: ["get"], categories: ["all"] }
  ]
}

describe("Discovery.resource", () => {
  it.effect("finds a kind by what an object says of itself, and asks once for a version", () =>
    Effect.gen(function*() {
      const { client, requests } = over([{ body: list }, { body: { ...list, resources: [] } }])
      const find = (apiVersion: string, kind: string) =>
        Effect.provideService(Discovery.resource({ apiVersion, kind }), KubeClient.KubeClient, client)
      const web = yield* find("test.io/v1", "Web")
      assert.deepInclude(web, {
        id: "Web.v1.test.io",
        plural: "webs",
        singular: "web",
        scope: "Namespaced",
        shortNames: ["w"],
        subresources: ["status"]
      })
      assert.deepInclude(yield* find("test.io/v1", "Zone"), { scope: "Cluster", categories: ["all"], subresources: [] })
      assert.isUndefined(yield* find("v1", "Web"))
      assert.deepStrictEqual(requests.map(({ method, path }) => `${method} ${path}`), [
        "GET /apis/test.io/v1",
        "GET /api/v1"
      ])
    }))

  it.effect("asks again for what there was not, and fails if there is no answer, or another", () =>
    Effect.gen(function*() {
      const { client, requests } = over([
        { status: 404, body: status(404, "NotFound") },
        { status: 503, body: status(503, "ServiceUnavailable") },
        { body: { kind: "Table" } },
        { body: list }
      ])
      const find = Effect.provideService(
        Discovery.resource({ apiVersion: "test.io/v1", kind: "Web" }),
        KubeClient.KubeClient,
        client
      )
      assert.isUndefined(yield* find)
      assert.strictEqual((yield* Effect.flip(find)).reason._tag, "ServerError")
      assert.include(
        (yield* Effect.flip(find)).message,
        "list kinds of test.io/v1: Decode: the answer is not an APIResourceList"
      )
      assert.strictEqual((yield* find)?.plural, "webs")
      yield* find
      assert.strictEqual(requests.length, 4)
    }))
})
