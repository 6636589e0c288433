import { KubeClient } from "@effect-operator/core"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { Kubelet } from "@effect-operator/k8s/testing"
import * as Envtest from "@effect-operator/k8s/testing/Envtest"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { examples } from "../src/examples.ts"
import * as Story from "../src/Story.ts"

const cluster = Envtest.clientLayer.pipe(Layer.provideMerge(Envtest.layer))

layer(cluster, { excludeTestServices: true, timeout: "120 seconds" })("on a real kube-apiserver", (it) => {
  for (const example of examples) {
    it.effect(
      `${example.name}: every step of its story converges, to the same end as in memory`,
      () =>
        Effect.gen(function*() {
          // There are no nodes: what runs the Pods is simulated, the controllers are kube-controller-manager's.
          yield* Layer.build(Kubelet.layer(example.kubelet))
          // A Job whose simulated Pod fails is told apart in memory only: see database.test.ts.
          const story = example.story.filter(({ title }) => title !== "an upgrade that fails is rolled back")
          yield* Story.play({ ...example, story }, { cleanup: true, afterwards: Effect.void })

          const client = yield* KubeClient.KubeClient
          const events = yield* Stream.runCollect(client.list(Event, { namespace: "default" }))
          const names = example.controllers.map(({ name }) => name)
          const own = events.filter(({ reportingController }) => names.includes(reportingController ?? ""))
          assert.isNotEmpty(own, "the operator's events are recorded")
          const few = example.name === "autoscaler" || example.name === "podset" ? 8 : 1
          assert.isAtLeast(own.length, few)
          for (const event of own) {
            assert.include(["Normal", "Warning"], event.type)
            assert.include(example.resources.map(({ kind }) => kind), event.regarding?.kind)
            assert.match(event.eventTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
          }
        }).pipe(Effect.scoped),
      300_000
    )
  }
})
