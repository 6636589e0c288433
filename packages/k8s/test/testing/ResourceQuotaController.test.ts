import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { CustomResourceDefinition } from "../../src/kinds/apiextensions.v1.ts"
import { ConfigMap, Pod, ResourceQuota, type ResourceQuotaSpec, Service } from "../../src/kinds/core.v1.ts"
import * as ResourceQuotaController from "../../src/testing/ResourceQuotaController.ts"
import { layer, post, widgets } from "./support/server.ts"

const cluster = ResourceQuotaController.layer.pipe(Layer.provideMerge(layer))

const namespace = "default"
const limit = (name: string, spec: ResourceQuotaSpec) =>
  KubeClient.use((client) => client.create(ResourceQuota, { metadata: { namespace, name }, spec }))
const pod = (name: string, cpu: string, spec: object = {}) =>
  KubeClient.use((client) =>
    client.create(Pod, {
      metadata: { namespace, name },
      spec: { containers: [{ name: "c", image: "x", resources: { requests: { cpu } } }], ...spec }
    })
  )
const used = (name = "q") =>
  TestClock.adjust("1 second").pipe(
    Effect.andThen(KubeClient.use((client) => client.get(ResourceQuota, { namespace, name }))),
    Effect.map(({ status }) => status?.used)
  )

describe("ResourceQuotaController", () => {
  it.effect("counts what is there, before the quota and after, and what goes or is over is not used any more", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* pod("early", "100m")
      yield* limit("q", { hard: { pods: "3", "requests.cpu": "1", "count/configmaps": "5", services: "1" } })
      assert.deepStrictEqual(yield* used(), {
        pods: "1",
        "requests.cpu": "100m",
        "count/configmaps": "0",
        services: "0"
      })
      yield* pod("late", "1500m").pipe(Effect.flip)
      yield* pod("late", "300m")
      yield* client.create(ConfigMap, { metadata: { namespace, name: "c" } })
      yield* client.create(Service, { metadata: { namespace, name: "s" }, spec: { ports: [{ port: 80 }] } })
      assert.deepStrictEqual(yield* used(), {
        pods: "2",
        "requests.cpu": "400m",
        "count/configmaps": "1",
        services: "1"
      })
      yield* client.delete(Pod, { namespace, name: "early" })
      const succeeded = Patch.merge({ status: { phase: "Succeeded" } })
      yield* client.patch(Pod, { namespace, name: "late" }, succeeded, { subresource: "status" })
      yield* client.delete(ConfigMap, { namespace, name: "c" })
      assert.deepStrictEqual(yield* used(), { pods: "0", "requests.cpu": "0", "count/configmaps": "0", services: "1" })
    }).pipe(Effect.provide(cluster)))

  it.effect("refuses what would be too much, and lets it pass when there is room", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* limit("q", { hard: { pods: "1" } })
      yield* TestClock.adjust("1 second")
      yield* pod("a", "1")
      const refused = yield* Effect.flip(pod("b", "1"))
      assert.include(refused.message, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1")
      yield* client.patch(ResourceQuota, { namespace, name: "q" }, Patch.merge({ spec: { hard: { pods: "2" } } }))
      yield* TestClock.adjust("1 second")
      yield* pod("b", "1")
      assert.deepStrictEqual(yield* used(), { pods: "2" })
    }).pipe(Effect.provide(cluster)))

  it.effect("heeds scopes, other namespaces and names that nobody knows", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* limit("short", { hard: { pods: "9", "example.com/unheard-of": "1" }, scopes: ["Terminating"] })
      yield* limit("long", { hard: { pods: "9" }, scopes: ["NotTerminating"] })
      yield* TestClock.adjust("1 second")
      yield* pod("a", "1", { activeDeadlineSeconds: 60 })
      yield* pod("b", "1")
      yield* pod("c", "1")
      yield* client.create(Pod, {
        metadata: { namespace: "kube-public", name: "d" },
        spec: { containers: [{ name: "c", image: "x" }] }
      })
      assert.deepStrictEqual(yield* used("short"), { pods: "1" })
      assert.deepStrictEqual(yield* used("long"), { pods: "2" })
    }).pipe(Effect.provide(cluster)))

  it.effect("tells nothing of a kind that does not exist, until it does, and nothing of events", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const hard = { "count/widgets.example.com": "2", "count/foo.example.com": "1", "count/events": "9" }
      yield* limit("q", { hard })
      assert.isUndefined(yield* used())
      yield* client.create(CustomResourceDefinition, definition)
      assert.deepStrictEqual(yield* used(), { "count/widgets.example.com": "0" })
      yield* post(widgets, { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" } })
      assert.deepStrictEqual(yield* used(), { "count/widgets.example.com": "1" })
      yield* client.delete(CustomResourceDefinition, definition.metadata)
      assert.isUndefined(yield* used())
    }).pipe(Effect.provide(cluster)))
})

const definition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }]
  }
} as const
