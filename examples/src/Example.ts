/** An example: an operator, how it is deployed, and a story that shows what it does. */
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

/** Something a person does, and the state that the operator is expected to bring about. */
export interface Step {
  /** `scale up from 2 to 5`. */
  readonly title: string
  readonly act: Effect.Effect<unknown, KubeError.KubeError, KubeClient.KubeClient>
  /** Removes what the story created. Left out if the operator keeps running for you to try it. */
  readonly cleanup?: boolean
  /** Whether the cluster has reached the expected state, judged by the story's objects now and before the step. */
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
  /** The API that the operator serves itself, and how it is served. */
  readonly serves?: { readonly api: ApiService.Api; readonly server: ApiService.ServerOptions }
  /** The object that the story starts with. */
  readonly sample: Manifests.Manifest
  /** The kinds that the story is about. */
  readonly follows: ReadonlyArray<Resource.Any>
  /** Whether an object belongs to the story, and not to somebody else in the same cluster. */
  readonly concerns: (object: KubeObject.KubeObject) => boolean
  /** How simulated Pods behave. By default they run and do not end. */
  readonly kubelet?: Kubelet.Options
  /** Commands to try in another terminal while it runs. */
  readonly tryIt: ReadonlyArray<string>
  readonly story: ReadonlyArray<Step>
}

/** The manifests of an example. */
export const manifests = (example: Example): Manifests.Options => ({
  name: `${example.name}-operator`,
  namespace: `${example.name}-system`,
  image: `effect-operator/${example.name}:0.1.0`,
  resources: example.resources,
  controllers: example.controllers,
  writes: example.writes,
  // The API keeps its objects in one process's memory, so there is only one replica and no leader to elect.
  ...(example.serves === undefined ? {} : { apiService: example.serves.api, leaderElection: false })
})

/** The operator of an example. For `localhost` see `ApiService.ServerOptions`. */
export const operatorOf = (
  { controllers, serves }: Example,
  options: Pick<ApiService.ServerOptions, "localhost" | "address" | "closeGrace"> = {}
): Layer.Layer<Manager.Manager, never, KubeClient.KubeClient> =>
  serves === undefined
    ? Manager.layer(controllers)
    : Layer.provide(Manager.layer(controllers), ApiService.layer(serves.api, { ...serves.server, ...options }))

/** Creates the object, or sets the spec of the existing one, so that a story can be played twice on one cluster. */
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

/** Whether an object that existed before the step is gone. */
export const someGone = (
  objects: ReadonlyArray<KubeObject.KubeObject>,
  before: ReadonlyArray<KubeObject.KubeObject>
): boolean => {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid))
  return before.some(({ metadata }) => !uids.has(metadata.uid))
}
