import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, crds, del, get, layer, post, widgetDefinition } from "../support/server.ts"

const aggregatedForm = {
  accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
}

describe("discovery", () => {
  it.effect("names versions, groups and resources", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* get("/api")).body.versions, ["v1"])
      const groups = (yield* get("/apis")).body.groups
      assert.strictEqual(groups[0].name, "apiregistration.k8s.io")
      assert.deepStrictEqual(groups.find(({ name }: any) => name === "autoscaling").preferredVersion, {
        groupVersion: "autoscaling/v2",
        version: "v2"
      })
      const { body } = yield* get("/apis/apps/v1")
      const names = body.resources.map(({ name }: any) => name)
      assert.includeMembers(names, ["deployments", "deployments/scale", "deployments/status"])
      const deployments = body.resources.find(({ name }: any) => name === "deployments")
      assert.deepInclude(deployments, {
        kind: "Deployment",
        namespaced: true,
        singularName: "deployment",
        shortNames: ["deploy"]
      })
      assert.isString(deployments.storageVersionHash)
      const scale = body.resources.find(({ name }: any) => name === "deployments/scale")
      assert.deepInclude(scale, { group: "autoscaling", version: "v1", kind: "Scale" })
    }).pipe(Effect.provide(layer)))

  it.effect("shows a custom resource while it is established", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* get("/apis/example.com")).body, "404 page not found\n")
      yield* post(crds, widgetDefinition())
      assert.strictEqual((yield* get("/apis/example.com")).body.preferredVersion.version, "v1")
      const { body } = yield* get("/apis/example.com/v1")
      assert.deepStrictEqual(body.resources.map(({ name }: any) => name), [
        "widgets",
        "widgets/status",
        "widgets/scale"
      ])
      assert.strictEqual((yield* get("/apis")).body.groups.at(-1).name, "example.com")
      yield* del(`${crds}/widgets.example.com`)
      assert.strictEqual((yield* get("/apis/example.com/v1")).status, 404)
    }).pipe(Effect.provide(layer)))

  it.effect("has an aggregated form with an ETag", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      const first = yield* get("/apis", aggregatedForm)
      assert.strictEqual(
        first.headers["content-type"],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
      )
      const group = first.body.items.find(({ metadata }: any) => metadata.name === "example.com")
      assert.deepInclude(group.versions[0].resources[0], {
        resource: "widgets",
        scope: "Namespaced",
        responseKind: { group: "example.com", version: "v1", kind: "Widget" }
      })
      const cached = yield* get("/apis", { ...aggregatedForm, "if-none-match": first.headers["etag"]! })
      assert.deepStrictEqual([cached.status, cached.body], [304, undefined])
      const core = yield* get("/api", aggregatedForm)
      const pods = core.body.items[0].versions[0].resources.find(({ resource }: any) => resource === "pods")
      assert.deepStrictEqual(pods.responseKind, { group: "", version: "", kind: "Pod" })
      const ofPod = (name: string) =>
        pods.subresources.find(({ subresource }: any) => subresource === name).responseKind
      assert.deepStrictEqual(ofPod("status"), { group: "", version: "", kind: "Pod" })
      assert.deepStrictEqual(ofPod("eviction"), { group: "policy", version: "v1", kind: "Eviction" })
      assert.deepStrictEqual(core.body.items.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("tells version and health", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* get("/version")).body.gitVersion, "v1.35.0")
      for (const path of ["/healthz", "/livez", "/readyz", "/readyz/ping"]) {
        assert.strictEqual((yield* get(path)).body, "ok")
      }
      assert.include((yield* get("/readyz?verbose")).body, "readyz check passed")
      assert.include((yield* get("/")).body.paths, "/apis/apps/v1")
      // The lists of groups do not look at the method, as in a real server.
      assert.strictEqual((yield* call("POST", "/apis", {})).status, 200)
      assert.strictEqual((yield* call("POST", "/apis/apps/v1", {})).status, 405)
      assert.strictEqual((yield* call("POST", "/version", {})).status, 405)
    }).pipe(Effect.provide(layer)))
})
