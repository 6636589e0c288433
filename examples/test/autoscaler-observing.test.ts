import { KubeClient } from "@effect-operator/core"
import { Pod } from "@effect-operator/k8s/kinds"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { example } from "../src/autoscaler-observing/example.ts"
import { label } from "../src/autoscaler-observing/reconciler.ts"
import { Autoscaler } from "../src/autoscaler-observing/resource.ts"
import { operated } from "./support/Operator.ts"

const key = { namespace: "default", name: "web" }

const create = (spec: Autoscaler["spec"]) =>
  KubeClient.KubeClient.use((client) => client.create(Autoscaler, { metadata: key, spec }))

const start = (name: string, labels: Readonly<Record<string, string>>) =>
  KubeClient.KubeClient.use((client) =>
    client.create(Pod, {
      metadata: { namespace: "default", name, labels },
      spec: { containers: [{ name: "app", image: "nginx" }] }
    })
  )

const status = KubeClient.KubeClient.use((client) => Effect.map(client.get(Autoscaler, key), ({ status }) => status))

it.effect("counts the Pods that match all labels and are ready, within its bounds, in the status subresource", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create({ selector: { app: "web", tier: "front" }, minReplicas: 1, maxReplicas: 2 })
    yield* TestClock.adjust("10 millis")
    assert.deepStrictEqual(yield* status, {
      currentReplicas: 0,
      desiredReplicas: 1,
      message: "Scaling from 0 to 1 replicas"
    })
    for (const i of [1, 2, 3]) yield* start(`web-${i}`, { app: "web", tier: "front", [label]: "web" })
    yield* start("other", { app: "web", [label]: "web" })
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual(yield* status, {
      currentReplicas: 3,
      desiredReplicas: 2,
      message: "Scaling from 3 to 2 replicas"
    })
    yield* client.delete(Pod, { namespace: "default", name: "web-3" })
    yield* TestClock.adjust("10 millis")
    assert.strictEqual((yield* status)?.message, "Running 2 replicas", "a Pod that is going is gone")
  }).pipe(Effect.provide(operated(example))))

it.effect("sees Pods that do not name it within thirty seconds, and writes only what has changed", () =>
  Effect.gen(function*() {
    const server = yield* ApiServer.ApiServer
    yield* create({ selector: { app: "web" } })
    yield* TestClock.adjust("10 seconds")
    yield* start("web-1", { app: "web" })
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual((yield* status)?.currentReplicas, 0)
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual((yield* status)?.currentReplicas, 1)
    const before = yield* server.revision
    yield* TestClock.adjust("10 minutes")
    assert.strictEqual(yield* server.revision, before)
  }).pipe(Effect.provide(operated(example))))

it.effect("no labels select no Pods", () =>
  Effect.gen(function*() {
    yield* start("web-1", { app: "web" })
    yield* create({ selector: {} })
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* status)?.currentReplicas, 0)
  }).pipe(Effect.provide(operated(example))))
