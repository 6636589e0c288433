import { Manager } from "@effect-operator/core"
import { LiveClient, runMain } from "@effect-operator/k8s"
import { Layer } from "effect"
import { manifests } from "../Example.ts"
import { example } from "./example.ts"
import { controller } from "./reconciler.ts"

/** The operator that `effect-operator` deploys, checks and runs. */
export const operator = manifests(example)

if (import.meta.main) {
  Manager.layer([controller]).pipe(Layer.provide(LiveClient.layer), Manager.launch, runMain)
}
