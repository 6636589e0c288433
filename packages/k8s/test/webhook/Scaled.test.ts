import { CustomResource, KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as Manifests from "../../src/Manifests.ts"
import { TestCluster, TestWebhooks } from "../../src/testing/index.ts"
import * as Webhook from "../../src/Webhook.ts"
import type * as Hook from "../../src/webhook/Hook.ts"
import { Database, service } from "./support.ts"

/** The replicas are somewhere of their own. */
const Queue = CustomResource.make({
  group: "shop.example.com",
  version: "v1",
  kind: "Queue",
  spec: Schema.Struct({
    workers: Schema.optionalKey(Schema.Struct({ count: Schema.optionalKey(Schema.Int), image: Schema.String })),
    durable: Schema.Boolean
  }),
  status: Schema.Struct({ workers: Schema.Int }),
  scale: { specReplicasPath: ".spec.workers.count", statusReplicasPath: ".status.workers" }
})

const seen: Array<unknown> = []

const hook = (scale: boolean) =>
  Webhook.validating(Queue, {
    scale,
    validate: Effect.fnUntraced(function*({ object, old, raw, subresource, user }) {
      seen.push({ subresource, old: old?.spec, object: object.spec, user: user.username !== "" })
      assert.strictEqual(raw.object?.["kind"], "Queue")
      const count = object.spec.workers?.count ?? 0
      if (old?.spec.durable === true && count < (old.spec.workers?.count ?? 0)) {
        return yield* Webhook.deny("a durable queue may not shrink", {
          causes: [{ field: "spec.workers.count", message: `must be ${old.spec.workers?.count} at least` }]
        })
      }
    })
  })

const installed = (hooks: ReadonlyArray<Hook.Any>) =>
  Layer.effectDiscard(Webhook.install(hooks, { name: "queues", reachable: { service } })).pipe(
    Layer.provideMerge(Webhook.layer(hooks, { name: "queues", service })),
    Layer.provide(TestWebhooks.layer),
    Layer.provideMerge(TestCluster.layer({ resources: [Queue] }))
  )

const key = { namespace: "default", name: "a" }

const scaled = Effect.fnUntraced(function*(replicas: number) {
  const client = yield* KubeClient.KubeClient
  yield* client.patch(Queue, key, KubeClient.Patch.merge({ spec: { replicas } }) as never, { subresource: "scale" })
  const { spec } = yield* client.get(Queue, key)
  return spec.workers?.count
})

const made = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  yield* client.create(Queue, { metadata: key, spec: { durable: true, workers: { count: 3, image: "i" } } })
  seen.length = 0
})

describe("a hook with scale", () => {
  it.effect("judges a scale as the change of the object that it is", () =>
    Effect.gen(function*() {
      yield* made
      const { message } = yield* Effect.flip(scaled(1))
      assert.include(message, "denied the request: a durable queue may not shrink")
      assert.deepStrictEqual(seen, [{
        subresource: "scale",
        old: { durable: true, workers: { count: 3, image: "i" } },
        object: { durable: true, workers: { count: 1, image: "i" } },
        user: true
      }])
      assert.strictEqual(yield* scaled(5), 5)
      assert.include((yield* Effect.flip(scaled(0))).message, "may not shrink")
    }).pipe(Effect.provide(installed([hook(true)]))))

  it.effect("without it, nobody is asked", () =>
    Effect.gen(function*() {
      yield* made
      assert.strictEqual(yield* scaled(1), 1)
      assert.deepStrictEqual(seen, [])
    }).pipe(Effect.provide(installed([hook(false)]))))

  it("is registered for it, and may read the kind", () => {
    const options = (scale: boolean): Manifests.Options => ({
      name: "queues",
      namespace: "queues-system",
      image: "example.com/queues:1",
      resources: [Queue],
      controllers: [],
      writes: [],
      leaderElection: false,
      webhooks: [hook(scale)]
    })
    assert.deepStrictEqual(hook(true).registration?.resources, ["queues", "queues/scale"])
    const reads = { apiGroups: ["shop.example.com"], resources: ["queues"], verbs: ["get"] }
    assert.deepInclude(Manifests.rules(options(true))[""]!, reads)
    assert.notDeepInclude(Manifests.rules(options(false))[""]!, reads)
  })

  it("is for kinds that can be scaled, and for updates", () => {
    const validate = () => Effect.void
    assert.throws(() => Webhook.validating(Database, { scale: true, validate }), /declared without `scale`/)
    assert.throws(() => Webhook.validating(Queue, { scale: true, operations: ["CREATE"], validate }), /contain UPDATE/)
  })
})
