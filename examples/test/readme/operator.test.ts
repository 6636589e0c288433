import { KubeClient, Manager } from "@effect-operator/core"
import { Pod } from "@effect-operator/k8s/kinds"
import { TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Autoscaler, controller } from "./operator.ts"

const operator = Manager.layer([controller]).pipe(Layer.provideMerge(TestCluster.layer({ resources: [Autoscaler] })))

it.effect("keeps three Pods running", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* client.create(Autoscaler, {
      metadata: { namespace: "default", name: "web" },
      spec: { targetNamespace: "default", desiredReplicas: 3, image: "nginx" }
    })
    yield* TestClock.adjust("1 minute")
    const { items } = yield* client.listPage(Pod, { namespace: "default" })
    assert.deepStrictEqual(items.map(({ status }) => status?.phase), ["Running", "Running", "Running"])
  }).pipe(Effect.provide(operator)))
