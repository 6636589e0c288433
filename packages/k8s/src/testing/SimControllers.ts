/**
 * `SimControllers`: what a cluster has besides its API server, as far as it is simulated.
 *
 * The controllers of kube-controller-manager, each a layer of its own on the public client and the Clock, and Pods that
 * run (`Kubelet`). `without` leaves some out, for a test that plays their part itself; `with` adds those that a test has
 * to ask for: they fill every namespace with objects, or bind the claims that many a test binds itself.
 */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import * as Layer from "effect/Layer"
import type { ApiServer } from "./ApiServer.ts"
import * as CronJobController from "./CronJobController.ts"
import * as DaemonSetController from "./DaemonSetController.ts"
import * as DeploymentController from "./DeploymentController.ts"
import * as DisruptionController from "./DisruptionController.ts"
import * as EndpointsController from "./EndpointsController.ts"
import * as GarbageCollector from "./GarbageCollector.ts"
import * as JobController from "./JobController.ts"
import * as Kubelet from "./Kubelet.ts"
import * as NamespaceController from "./NamespaceController.ts"
import * as NodeLifecycle from "./NodeLifecycle.ts"
import * as PersistentVolumes from "./PersistentVolumes.ts"
import * as PolicyStatusController from "./PolicyStatusController.ts"
import * as ReplicaSetController from "./ReplicaSetController.ts"
import * as ServiceAccounts from "./ServiceAccounts.ts"
import * as StatefulSetController from "./StatefulSetController.ts"
import * as VolumeProtection from "./VolumeProtection.ts"

export interface Options {
  readonly kubelet?: Kubelet.Options | undefined
  readonly namespaces?: NamespaceController.Options | undefined
  readonly persistentVolumes?: PersistentVolumes.Options | undefined
  readonly serviceAccounts?: ServiceAccounts.Options | undefined
  /** Controllers that are there on request only (`onRequest`). */
  readonly with?: ReadonlyArray<Name> | undefined
  /** Controllers that are left out. */
  readonly without?: ReadonlyArray<Name> | undefined
}

type Controller = (options: Options) => Layer.Layer<never, never, ApiServer | KubeClient>

/** One line each. */
const controllers = {
  garbageCollector: () => GarbageCollector.layer,
  namespaces: (options) => NamespaceController.layer(options.namespaces),
  replicaSets: () => ReplicaSetController.layer,
  deployments: () => DeploymentController.layer,
  statefulSets: () => StatefulSetController.layer,
  daemonSets: () => DaemonSetController.layer,
  jobs: () => JobController.layer,
  cronJobs: () => CronJobController.layer,
  disruption: () => DisruptionController.layer,
  endpoints: () => EndpointsController.layer,
  nodes: () => NodeLifecycle.layer,
  policyStatus: () => PolicyStatusController.layer,
  volumeProtection: () => VolumeProtection.layer,
  persistentVolumes: (options) => PersistentVolumes.layer(options.persistentVolumes),
  serviceAccounts: (options) => ServiceAccounts.layer(options.serviceAccounts)
} satisfies Readonly<Record<string, Controller>>

/** The name of a controller. */
export type Name = keyof typeof controllers

/** The controllers that are left out unless `with` names them. */
export const onRequest: ReadonlyArray<Name> = ["persistentVolumes", "serviceAccounts"]

/** The controllers of a control plane without nodes: nobody binds Pods or runs them. */
export const controlPlane = (options: Options = {}): Layer.Layer<never, never, ApiServer | KubeClient> => {
  const wanted = options.with ?? []
  const without: ReadonlyArray<string> = [
    ...options.without ?? [],
    ...onRequest.filter((name) => !wanted.includes(name))
  ]
  return Object.entries<Controller>(controllers).reduce(
    (all, [name, controller]) => without.includes(name) ? all : Layer.merge(all, controller(options)),
    Layer.empty as Layer.Layer<never, never, ApiServer | KubeClient>
  )
}

/** All of them, and Pods that run. */
export const layer = (options: Options = {}): Layer.Layer<Kubelet.Kubelet, never, ApiServer | KubeClient> =>
  Layer.merge(Kubelet.layer(options.kubelet), controlPlane(options))
