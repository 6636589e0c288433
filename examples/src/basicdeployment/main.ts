import { Manager } from "@effect-operator/core"
import { LiveClient, runMain } from "@effect-operator/k8s"
import { Layer } from "effect"
import { controllers } from "./reconciler.ts"

Manager.layer(controllers).pipe(Layer.provide(LiveClient.layer), Manager.launch, runMain)
