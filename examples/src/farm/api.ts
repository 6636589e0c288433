import { ApiService, Manifests } from "@effect-operator/k8s"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { FarmPod, Llama } from "./resource.ts"

/** The initial objects. */
const herd: ReadonlyArray<ApiService.Computed<Llama>> = [
  { metadata: { namespace: "default", name: "dolly" }, spec: { weight: 130.5, height: 1.1 } },
  { metadata: { namespace: "default", name: "paco" }, spec: { weight: 155, height: 1.25 } }
]

const llamas = ApiService.stored(Llama, {
  initial: herd,
  update: (llama, before) =>
    llama.spec.height < before.spec.height
      ? Effect.fail(new ApiService.Refused({ message: "a llama does not shrink" }))
      : Effect.succeed(llama)
})

const farmPods = ApiService.derived(FarmPod, {
  from: Pod,
  make: ({ apiVersion, kind, metadata: { creationTimestamp, name, namespace, uid }, spec: { containers } }) => ({
    metadata: {
      name: `farm-${name}`,
      namespace,
      creationTimestamp,
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }]
    },
    spec: { containers: containers.length }
  })
})

/** The API that the operator serves. */
export const farm = ApiService.make({ group: "farm.example.com", version: "v1alpha", kinds: [llamas, farmPods] })

const name = "farm-operator"

/** The Service through which the aggregator reaches it, as in the manifests. */
export const server: ApiService.ServerOptions = {
  name,
  service: Manifests.apiServiceService({ name, namespace: "farm-system" })
}
