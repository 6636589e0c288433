import { KubeClient } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { Effect } from "effect"
import { ensure, type Example } from "../Example.ts"
import { controller, label } from "./reconciler.ts"
import { Autoscaler } from "./resource.ts"

const sample = {
  apiVersion: Autoscaler.apiVersion,
  kind: Autoscaler.kind,
  metadata: { namespace: "default", name: "web" },
  spec: { selector: { app: "observed" }, minReplicas: 1, maxReplicas: 2 }
}
const { metadata: key } = sample
const labels = { app: "observed", [label]: key.name }

const start = (name: string) =>
  KubeClient.KubeClient.use((client) =>
    client.create(Pod, {
      metadata: { namespace: key.namespace, name, labels },
      spec: { containers: [{ name: "app", image: "nginx:1.27" }] }
    })
  )

const stop = (name: string) =>
  KubeClient.KubeClient.use((client) =>
    client.delete(Pod, { namespace: key.namespace, name }, { gracePeriodSeconds: 0 })
  )

const says = (message: string) => (objects: ReadonlyArray<KubeObject>) =>
  objects.some((object) => (object as Autoscaler).status?.message === message)

const concerns = ({ kind, metadata }: KubeObject) => kind === Autoscaler.kind || metadata.labels?.[label] === key.name

export const example: Example = {
  name: "autoscaler-observing",
  sample,
  follows: [Autoscaler, Pod],
  concerns,
  tryIt: [
    "kubectl get autoscalers.scaling.example.com -w",
    "kubectl run another --image nginx --labels app=observed",
    `kubectl delete autoscalers.scaling.example.com ${key.name}`
  ],
  resources: [Autoscaler],
  controllers: [controller],
  writes: [],
  story: [
    {
      title: "apply an Autoscaler of Pods that are not there",
      act: ensure(Autoscaler, { metadata: key, spec: sample.spec }),
      done: says("Scaling from 0 to 1 replicas")
    },
    { title: "start a Pod: it is seen at once", act: start("observed-1"), done: says("Running 1 replicas") },
    {
      title: "start two more: that is one too many",
      act: Effect.andThen(start("observed-2"), start("observed-3")),
      done: says("Scaling from 3 to 2 replicas")
    },
    { title: "stop one", act: stop("observed-3"), done: says("Running 2 replicas") },
    {
      title: "delete everything",
      cleanup: true,
      act: Effect.all([
        KubeClient.KubeClient.use((client) => client.delete(Autoscaler, key)),
        stop("observed-1"),
        stop("observed-2")
      ]),
      done: (objects) => !objects.some(concerns)
    }
  ]
}
