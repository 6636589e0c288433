import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ConfigMap, Namespace, ServiceAccount } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as NamespaceController from "../../src/testing/NamespaceController.ts"
import * as ServiceAccounts from "../../src/testing/ServiceAccounts.ts"
import { layer } from "./support/server.ts"

const cluster = Layer.merge(ServiceAccounts.layer({ rootCa: "PEM" }), NamespaceController.layer()).pipe(
  Layer.provideMerge(layer)
)

const config = { namespace: "default", name: "kube-root-ca.crt" }
const account = { namespace: "default", name: "default" }
const counts = Effect.flatMap(ApiServer, ({ requestCounts }) => requestCounts)

describe("ServiceAccounts", () => {
  it.effect("every namespace has its account and certificates, again when they are deleted or changed", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(Namespace, { metadata: { name: "new" } })
      yield* TestClock.adjust("1 second")
      const namespaces = yield* Stream.runCollect(client.list(Namespace))
      const accounts = yield* Stream.runCollect(client.list(ServiceAccount))
      assert.sameMembers(
        accounts.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
        namespaces.map(({ metadata }) => `${metadata.name}/default`)
      )
      const first = yield* client.get(ServiceAccount, account)
      yield* client.delete(ServiceAccount, account)
      yield* client.delete(ConfigMap, { namespace: "new", name: config.name })
      yield* client.patch(ConfigMap, config, Patch.merge({ data: { "ca.crt": null, other: "x" } }))
      yield* TestClock.adjust("1 second")
      assert.notStrictEqual((yield* client.get(ServiceAccount, account)).metadata.uid, first.metadata.uid)
      const { data, metadata } = yield* client.get(ConfigMap, config)
      assert.deepStrictEqual(data, { "ca.crt": "PEM" })
      assert.match(metadata.annotations?.["kubernetes.io/description"] ?? "", /^Contains a CA bundle .* clusters\.$/)
      assert.deepStrictEqual((yield* client.get(ConfigMap, { ...config, namespace: "new" })).data, data)
    }).pipe(Effect.provide(cluster)))

  it.effect("a namespace that ends stays empty, and an idle cluster makes no requests", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(Namespace, { metadata: { name: "brief" } })
      yield* TestClock.adjust("1 second")
      yield* client.delete(Namespace, { name: "brief" })
      yield* TestClock.adjust("1 minute")
      const names = (yield* Stream.runCollect(client.list(Namespace))).map(({ metadata }) => metadata.name)
      assert.notInclude(names, "brief")
      const before = yield* counts
      yield* TestClock.adjust("4 minutes")
      const { "create configmaps": configs, "create serviceaccounts": accounts } = yield* counts
      assert.deepStrictEqual([accounts, configs], [names.length + 1, names.length + 1])
      assert.deepStrictEqual(yield* counts, before)
    }).pipe(Effect.provide(cluster)))
})
