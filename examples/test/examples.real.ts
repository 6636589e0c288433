import { KubeClient } from "@effect-operator/core"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
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
          yield* Story.play(example, { cleanup: true, afterwards: Effect.void })

          const client = yield* KubeClient.KubeClient
          const events = yield* Stream.runCollect(client.list(Event, { namespace: "default" }))
          const own = events.filter(({ reportingController }) => reportingController === example.controllers[0]!.name)
          assert.isAtLeast(own.length, 8, "the operator's events are recorded")
          for (const event of own) {
            assert.strictEqual(event.type, "Normal")
            assert.include(example.resources.map(({ kind }) => kind), event.regarding?.kind)
            assert.match(event.eventTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
          }
        }),
      120_000
    )
  }
})
