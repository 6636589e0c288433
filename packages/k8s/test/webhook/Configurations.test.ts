import { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Namespace, Pod, Secret } from "../../src/kinds/index.ts"
import { TestCluster, TestWebhooks } from "../../src/testing/index.ts"
import * as Webhook from "../../src/Webhook.ts"
import { hooks, service } from "./support.ts"

const no = { validate: () => Webhook.deny("no") }

const selectors = (all: ReadonlyArray<Webhook.Hook>) =>
  Webhook.configurations(all, { name: "all", reachable: { service } }).flatMap(({ webhooks = [] }) =>
    webhooks.map(({ namespaceSelector }) => namespaceSelector)
  )

describe("Configurations", () => {
  it.effect("a hook for a kind of Kubernetes itself does not stand in the way of the operator that serves it", () =>
    Effect.gen(function*() {
      const all = [Webhook.validating(Pod, no), Webhook.validating(Secret, no), Webhook.validating(Namespace, no)]
      yield* Webhook.install(all, { name: "all", reachable: { service } })
      const client = yield* KubeClient.KubeClient
      const make = (namespace: string) =>
        Effect.gen(function*() {
          yield* client.create(Secret, { metadata: { namespace, name: "tls" } })
          yield* client.create(Pod, {
            metadata: { namespace, name: "operator" },
            spec: { containers: [{ name: "a", image: "a" }] }
          })
        })
      yield* make("shop")
      yield* make("kube-system")
      // Nobody serves the hooks.
      assert.strictEqual((yield* Effect.flip(make("default"))).reason._tag, "ServerError")
      assert.strictEqual(
        (yield* Effect.flip(client.create(Namespace, { metadata: { name: "other" } }))).reason._tag,
        "ServerError"
      )
    }).pipe(Effect.provide(
      Layer.effectDiscard(
        KubeClient.KubeClient.use((client) => client.create(Namespace, { metadata: { name: service.namespace } }))
      ).pipe(Layer.provideMerge(TestWebhooks.layer), Layer.provideMerge(TestCluster.layer()))
    )))

  it("what the hook says of namespaces stands, and kinds of the operator's own are asked about everywhere", () => {
    assert.deepStrictEqual(selectors(hooks), hooks.map(() => undefined))
    const everywhere = Webhook.validating(Pod, { ...no, namespaceSelector: {} })
    const somewhere = Webhook.validating(Pod, { ...no, namespaceSelector: { matchLabels: { checked: "yes" } } })
    assert.deepStrictEqual(selectors([everywhere, somewhere]), [{}, { matchLabels: { checked: "yes" } }])
  })
})
