import { KubeClient } from "@effect-operator/core"
import { controllerOf, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Stream } from "effect"
import { ensure, type Example, someGone } from "../Example.ts"
import { controller } from "./reconciler.ts"
import { PodSet } from "./resource.ts"

const sample = {
  apiVersion: PodSet.apiVersion,
  kind: PodSet.kind,
  metadata: { namespace: "default", name: "sample" },
  spec: { replicas: 2 }
}
const { metadata: key } = sample

const scale = (replicas: number) =>
  KubeClient.KubeClient.use((client) => client.patch(PodSet, key, KubeClient.Patch.merge({ spec: { replicas } })))

const podsOf = (objects: ReadonlyArray<KubeObject>) =>
  objects.filter((object) => object.kind === "Pod" && controllerOf(object)?.kind === "PodSet")

/** Exactly `count` Pods, none of them terminating, and the status names them. */
const settledAt = (count: number) => (objects: ReadonlyArray<KubeObject>) => {
  const pods = podsOf(objects)
  const podset = objects.find(({ kind }) => kind === "PodSet") as PodSet | undefined
  const names = podset?.status?.podNames ?? []
  return pods.length === count && !pods.some(isTerminating) && podset?.status?.readyReplicas === count &&
    pods.every(({ metadata }) => names.includes(metadata.name))
}

export const example: Example = {
  name: "podset",
  sample,
  follows: [PodSet, Pod],
  concerns: (object) => object.kind === "PodSet" || podsOf([object]).length > 0,
  tryIt: [
    "kubectl get podsets -w",
    `kubectl scale podset ${key.name} --replicas 4`,
    "kubectl get pods",
    `kubectl delete podset ${key.name}`
  ],
  resources: [PodSet],
  controllers: [controller],
  writes: [{ resource: Pod, verbs: ["create", "delete"] }],
  story: [
    {
      title: "apply a PodSet that wants 2 replicas",
      act: ensure(PodSet, { metadata: key, spec: sample.spec }),
      done: settledAt(2)
    },
    { title: "scale up from 2 to 5", act: scale(5), done: settledAt(5) },
    { title: "scale down from 5 to 2", act: scale(2), done: settledAt(2) },
    {
      title: "delete a Pod by hand: it is replaced",
      act: KubeClient.KubeClient.use((client) =>
        client.list(Pod, { namespace: "default", labels: { app: "sample" } }).pipe(
          Stream.take(1),
          Stream.runForEach((pod) => client.delete(Pod, pod, { gracePeriodSeconds: 0 }))
        )
      ),
      done: (objects, before) => settledAt(2)(objects) && someGone(objects, before)
    },
    { title: "scale to zero", act: scale(0), done: settledAt(0) },
    {
      title: "delete the PodSet",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(PodSet, key)),
      done: (objects) => podsOf(objects).length === 0 && !objects.some(({ kind }) => kind === "PodSet")
    }
  ]
}
