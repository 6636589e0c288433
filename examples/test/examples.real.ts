import { KubeClient, type Resource } from "@effect-operator/core"
import { Crd } from "@effect-operator/k8s"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { Kubelet } from "@effect-operator/k8s/testing"
import * as Envtest from "@effect-operator/k8s/testing/Envtest"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule, Stream } from "effect"
import { examples } from "../src/examples.ts"
import * as Story from "../src/Story.ts"

const kinds = [...new Map(examples.flatMap(({ resources }) => resources).map((kind) => [kind.id, kind])).values()]

const labels = { "example.com/canary": "true" }

/** Belongs to an object that is not there: whoever collects garbage takes it away, once it knows the owner's kind. */
const canary = ({ apiVersion, kind }: Resource.Any, index: number) =>
  KubeClient.KubeClient.use((client) =>
    client.create(ConfigMap, {
      metadata: {
        namespace: "default",
        name: `canary-${index}`,
        labels,
        ownerReferences: [{ apiVersion, kind, name: "nobody", uid: "00000000-0000-4000-8000-000000000000" }]
      }
    })
  )

/** All kinds of the examples, which the garbage collector learns of every half minute. */
const installed = Layer.effectDiscard(Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  yield* Effect.forEach(kinds, (kind) => Crd.install(kind))
  yield* Effect.forEach(kinds, canary)
  yield* Stream.runCollect(client.list(ConfigMap, { namespace: "default", labels })).pipe(
    Effect.repeat({ until: (left) => left.length === 0, schedule: Schedule.spaced("200 millis") })
  )
}))

const cluster = installed.pipe(Layer.provideMerge(Envtest.clientLayer), Layer.provideMerge(Envtest.layer))

layer(cluster, { excludeTestServices: true, timeout: "120 seconds" })("on a real kube-apiserver", (it) => {
  for (const example of examples) {
    it.effect(
      `${example.name}: every step of its story converges, to the same end as in memory`,
      () =>
        Effect.gen(function*() {
          // What runs the Pods is simulated, the controllers are kube-controller-manager's: on nodes that are not
          // there it would clear the Pods away.
          yield* Layer.build(Kubelet.layer({ ...example.kubelet, registerNodes: true }))
          yield* Story.play(example, { cleanup: true, afterwards: Effect.void })

          if (example.controllers.length === 0) return
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
        }).pipe(Effect.scoped)
    )
  }
})
