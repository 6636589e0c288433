import { Manager } from "@effect-operator/core"
import { LiveClient, type Manifests, runMain } from "@effect-operator/k8s"
import { Deployment } from "@effect-operator/k8s/kinds"
import { Layer } from "effect"
import { controller as website } from "./website/reconciler.ts"
import { Website } from "./website/resource.ts"

/** The operator. `effect-operator dev`, `manifests` and `check` read this declaration. */
export const operator = {
  name: "demo",
  namespace: "demo-system",
  image: "demo:0.1.0",
  resources: [Website],
  controllers: [website],
  // Permissions beyond those that follow from the controllers: here, for the objects that the reconciler writes.
  writes: [{ resource: Deployment, verbs: ["create", "patch", "delete"] }]
} satisfies Manifests.Options

if (import.meta.main) {
  Manager.layer(operator.controllers).pipe(Layer.provide(LiveClient.layer), Manager.launch, runMain)
}
