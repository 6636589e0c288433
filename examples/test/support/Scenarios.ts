/** The examples as scenarios of a simulation: their operators, their stories, and what the stories expect. */
import { Manager } from "@effect-operator/core"
import { example as autoscaler } from "@effect-operator/examples/autoscaler/example"
import type { Example } from "@effect-operator/examples/Example"
import { examples } from "@effect-operator/examples/examples"
import type { Simulation } from "@effect-operator/k8s/testing"
import { controller as naive } from "./NaiveAutoscaler.ts"

export const scenarioOf = ({ controllers, kubelet, name, resources, story }: Example): Simulation.Scenario => ({
  name,
  resources,
  cluster: { kubelet },
  operator: Manager.layer(controllers),
  steps: story.map(({ act, done, title }) => ({ name: title, act, desired: done }))
})

export const scenarios: ReadonlyArray<Simulation.Scenario> = [
  ...examples.map(scenarioOf),
  // Scaling up is all it can do.
  scenarioOf({ ...autoscaler, name: "naive-autoscaler", controllers: [naive], story: autoscaler.story.slice(0, 2) })
]
