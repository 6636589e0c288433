/**
 * This framework: the live client, a reflector and its store, as in a manager. `ours` parses all objects, as the
 * baselines do; `lazy` leaves them as text until they are read; `checked` has a Schema for them, as custom resources
 * usually have.
 */
import * as CustomResource from "@effect-operator/core/CustomResource"
import * as Informers from "@effect-operator/core/Informers"
import * as Projection from "@effect-operator/core/Projection"
import * as Resource from "@effect-operator/core/Resource"
import * as Supervisor from "@effect-operator/core/Supervisor"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as LiveClient from "@effect-operator/k8s/LiveClient"
import * as KubeConfig from "@effect-operator/k8s/KubeConfig"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type Kind, listVersion } from "../fixture/Objects.ts"
import type { Contestant } from "./Contestant.ts"

const CheckedWidget = CustomResource.make({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({
    colour: Schema.String,
    mode: Schema.Literals(["Parallel", "Ordered"]),
    replicas: Schema.Int,
    size: Schema.Int
  }),
  status: Schema.Struct({ ready: Schema.Boolean })
})

const Widget = Resource.make<KubeObject>()({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

const Pod = Resource.make<KubeObject>()({ group: "", version: "v1", kind: "Pod", plural: "pods", scope: "Namespaced" })

const Lazy = { widgets: Projection.lazy(Widget), pods: Projection.lazy(Pod) }

const contestant = (resources: Readonly<Record<Kind, Resource.Any>>): Contestant => async ({ events, kind, url }) => {
  const cluster = await Effect.runPromise(KubeConfig.load({ server: url }))
  const layer = Effect.flatMap(
    Supervisor.make,
    (supervisor) => Layer.build(Layer.provide(Informers.layer(supervisor), LiveClient.layerCluster(cluster)))
  )
  let informer: Informers.Informer | undefined
  return {
    list: () =>
      new Promise<number>((resolve) => {
        Effect.runFork(Effect.scoped(Effect.gen(function*() {
          const informers = Context.get(yield* layer, Informers.Informers)
          informer = yield* informers.get({ resource: resources[kind] })
          yield* informer.synced
          resolve(informer.store.size)
          return yield* Effect.never
        })))
      }),
    watch: (start) =>
      new Promise<void>((resolve, reject) => {
        const { store } = informer!
        const last = String(listVersion + events)
        store.onChange(() => {
          if (store.resourceVersion === last) resolve()
        })
        start().catch(reject)
      })
  }
}

export const ours = contestant({ widgets: Widget, pods: Pod })
/** As `ours`, with objects that would be parsed when read, and are not read. */
export const lazy = contestant(Lazy)
export const checked = contestant({ widgets: CheckedWidget, pods: Pod })
