import { KubeClient } from "@effect-operator/core"
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Stream } from "effect"
import { ensure, type Example, someGone } from "../Example.ts"
import { controller, owner } from "./reconciler.ts"
import { Autoscaler } from "./resource.ts"

const sample = {
  apiVersion: Autoscaler.apiVersion,
  kind: Autoscaler.kind,
  metadata: { namespace: "default", name: "web" },
  spec: { targetNamespace: "default", desiredReplicas: 2, image: "nginx:1.27" }
}
const { metadata: key } = sample

const scale = (desiredReplicas: number) =>
  KubeClient.KubeClient.use((client) =>
    client.patch(Autoscaler, key, KubeClient.Patch.merge({ spec: { desiredReplicas } }))
  )

const podsOf = (objects: ReadonlyArray<KubeObject>) =>
  objects.filter((object) => object.kind === "Pod" && owner.key in (object.metadata.labels ?? {}))

/** Exactly `count` Pods, none of them terminating, and the status agrees. */
const settledAt = (count: number) => (objects: ReadonlyArray<KubeObject>) => {
  const pods = podsOf(objects)
  const autoscaler = objects.find(({ kind }) => kind === "Autoscaler") as Autoscaler | undefined
  return pods.length === count && !pods.some(isTerminating) && autoscaler?.status?.availableReplicas === count
}

export const example: Example = {
  name: "autoscaler",
  sample,
  follows: [Autoscaler, Pod],
  concerns: (object) => object.kind === "Autoscaler" || podsOf([object]).length > 0,
  tryIt: [
    "kubectl get autoscalers -w",
    `kubectl patch autoscaler ${key.name} --type merge -p '{"spec":{"desiredReplicas":4}}'`,
    "kubectl get pods",
    `kubectl delete autoscaler ${key.name}`
  ],
  resources: [Autoscaler],
  controllers: [controller],
  writes: [{ resource: Pod, verbs: ["create", "delete"] }],
  story: [
    {
      title: "apply an Autoscaler that wants 2 replicas",
      act: ensure(Autoscaler, { metadata: key, spec: sample.spec }),
      done: settledAt(2)
    },
    { title: "scale up from 2 to 5", act: scale(5), done: settledAt(5) },
    { title: "scale down from 5 to 2", act: scale(2), done: settledAt(2) },
    {
      title: "delete a Pod by hand: it is replaced",
      act: KubeClient.KubeClient.use((client) =>
        client.list(Pod, { namespace: "default", labels: owner.key }).pipe(
          Stream.take(1),
          Stream.runForEach((pod) => client.delete(Pod, pod, { gracePeriodSeconds: 0 }))
        )
      ),
      done: (objects, before) => settledAt(2)(objects) && someGone(objects, before)
    },
    {
      title: "delete the Autoscaler: its Pods go first",
      cleanup: true,
      act: KubeClient.KubeClient.use((client) => client.delete(Autoscaler, key)),
      done: (objects) => podsOf(objects).length === 0 && !objects.some(({ kind }) => kind === "Autoscaler")
    }
  ]
}
