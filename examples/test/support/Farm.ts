/**
 * The farm under fault exploration: whatever goes wrong between the operator and the cluster, a client that follows the
 * FarmPods sees one for every Pod, and no others. What that client knows is the scenario's `outside`.
 */
import { KubeClient, Manager } from "@effect-operator/core"
import type { Request } from "@effect-operator/core/Transport"
import { farm, server } from "@effect-operator/examples/farm/api"
import type { FarmPod } from "@effect-operator/examples/farm/resource"
import { ApiService } from "@effect-operator/k8s"
import { Pod } from "@effect-operator/k8s/kinds"
import { External, type Simulation } from "@effect-operator/k8s/testing"
import { Effect, Layer, Stream } from "effect"

const watch: Request = {
  method: "GET",
  path: "/apis/farm.example.com/v1alpha/farmpods",
  query: [["watch", "true"]],
  headers: { "x-remote-user": "admin", "x-remote-group": "system:masters" }
}

interface Event {
  readonly type: string
  readonly object: FarmPod
}

/** What the client knows: containers by name. */
const known = External.state("farmpods", () => new Map<string, number>())

/** Serves the API to one client in the operator's own process. */
const listener = Layer.succeed(ApiService.Listener, {
  listen: (handler) =>
    Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.gen(function*() {
      const pods = yield* known
      const { events } = yield* handler(watch)
      if (events !== undefined) {
        pods.clear()
        yield* Stream.runForEach(events as Stream.Stream<Event>, ({ object: { metadata, spec }, type }) =>
          Effect.sync(() => {
            if (type === "DELETED") {
              pods.delete(metadata.name)
            } else pods.set(metadata.name, spec.containers)
          }))
      }
      yield* Effect.sleep("1 second")
    }))))
})

const names = ["hay", "straw", "oats"]

const run = (name: string, containers: number) =>
  KubeClient.KubeClient.use((client) =>
    client.create(Pod, {
      metadata: { namespace: "default", name },
      spec: { containers: names.slice(0, containers).map((name) => ({ name, image: "pause" })) }
    })
  )

const remove = (name: string) =>
  KubeClient.KubeClient.use((client) => client.delete(Pod, { namespace: "default", name }, { gracePeriodSeconds: 0 }))

const shows: Simulation.Step["desired"] = (objects, _, outside) => {
  const pods = objects.filter((object): object is Pod => object.kind === Pod.kind)
  const seen = outside.get("farmpods") as ReadonlyMap<string, number> | undefined
  return seen?.size === pods.length &&
    pods.every(({ metadata: { name }, spec }) => seen.get(`farm-${name}`) === spec.containers.length)
}

export const scenario: Simulation.Scenario = {
  name: "farm",
  resources: [],
  operator: Layer.provideMerge(Manager.layer([]), ApiService.layer(farm, server)).pipe(Layer.provide(listener)),
  steps: [
    { name: "run a Pod of two containers", act: run("barn", 2), desired: shows },
    { name: "run another", act: run("stable", 1), desired: shows },
    {
      name: "delete the first, and run one of its name",
      act: Effect.andThen(remove("barn"), run("barn", 3)),
      desired: shows
    },
    { name: "delete the other", act: remove("stable"), desired: shows }
  ]
}
