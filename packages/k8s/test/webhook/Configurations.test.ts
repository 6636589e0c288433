import { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CustomResourceDefinition, Namespace, Pod, Secret } from "../../src/kinds/index.ts"
import { TestCluster, TestWebhooks } from "../../src/testing/index.ts"
import * as Certificates from "../../src/Certificates.ts"
import * as Webhook from "../../src/Webhook.ts"
import { Database, hooks, service } from "./support.ts"

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
    const somewhere = Webhook.validating(Pod, {
      ...no,
      name: "somewhere.pod.core",
      path: "/somewhere",
      namespaceSelector: { matchLabels: { checked: "yes" } }
    })
    assert.deepStrictEqual(selectors([everywhere, somewhere]), [{}, { matchLabels: { checked: "yes" } }])
  })

  it("two hooks of one name or path are refused", () => {
    const one = Webhook.validating(Pod, no)
    assert.throws(
      () => selectors([one, one]),
      "Webhook: Pod: two hooks have the same path \"/validate--v1-pod\" and name \"validate.pod.core\": give one of them " +
        "its own `path` and `name`"
    )
    assert.throws(
      () => selectors([one, Webhook.validating(Pod, { ...no, path: "/other" })]),
      "Webhook: Pod: two hooks have the same name \"validate.pod.core\": give one of them its own `name`"
    )
  })

  it.effect("a conversion that is reached in another way is reached in that way alone", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const all = [
        Webhook.conversion(Database, { convert: (object, apiVersion) => Effect.succeed({ ...object, apiVersion }) })
      ]
      const path = "/convert-shop-example-com-database"
      const caBundle = Buffer.from((yield* Certificates.authority({ now: 0 })).certPem).toString("base64")
      const key = { name: "databases.shop.example.com" }
      const installed = (reachable: Parameters<typeof Webhook.install>[1]["reachable"]) =>
        Effect.gen(function*() {
          yield* Webhook.install(all, { name: "all", reachable })
          const { spec } = yield* client.get(CustomResourceDefinition, key)
          return spec.conversion?.webhook?.clientConfig
        })
      assert.deepStrictEqual(yield* installed({ service: { ...service, port: 9443 } }), {
        service: { ...service, path, port: 9443 }
      })
      const bundle = { spec: { conversion: { webhook: { clientConfig: { caBundle } } } } }
      yield* client.patch(CustomResourceDefinition, key, KubeClient.Patch.merge(bundle))
      assert.deepStrictEqual(yield* installed({ service }), { service: { ...service, path, port: 443 }, caBundle })
      assert.deepStrictEqual(yield* installed({ url: "https://127.0.0.1:1" }), {
        url: `https://127.0.0.1:1${path}`,
        caBundle
      })
      assert.deepStrictEqual(yield* installed({ service }), { service: { ...service, path, port: 443 }, caBundle })
    }).pipe(Effect.provide(TestCluster.layer({ resources: [Database] }))))
})
