import { KubeClient } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { Effect } from "effect"
import { ensure, type Example } from "../Example.ts"
import { controllers } from "./controllers.ts"
import { CloudMachine, Machine, MetalMachine } from "./resource.ts"

const reference = { apiVersion: CloudMachine.apiVersion, kind: CloudMachine.kind as string, name: "small" }
const sample = {
  apiVersion: Machine.apiVersion,
  kind: Machine.kind,
  metadata: { namespace: "default", name: "worker" },
  spec: { infrastructureRef: reference }
}
const { metadata: key } = sample
const { namespace } = key

const provider = (objects: ReadonlyArray<KubeObject>) => {
  const machine = objects.find(({ kind }) => kind === Machine.kind) as Machine | undefined
  return machine?.status?.ready === true ? machine.status.providerID : undefined
}

const concerns = ({ apiVersion }: KubeObject) => apiVersion === Machine.apiVersion

export const example: Example = {
  name: "contracts",
  sample,
  follows: [Machine, CloudMachine, MetalMachine],
  concerns,
  tryIt: [
    "kubectl get machines.contracts.example.com -w",
    "kubectl get cloudmachines,metalmachines",
    `kubectl delete machines.contracts.example.com ${key.name}`
  ],
  resources: [Machine, CloudMachine, MetalMachine],
  controllers,
  writes: [CloudMachine, MetalMachine].map((resource) => ({ resource, verbs: ["patch"] })),
  story: [
    {
      title: "apply a Machine whose infrastructure is not there: it says so",
      act: ensure(Machine, { metadata: key, spec: sample.spec }),
      done: (objects) => objects.some((object) => (object as Machine).status?.conditions?.[0]?.reason === "NotFound")
    },
    {
      title: "apply the infrastructure, a CloudMachine",
      act: ensure(CloudMachine, { metadata: { namespace, name: "small" }, spec: { flavor: "m1" } }),
      done: (objects) => provider(objects)?.startsWith("cloud://m1/") === true
    },
    {
      title: "the same Machine on another kind of infrastructure",
      act: Effect.andThen(
        ensure(MetalMachine, { metadata: { namespace, name: "big" }, spec: { rack: "r7" } }),
        KubeClient.KubeClient.use((client) =>
          client.patch(
            Machine,
            key,
            KubeClient.Patch.merge({ spec: { infrastructureRef: { kind: MetalMachine.kind, name: "big" } } })
          )
        )
      ),
      done: (objects) => provider(objects) === "metal://r7/big"
    },
    {
      title: "delete the Machine: its infrastructure goes with it",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(Machine, key)),
      done: (objects) => !objects.some(concerns)
    }
  ]
}
