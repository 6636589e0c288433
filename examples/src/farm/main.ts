import { Manager } from "@effect-operator/core"
import { ApiService, LiveClient, runMain } from "@effect-operator/k8s"
import { Layer } from "effect"
import { manifests } from "../Example.ts"
import { farm, server } from "./api.ts"
import { example } from "./example.ts"

/** The operator that `effect-operator` deploys, checks and runs. */
export const operator = manifests(example)

if (import.meta.main) {
  // Outside a cluster it must run on the host of the API server, or the aggregator cannot reach it.
  const localhost = process.env["KUBERNETES_SERVICE_HOST"] === undefined
  Manager.layer([]).pipe(
    Layer.provide(ApiService.layer(farm, { ...server, localhost })),
    Layer.provide(LiveClient.layer),
    Manager.launch,
    runMain
  )
}
