import { CustomResource, Discovery, KubeClient } from "@effect-operator/core"
import { TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Crd from "../src/Crd.ts"

const Widget = CustomResource.make({ group: "example.com", version: "v1", kind: "Widget", spec: Schema.Struct({}) })

it.effect("kinds that come with manifests are found, applied and read, by an account of a tenant as well", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    assert.isUndefined(yield* Discovery.resource(Widget))
    yield* Crd.install(Widget)
    yield* TestClock.adjust("1 second")
    const manifests = [
      { apiVersion: "example.com/v1", kind: "Widget", metadata: { namespace: "default", name: "a" }, spec: {} },
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } }
    ]
    for (const manifest of manifests) {
      const resource = (yield* Discovery.resource(manifest))!
      const { metadata } = yield* client.apply(resource, manifest)
      assert.strictEqual((yield* client.get(resource, manifest.metadata)).metadata.uid, metadata.uid)
    }
    const found = yield* Discovery.resource({ apiVersion: "apps/v1", kind: "Deployment" }).pipe(
      Effect.provideService(KubeClient.Impersonated, KubeClient.serviceAccount("default", "tenant"))
    )
    assert.deepInclude(found, { plural: "deployments", scope: "Namespaced", subresources: ["scale", "status"] })
  }).pipe(Effect.provide(TestCluster.layer())))
