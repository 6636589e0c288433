import { Manager } from "@effect-operator/core"
import { LiveClient, runMain } from "@effect-operator/k8s"
import { Layer } from "effect"
import { controller } from "./reconciler.ts"

Manager.layer([controller]).pipe(Layer.provide(LiveClient.layer), Manager.launch, runMain)
