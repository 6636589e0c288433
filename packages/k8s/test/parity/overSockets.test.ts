/** Must-haves that are about connections and bytes: the live client against the in-memory server, over HTTPS. */
import { KubeClient, type KubeObject, Resource } from "@effect-operator/core"
import { LiveClient } from "@effect-operator/k8s"
import { ClusterRole, Pod } from "@effect-operator/k8s/kinds"
import { ApiServer, HttpFacade } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as Proxy from "../faults/Proxy.ts"

const served = HttpFacade.layer().pipe(Layer.provideMerge(ApiServer.ApiServer.layer), Layer.fresh)

/** A live client whose connections are counted. */
const connected = Effect.gen(function*() {
  const { caPem, token, url } = yield* HttpFacade.HttpFacade
  const proxy = yield* Proxy.make({ url, caPem })
  const kubeconfig = HttpFacade.kubeconfig({ url: proxy.url, caPem: proxy.caPem, token })
  const client = yield* Effect.provide(
    KubeClient.KubeClient,
    yield* Layer.build(LiveClient.layerOptions({ kubeconfig }))
  )
  return { client, proxy }
})

const pod = { metadata: { namespace: "default", name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } }

describe("must-have 2: one dispatcher per TLS fingerprint", () => {
  it.live("50 lists take two connections at most, and a watch one more", () =>
    Effect.gen(function*() {
      const { client, proxy } = yield* connected
      for (let i = 0; i < 50; i++) yield* Stream.runDrain(client.list(Pod))
      assert.isAtMost(proxy.accepted(), 2)
      yield* client.create(Pod, pod)
      const [first] = yield* Stream.runCollect(Stream.take(client.watch(Pod, { resourceVersion: "0" }), 1))
      assert.strictEqual(first?.type, "ADDED")
      assert.isAtMost(proxy.accepted(), 3)
    }).pipe(Effect.provide(served)))
})

describe("must-have 5: plain JSON end to end", () => {
  /** A program that knows of a Pod no more than this. */
  interface LittlePod extends KubeObject.KubeObject {
    readonly metadata: KubeObject.NamespacedObjectMeta
    readonly spec?: { readonly activeDeadlineSeconds?: number }
  }
  const LittlePod = Resource.make<LittlePod>()({
    group: "",
    version: "v1",
    kind: "Pod",
    plural: "pods",
    scope: "Namespaced"
  })

  it.live("unknown fields survive a round trip, times are text, and a path keeps its case", () =>
    Effect.gen(function*() {
      const { client } = yield* connected
      const created = yield* client.create(Pod, {
        ...pod,
        spec: {
          ...pod.spec,
          tolerations: [{ key: "k", operator: "Exists", tolerationSeconds: 5, effect: "NoExecute" }]
        }
      })
      assert.match(created.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      const read = yield* client.get(LittlePod, pod.metadata)
      yield* client.replace(LittlePod, { ...read, spec: { ...read.spec, activeDeadlineSeconds: 60 } })
      const after = yield* client.get(Pod, pod.metadata)
      const { activeDeadlineSeconds, ...rest } = after.spec
      assert.strictEqual(activeDeadlineSeconds, 60)
      assert.deepStrictEqual(rest, created.spec)
      const name = "A:B_UpPer"
      yield* client.create(ClusterRole, { metadata: { name }, rules: [] })
      assert.strictEqual((yield* client.get(ClusterRole, { name })).metadata.name, name)
      yield* client.delete(ClusterRole, { name })
    }).pipe(Effect.provide(served)))
})
