import { KubeClient, Manager } from "@effect-operator/core"
import { type KubeObject } from "@effect-operator/core/KubeObject"
import * as CustomResource from "@effect-operator/core/CustomResource"
import { Crd } from "@effect-operator/k8s"
import { CustomResourceDefinition } from "@effect-operator/k8s/kinds"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { controllers } from "../src/contracts/controllers.ts"
import { example } from "../src/contracts/example.ts"
import { CloudMachine, Machine, MetalMachine } from "../src/contracts/resource.ts"
import { all, assertQuiet, cluster, crashAtWrite, operated } from "./support/Operator.ts"

const namespace = "default"
const key = { namespace, name: "worker" }

const refer = (kind: string, name: string, apiVersion = "contracts.example.com/v1") =>
  KubeClient.KubeClient.use((client) => {
    const spec = { infrastructureRef: { apiVersion, kind, name } }
    return client.create(Machine, { metadata: key, spec }).pipe(
      Effect.catchReason(
        "KubeError",
        "AlreadyExists",
        () => client.patch(Machine, key, KubeClient.Patch.merge({ spec }))
      )
    )
  })

const cloud = (name: string) =>
  KubeClient.KubeClient.use((client) =>
    client.create(CloudMachine, { metadata: { namespace, name }, spec: { flavor: "m1" } })
  )

const metal = (name: string) =>
  KubeClient.KubeClient.use((client) =>
    client.create(MetalMachine, { metadata: { namespace, name }, spec: { rack: "r7" } })
  )

const status = KubeClient.KubeClient.use((client) => Effect.map(client.get(Machine, key), ({ status }) => status!))

const because = Effect.map(status, ({ conditions }) => `${conditions[0]!.reason}: ${conditions[0]!.message}`)

