import { KubeClient } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { ensure, type Example } from "../Example.ts"
import { farm, server } from "./api.ts"
import { FarmPod, Llama } from "./resource.ts"

const sample = {
  apiVersion: Llama.apiVersion,
  kind: Llama.kind,
  metadata: { namespace: "default", name: "kusco" },
  spec: { weight: 142, height: 1.2 }
}
const { metadata: key } = sample
const podKey = { namespace: "default", name: "barn" }
const container = (name: string) => ({ name, image: "registry.k8s.io/pause:3.9" })

const concerns = ({ kind, metadata: { name } }: KubeObject) => kind !== Pod.kind || name === podKey.name

const llama = (objects: ReadonlyArray<KubeObject>, name: string) =>
  objects.find(({ kind, metadata }) => kind === Llama.kind && metadata.name === name) as Llama | undefined

const farmPod = (objects: ReadonlyArray<KubeObject>) =>
  objects.find(({ kind, metadata }) => kind === FarmPod.kind && metadata.name === `farm-${podKey.name}`) as
    | FarmPod
    | undefined

export const example: Example = {
  name: "farm",
  sample,
  follows: [Llama, FarmPod, Pod],
  concerns,
  tryIt: [
    "kubectl get llamas -w",
    "kubectl get farmpods -A -o wide",
    "kubectl explain llama.spec",
    `kubectl patch llama ${key.name} --type merge -p '{"spec":{"height":0.5}}'`,
    `kubectl delete llama ${key.name}`
  ],
  resources: [],
  controllers: [],
  writes: [],
  serves: { api: farm, server },
  story: [
    {
      title: "the herd that the operator has in its memory is there",
      act: Effect.void,
      done: (objects) => llama(objects, "dolly")?.spec.weight === 130.5 && llama(objects, "paco") !== undefined
    },
    {
      title: `create Llama ${key.name}`,
      act: ensure(Llama, { metadata: key, spec: sample.spec }),
      done: (objects) => llama(objects, key.name)?.spec.weight === sample.spec.weight
    },
    {
      title: "it gains weight",
      act: KubeClient.KubeClient.use((client) =>
        client.patch(Llama, key, KubeClient.Patch.merge({ spec: { weight: 150 } }))
      ),
      done: (objects) => llama(objects, key.name)?.spec.weight === 150
    },
    {
      title: "run a Pod of two containers: it is a FarmPod, too",
      act: KubeClient.KubeClient.use((client) =>
        client.create(Pod, { metadata: podKey, spec: { containers: [container("hay"), container("straw")] } }).pipe(
          Effect.catchReason("KubeError", "AlreadyExists", () => Effect.void)
        )
      ),
      done: (objects) => farmPod(objects)?.spec.containers === 2
    },
    {
      title: "delete the Pod: its FarmPod goes with it",
      act: KubeClient.KubeClient.use((client) => client.delete(Pod, podKey)),
      done: (objects) => farmPod(objects) === undefined
    },
    {
      title: `delete Llama ${key.name}`,
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(Llama, key)),
      done: (objects) => llama(objects, key.name) === undefined
    }
  ]
}
