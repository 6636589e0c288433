import { KubeClient } from "@effect-operator/core"
import { Webhook } from "@effect-operator/k8s"
import { TestCluster, TestWebhooks } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Website } from "../src/website/resource.ts"
import { webhooks } from "../src/website/webhook.ts"

const service = { namespace: "default", name: "webhooks" }

/** An in-memory API server that calls the hooks, without sockets and certificates. */
const cluster = Webhook.layer(webhooks, { name: "test", service }).pipe(
  Layer.provide(TestWebhooks.layer),
  Layer.provideMerge(TestCluster.layer({ resources: [Website] }))
)

it.effect("a Website with a long name is refused", () =>
  Effect.gen(function*() {
    yield* Webhook.install(webhooks, { name: "test", reachable: { service } })
    const client = yield* KubeClient.KubeClient
    const create = (name: string) =>
      client.create(Website, { metadata: { namespace: "default", name }, spec: { image: "nginx:1.29", replicas: 1 } })
    yield* create("short")
    assert.include((yield* Effect.flip(create("a".repeat(41)))).message, "must be at most 40 characters")
  }).pipe(Effect.provide(cluster)))