it.effect("runs on any kind that keeps the contract, and moves from one to another", () =>
  Effect.gen(function*() {
    yield* refer("CloudMachine", "small")
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* because, "NotFound: there is no CloudMachine small")
    yield* cloud("small")
    yield* TestClock.adjust("30 seconds")
    const [infrastructure] = yield* all(CloudMachine)
    assert.deepInclude(yield* status, { ready: true, providerID: infrastructure!.spec.providerID! })

    yield* metal("big")
    yield* refer("MetalMachine", "big")
    yield* TestClock.adjust("10 millis")
    assert.strictEqual(yield* because, "NotReady: waits for MetalMachine big")
    assert.isFalse((yield* status).ready)
    // It is woken by the infrastructure: nothing else happens to it now.
    yield* TestClock.adjust("4 seconds")
    assert.deepInclude(yield* status, { ready: true, providerID: "metal://r7/big" })
    yield* assertQuiet

    yield* KubeClient.KubeClient.use((client) => client.delete(Machine, key))
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual([...yield* all(Machine), ...yield* all(CloudMachine), ...yield* all(MetalMachine)], [])
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

/** A kind that the operator was not built with. */
const Balloon = CustomResource.make({
  group: "balloons.example.org",
  version: "v1beta1",
  kind: "BalloonMachine",
  spec: Schema.Struct({ providerID: Schema.optionalKey(Schema.Unknown) }),
  status: Schema.Struct({ ready: Schema.Unknown })
})

const balloon = (spec: unknown, ready: unknown) =>
  KubeClient.KubeClient.use((client) =>
    Effect.gen(function*() {
      const at = { namespace, name: "red" }
      yield* client.patch(Balloon, at, KubeClient.Patch.merge({ spec }))
      yield* client.patch(Balloon, at, KubeClient.Patch.merge({ status: { ready } }), { subresource: "status" })
      yield* TestClock.adjust("20 seconds")
    })
  )

it.effect("takes kinds that come while it runs, says how they break the contract, and forgets those that go", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const server = yield* ApiServer.ApiServer
    yield* TestClock.adjust("1 minute")
    const watchers = yield* server.watchers
    yield* refer(Balloon.kind, "red", Balloon.apiVersion)
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* because, "KindMissing: there is no kind BalloonMachine of balloons.example.org/v1beta1")

    yield* Crd.install(Balloon).pipe(Effect.forkChild({ startImmediately: true }))
    yield* TestClock.adjust("30 seconds")
    assert.strictEqual(yield* because, "NotFound: there is no BalloonMachine red")
    yield* client.create(Balloon, { metadata: { namespace, name: "red" }, spec: {} })
    yield* TestClock.adjust("20 seconds")
    assert.strictEqual(yield* because, "NotReady: waits for BalloonMachine red")
    assert.strictEqual(yield* server.watchers, watchers + 1)

    yield* balloon({}, true)
    assert.strictEqual(yield* because, "ContractBroken: BalloonMachine red is ready and has no spec.providerID")
    yield* balloon({ providerID: 7 }, true)
    assert.strictEqual(
      yield* because,
      "ContractBroken: BalloonMachine red: spec.providerID must be text, status.ready a boolean"
    )
    yield* balloon({ providerID: "air://red" }, true)
    assert.deepInclude(yield* status, { ready: true, providerID: "air://red" })

    yield* client.delete(Machine, key)
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(yield* server.watchers, watchers, "the watch went with the last reference")
    yield* client.delete(CustomResourceDefinition, { name: "balloonmachines.balloons.example.org" })
    yield* TestClock.adjust("1 minute")
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("a kind without namespaces keeps no contract", () =>
  Effect.gen(function*() {
    const Sky = CustomResource.make({
      group: "balloons.example.org",
      version: "v1",
      kind: "Sky",
      scope: "Cluster",
      spec: Schema.Struct({ providerID: Schema.optionalKey(Schema.String) })
    })
    yield* Crd.install(Sky).pipe(Effect.forkChild({ startImmediately: true }))
    yield* refer(Sky.kind, "blue", Sky.apiVersion)
    yield* TestClock.adjust("30 seconds")
    assert.strictEqual(
      yield* because,
      "ContractBroken: Sky is cluster-scoped: infrastructure lives in the namespace of its Machine"
    )
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("what comes and goes while its watch is away is seen all the same", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const server = yield* ApiServer.ApiServer
    yield* refer(CloudMachine.kind, "small")
    yield* cloud("small")
    yield* TestClock.adjust("30 seconds")
    assert.isTrue((yield* status).ready)
    yield* server.endWatches()
    yield* client.delete(CloudMachine, { namespace, name: "small" })
    yield* server.compact()
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(yield* because, "NotFound: there is no CloudMachine small")
  }).pipe(Effect.provide(operated(example))))

it.effect("does not take what belongs to another Machine", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* refer("CloudMachine", "small")
    yield* cloud("small")
    yield* TestClock.adjust("30 seconds")
    const other = { namespace, name: "other" }
    const { spec } = yield* client.get(Machine, key)
    yield* client.create(Machine, { metadata: other, spec })
    yield* TestClock.adjust("30 seconds")
    const { conditions } = (yield* client.get(Machine, other)).status!
    assert.deepInclude(conditions[0], {
      reason: "ContractBroken",
      message: "CloudMachine small belongs to Machine worker"
    })
    assert.isTrue((yield* status).ready)
  }).pipe(Effect.provide(operated(example))))

it.effect("converges after a crash at any of its writes", () =>
  Effect.gen(function*() {
    let n = 0
    let writes = 0
    do {
      n += 1
      yield* Effect.gen(function*() {
        yield* refer("MetalMachine", "big")
        yield* metal("big")
        writes = yield* crashAtWrite(example, n, TestClock.adjust("1 minute"))
        yield* Layer.build(Manager.layer(controllers))
        yield* TestClock.adjust("1 minute")
        assert.deepInclude(yield* status, { ready: true, providerID: "metal://r7/big" })
        const [infrastructure] = (yield* all(MetalMachine)) as ReadonlyArray<KubeObject>
        assert.strictEqual(infrastructure!.metadata.ownerReferences?.length, 1)
        yield* assertQuiet
      }).pipe(Effect.scoped, Effect.provide(cluster(example)))
    } while (writes === n)
    assert.isAbove(n, 5)
  }))
