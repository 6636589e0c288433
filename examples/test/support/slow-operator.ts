/** An operator whose reconcile takes until its object wants two replicas. */
import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { LiveClient, runMain } from "@effect-operator/k8s"
import { Effect, Layer, Schedule } from "effect"
import { Autoscaler } from "../../src/autoscaler/resource.ts"

const slow = Controller.make("slow", {
  for: Autoscaler,
  reconcile: Effect.fnUntraced(function*({ metadata }) {
    const client = yield* KubeClient.KubeClient
    yield* Effect.repeat(client.get(Autoscaler, metadata), {
      until: ({ spec }) => spec.desiredReplicas === 2,
      schedule: Schedule.spaced("50 millis")
    })
    yield* Effect.log("finished")
    return Action.done
  })
})

Manager.layer([slow]).pipe(Layer.provide(LiveClient.layer), Manager.launch, runMain)
