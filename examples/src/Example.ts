/**
 * What an example is: an operator, how it is deployed, and a story that shows what it does.
 */
import {
  type Controller,
  type CustomResource,
  KubeClient,
  type KubeError,
  type KubeObject,
  Manager,
  type Resource
} from "@effect-operator/core"
import { ApiService, type Manifests } from "@effect-operator/k8s"
import type { Kubelet } from "@effect-operator/k8s/testing"
import { Effect, Layer } from "effect"

/** One thing a person does, and what the operator is expected to make of it. */
export interface Step {
  /** `scale up from 2 to 5`. */
  readonly title: string
  readonly act: Effect.Effect<unknown, KubeError.KubeError, KubeClient.KubeClient>
  /** Removes what the story made: left out while the operator keeps running for you to try. */
  readonly cleanup?: boolean
  /** Whether the cluster is as it should be, judged from the objects the story is about, now and before the step. */
  readonly done: (
    objects: ReadonlyArray<KubeObject.KubeObject>,
    before: ReadonlyArray<KubeObject.KubeObject>
  ) => boolean
}

export interface Example {
  readonly name: string
  readonly resources: ReadonlyArray<CustomResource.CustomResource>
  readonly controllers: ReadonlyArray<Controller.Controller>
  readonly writes: Manifests.Options["writes"]
  /** The API that the operator serves itself, and how. */
  readonly serves?: { readonly api: ApiService.Api; readonly server: ApiService.ServerOptions }
  /** An object to start with. */
  readonly sample: Manifests.Manifest
  /** The kinds the story is about. */
  readonly follows: ReadonlyArray<Resource.Any>
  /** Whether an object belongs to the story, and not to somebody else in the same cluster. */
  readonly concerns: (object: KubeObject.KubeObject) => boolean
  /** How its Pods behave where they are simulated: they run, and do not end, unless this says otherwise. */
  readonly kubelet?: Kubelet.Options
  /** What to type in another terminal while it runs. */
  readonly tryIt: ReadonlyArray<string>
  readonly story: ReadonlyArray<Step>
}

/** How the manifests of an example are made. */
export const manifests = (example: Example): Manifests.Options => ({
  name: `${example.name}-operator`,
  namespace: `${example.name}-system`,
  image: `effect-operator/${example.name}:0.1.0`,
  resources: example.resources,
  controllers: example.controllers,
  writes: example.writes,
  // What is served is in the memory of one process: there is nobody to elect.
  ...(example.serves === undefined ? {} : { apiService: example.serves.api, leaderElection: false })
})

/** The operator of an example; `localhost`: beside the cluster, see `ApiService.ServerOptions`. */
export const operatorOf = (
  { controllers, serves }: Example,
  options: Pick<ApiService.ServerOptions, "localhost" | "address" | "closeGrace"> = {}
): Layer.Layer<Manager.Manager, never, KubeClient.KubeClient> =>
  serves === undefined
    ? Manager.layer(controllers)
    : Layer.provide(Manager.layer(controllers), ApiService.layer(serves.api, { ...serves.server, ...options }))

/** Creates an object, or gives the one that is there the same spec: a story may be told twice on one cluster. */
export const ensure = <A extends KubeObject.KubeObject>(
  resource: Resource.Resource<A>,
  object: Resource.Input<A> & { readonly metadata: KubeObject.ObjectKey; readonly spec: unknown }
) =>
  KubeClient.KubeClient.use((client) =>
    client.create(resource, object).pipe(
      Effect.catchReason(
        "KubeError",
        "AlreadyExists",
        () => client.patch(resource, object.metadata, KubeClient.Patch.merge({ spec: object.spec }))
      )
    )
  )

/** Whether an object that was there before the step is not there any more. */
export const someGone = (
  objects: ReadonlyArray<KubeObject.KubeObject>,
  before: ReadonlyArray<KubeObject.KubeObject>
): boolean => {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid))
  return before.some(({ metadata }) => !uids.has(metadata.uid))
}
