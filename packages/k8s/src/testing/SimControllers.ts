/**
 * `SimControllers`: what a cluster has besides its API server, as far as it is simulated.
 *
 * That is the controllers of kube-controller-manager, each a layer of its own on the public client and the Clock, and
 * Pods that run (`Kubelet`). `without` leaves some out, for a test that plays their part itself. `with` adds those that
 * a test has to request, because they fill every namespace with objects, or bind the claims that many tests bind
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
  /** Controllers that are there on request only (`onRequest`). */
  readonly with?: ReadonlyArray<Name> | undefined
  /** Controllers that are left out. */
  readonly without?: ReadonlyArray<Name> | undefined
}

interface Controller {
  readonly make: (options: Options) => Layer.Layer<never, never, ApiServer | KubeClient>
  /** The collections it has nothing to do without; absent of one that looks after everything. */
  readonly looksAfter?: ReadonlyArray<string>
}

/** One line each. */
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

/** The name of a controller. */
export type Name = keyof typeof controllers

/** The controllers that are left out unless `with` names them. */
export const onRequest: ReadonlyArray<Name> = ["persistentVolumes", "serviceAccounts"]

/** The controllers that the options ask for. */
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

/** The controllers of a control plane without nodes: nobody binds Pods or runs them. */
export const controlPlane = (options: Options = {}): ControlPlane => together(options, chosen(options))

/** All of them, and Pods that run. */
export const layer = (options: Options = {}): Layer.Layer<Kubelet.Kubelet, never, ApiServer | KubeClient> =>
  Layer.merge(Kubelet.layer(options.kubelet), controlPlane(options))

/** A cluster whose controllers come as there is something for them to do. */
export interface OnDemand {
  /** What has to be there from the start. */
  readonly layer: Layer.Layer<Kubelet.Kubelet, never, ApiServer | KubeClient>
  /** What has to be there from the first change of a collection. Controllers are the same values in each. */
  readonly waiting: ReadonlyMap<string, ReadonlyArray<ControlPlane>>
}

/**
 * As `layer`, for whoever can watch the store and wants no watches of kinds that never come: most stories are about a
 * few kinds. Build all parts with one memo map.
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
