/** An operator whose every reconcile takes three seconds. */
import { Action, Controller, Manager } from "@effect-operator/core"
import { LiveClient, runMain } from "@effect-operator/k8s"
import { Effect, Layer } from "effect"
import { Autoscaler } from "../../src/autoscaler/resource.ts"

const slow = Controller.make("slow", {
  for: Autoscaler,
  reconcile: () => Effect.log("finished").pipe(Effect.delay("3 seconds"), Effect.as(Action.done))
})

Manager.layer([slow]).pipe(Layer.provide(LiveClient.layer), Manager.launch, runMain)
