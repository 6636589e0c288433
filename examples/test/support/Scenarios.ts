/** The examples as scenarios of a simulation: their operators, their stories, and what the stories expect. */
import { Manager } from "@effect-operator/core"
import { example as autoscaler } from "@effect-operator/examples/autoscaler/example"
import type { Example } from "@effect-operator/examples/Example"
import { examples } from "@effect-operator/examples/examples"
import { example as podset } from "@effect-operator/examples/podset/example"
import { Autoscaler } from "@effect-operator/examples/autoscaler/resource"
import { PodSet } from "@effect-operator/examples/podset/resource"
import type { Pod } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { Schema } from "effect"
import { scenario as farm } from "./Farm.ts"
import { scenario as kronJobHistory } from "./KronJobHistory.ts"
import { controller as naive } from "./NaiveAutoscaler.ts"

/** Faults that a story has no answer to. */
const without: Readonly<Record<string, Simulation.Scenario["without"]>> = {
  // The Pods are what the people of the story make: nobody puts others in their place.
  "autoscaler-observing": ["podFailed", "podRemoved"]
}

export const scenarioOf = ({ controllers, kubelet, name, resources, story }: Example): Simulation.Scenario => ({
  name,
  resources,
  cluster: { kubelet },
  without: without[name],
  operator: Manager.layer(controllers),
  steps: story.map(({ act, done, title }) => ({ name: title, act, desired: done }))
})

/** PodSets whose sizes are drawn from the Schema, a narrower one: a thousand Pods would take long. */
const drawnPodSets: Simulation.Scenario = {
  ...scenarioOf({ ...podset, name: "podset-drawn", story: [] }),
  draws: Simulation.draws(PodSet, {
    spec: Schema.Struct({ replicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 })) }),
    desired: (set, objects) => objects.filter(({ kind }) => kind === "Pod").length === (set?.spec.replicas ?? 0)
  })
}

/** Autoscalers whose every field changes: the story keeps one image, and one namespace. */
const drawnAutoscalers: Simulation.Scenario = {
  ...scenarioOf({ ...autoscaler, name: "autoscaler-drawn", story: [] }),
  draws: Simulation.draws(Autoscaler, {
    spec: Schema.Struct({
      targetNamespace: Schema.Literals(["default", "kube-public"]),
      desiredReplicas: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })),
      image: Schema.Literals(["nginx:1.27", "nginx:1.28"])
    }),
    desired: (wanted, objects) => {
      const pods = objects.filter((object): object is Pod => object.kind === "Pod")
      return pods.length === (wanted?.spec.desiredReplicas ?? 0) &&
        pods.every(({ metadata, spec }) =>
          metadata.namespace === wanted?.spec.targetNamespace && spec.containers[0]?.image === wanted.spec.image
        ) &&
        (wanted === undefined || wanted.status?.availableReplicas === pods.length)
    }
  })
}

export const scenarios: ReadonlyArray<Simulation.Scenario> = [
  ...examples.filter(({ serves }) => serves === undefined).map(scenarioOf),
  farm,
  kronJobHistory,
  drawnPodSets,
  drawnAutoscalers,
  // Scaling up is all it can do.
  scenarioOf({ ...autoscaler, name: "naive-autoscaler", controllers: [naive], story: autoscaler.story.slice(0, 2) })
]
