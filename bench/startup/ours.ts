/** A minimal operator that reports its first reconcile. `main.ts URL` */
import * as Action from "@effect-operator/core/Action"
import * as Controller from "@effect-operator/core/Controller"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Manager from "@effect-operator/core/Manager"
import * as Resource from "@effect-operator/core/Resource"
import * as LiveClient from "@effect-operator/k8s/LiveClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { report } from "./report.ts"

const Widget = Resource.make<KubeObject>()({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

const controller = Controller.make("widgets", {
  for: Widget,
  reconcile: () => Effect.as(Effect.sync(report), Action.done)
})

Effect.runFork(
  Manager.layer([controller]).pipe(Layer.provide(LiveClient.layerOptions({ server: process.argv[2] })), Layer.launch)
)
