/**
 * `SimControllers`: the simulated parts of a cluster other than its API server.
 *
 * These are the controllers of kube-controller-manager, each a separate layer on the public client and the Clock, and
 * Pods that run (`Kubelet`). `without` turns controllers off, for a test that plays their part itself. `with` turns on
 * those that are off by default, because they fill every namespace with objects, or bind claims that many tests bind
 * themselves.
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
import * as ReplicationController from "./ReplicationController.ts"
import * as ResourceQuotaController from "./ResourceQuotaController.ts"
import * as ServiceAccounts from "./ServiceAccounts.ts"
import * as StatefulSetController from "./StatefulSetController.ts"
import * as VolumeProtection from "./VolumeProtection.ts"

export interface Options {
  readonly garbageCollector?: GarbageCollector.Options | undefined
  readonly kubelet?: Kubelet.Options | undefined
  readonly namespaces?: NamespaceController.Options | undefined
  readonly persistentVolumes?: PersistentVolumes.Options | undefined
  readonly serviceAccounts?: ServiceAccounts.Options | undefined
  /** Controllers to turn on that are off by default (`onRequest`). */
  readonly with?: ReadonlyArray<Name> | undefined
  /** Controllers to turn off. */
  readonly without?: ReadonlyArray<Name> | undefined
}

interface Controller {
  readonly make: (options: Options) => Layer.Layer<never, never, ApiServer | KubeClient>
  /** The collections that give it work. Absent if it handles every kind of object. */
  readonly looksAfter?: ReadonlyArray<string>
}

const controllers = {
  garbageCollector: { make: (options) => GarbageCollector.layerOptions(options.garbageCollector ?? {}) },
  namespaces: { make: (options) => NamespaceController.layer(options.namespaces), looksAfter: ["namespaces"] },
  replicaSets: { make: () => ReplicaSetController.layer, looksAfter: ["replicasets.apps"] },
  replicationControllers: { make: () => ReplicationController.layer, looksAfter: ["replicationcontrollers"] },
  deployments: { make: () => DeploymentController.layer, looksAfter: ["deployments.apps"] },
  statefulSets: { make: () => StatefulSetController.layer, looksAfter: ["statefulsets.apps"] },
  daemonSets: { make: () => DaemonSetController.layer, looksAfter: ["daemonsets.apps"] },
  jobs: { make: () => JobController.layer, looksAfter: ["jobs.batch"] },
  cronJobs: { make: () => CronJobController.layer, looksAfter: ["cronjobs.batch"] },
  disruption: { make: () => DisruptionController.layer, looksAfter: ["poddisruptionbudgets.policy"] },
  endpoints: { make: () => EndpointsController.layer, looksAfter: ["services", "endpoints"] },
  nodes: { make: () => NodeLifecycle.layer, looksAfter: ["nodes"] },
  policyStatus: {
    make: () => PolicyStatusController.layer,
    looksAfter: ["validatingadmissionpolicies.admissionregistration.k8s.io"]
  },
  resourceQuotas: { make: () => ResourceQuotaController.layer, looksAfter: ["resourcequotas"] },
  volumeProtection: {
    make: () => VolumeProtection.layer,
    looksAfter: ["persistentvolumeclaims", "persistentvolumes", "volumeattributesclasses.storage.k8s.io"]
  },
  persistentVolumes: { make: (options) => PersistentVolumes.layer(options.persistentVolumes) },
  serviceAccounts: { make: (options) => ServiceAccounts.layer(options.serviceAccounts) }
} satisfies Readonly<Record<string, Controller>>

export type Name = keyof typeof controllers

/** The controllers that are off unless `with` names them. */
export const onRequest: ReadonlyArray<Name> = ["persistentVolumes", "serviceAccounts"]

/** The controllers that are on under these options. */
const chosen = (options: Options): ReadonlyArray<Controller> => {
  const wanted = options.with ?? []
  const without: ReadonlyArray<string> = [
    ...options.without ?? [],
    ...onRequest.filter((name) => !wanted.includes(name))
  ]
  return Object.entries<Controller>(controllers).flatMap(([name, controller]) =>
    without.includes(name) ? [] : [controller]
  )
}

type ControlPlane = Layer.Layer<never, never, ApiServer | KubeClient>

const together = (options: Options, some: ReadonlyArray<Controller>): ControlPlane =>
  some.reduce((all, { make }) => Layer.merge(all, make(options)), Layer.empty as ControlPlane)

/** The controllers of a control plane without nodes: Pods are neither bound nor run. */
export const controlPlane = (options: Options = {}): ControlPlane => together(options, chosen(options))

/** All controllers, and Pods that run. */
export const layer = (options: Options = {}): Layer.Layer<Kubelet.Kubelet, never, ApiServer | KubeClient> =>
  Layer.merge(Kubelet.layer(options.kubelet), controlPlane(options))

/** A cluster whose controllers are started when there is work for them. */
export interface OnDemand {
  /** What must run from the start. */
  readonly layer: Layer.Layer<Kubelet.Kubelet, never, ApiServer | KubeClient>
  /**
   * What must run from the first change of a collection on. A controller of several collections is the same value in
   * each.
   */
  readonly waiting: ReadonlyMap<string, ReadonlyArray<ControlPlane>>
}

/**
 * Like `layer`, for callers that can observe the store and want no watches of kinds that are never used: most scenarios
 * involve only a few kinds. Build all parts with one memo map.
 */
export const onDemand = (options: Options = {}): OnDemand => {
  const all = chosen(options)
  const waiting = new Map<string, Array<ControlPlane>>()
  for (const { looksAfter, make } of all) {
    const layer = make(options)
    for (const collection of looksAfter ?? []) waiting.set(collection, [...waiting.get(collection) ?? [], layer])
  }
  const always = all.filter(({ looksAfter }) => looksAfter === undefined)
  return { layer: Layer.merge(Kubelet.layer(options.kubelet), together(options, always)), waiting }
}
