import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Secret, ServiceAccount } from "../../src/kinds/core.v1.ts"
import * as ServiceAccounts from "../../src/testing/ServiceAccounts.ts"
import { layer, post } from "./support/server.ts"

const cluster = ServiceAccounts.layer({ rootCa: "PEM" }).pipe(Layer.provideMerge(layer))

const namespace = "default"
const key = { namespace, name: "s" }

const create = (name: string, account: string, more: Partial<Secret> = {}, annotations = {}) =>
  KubeClient.use((client) =>
    client.create(Secret, {
      ...more,
      metadata: { namespace, name, annotations: { "kubernetes.io/service-account.name": account, ...annotations } },
      type: "kubernetes.io/service-account-token"
    })
  )

const names = KubeClient.use((client) =>
  Effect.map(Stream.runCollect(client.list(Secret)), (secrets) => secrets.map(({ metadata }) => metadata.name))
)

const decode = (text: string | undefined): string => Buffer.from(text ?? "", "base64").toString()

const whoIs = (token: string) =>
  Effect.map(
    post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } }),
    ({ body }) => body.status.user?.username
  )

describe("ServiceAccountTokens", () => {
  it.effect("a Secret for a token gets one, and all it takes to use it, again when something is taken away", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const account = yield* client.create(ServiceAccount, { metadata: { namespace, name: "a" } })
      yield* create("s", "a", { data: { extra: "eA==" } })
      yield* TestClock.adjust("1 second")
      const { data = {}, metadata } = yield* client.get(Secret, key)
      assert.strictEqual(metadata.annotations?.["kubernetes.io/service-account.uid"], account.metadata.uid)
      assert.deepStrictEqual(Object.keys(data).toSorted(), ["ca.crt", "extra", "namespace", "token"])
      assert.deepStrictEqual([decode(data["ca.crt"]), decode(data["namespace"])], ["PEM", "default"])
      assert.strictEqual(yield* whoIs(decode(data["token"])), "system:serviceaccount:default:a")
      yield* client.patch(Secret, key, Patch.merge({ data: { token: null, "ca.crt": "eA==", namespace: "eA==" } }))
      yield* TestClock.adjust("1 second")
      const { data: again = {} } = yield* client.get(Secret, key)
      assert.deepStrictEqual([decode(again["ca.crt"]), decode(again["namespace"])], ["PEM", "x"])
      assert.strictEqual(yield* whoIs(decode(again["token"])), "system:serviceaccount:default:a")
      yield* client.delete(Secret, key)
      assert.isUndefined(yield* whoIs(decode(again["token"])), "a token ends with its Secret")
    }).pipe(Effect.provide(cluster)))

  it.effect("goes with its account, and at once if there is none, or another one", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const account = { namespace, name: "a" }
      yield* client.create(ServiceAccount, { metadata: account })
      yield* create("s", "a")
      yield* create("nobody", "b")
      yield* create("another", "a", {}, { "kubernetes.io/service-account.uid": "x" })
      yield* client.create(Secret, { metadata: { namespace, name: "plain" } })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, ["plain", "s"])
      yield* client.delete(ServiceAccount, account)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, ["plain"])
    }).pipe(Effect.provide(cluster)))
})
