/**
 * Kubernetes operators on Effect: the public modules, each as a namespace.
 *
 * Each module is listed after all that it is built on, so the list can be read from the top.
 */
// Objects and their kinds.
export * as KubeObject from "./KubeObject.ts"
export * as Selector from "./Selector.ts"
export * as Status from "./Status.ts"
export * as KubeSchema from "./KubeSchema.ts"
export * as CelName from "./CelName.ts"
export * as CelRule from "./CelRule.ts"
export * as Resource from "./Resource.ts"
export * as CustomResource from "./CustomResource.ts"
export * as CustomResourceVersions from "./CustomResourceVersions.ts"
export * as Projection from "./Projection.ts"
export * as Unparsed from "./Unparsed.ts"
export * as OwnerLabel from "./OwnerLabel.ts"
export * as Conditions from "./Conditions.ts"

// Requests to API servers.
export * as KubeError from "./KubeError.ts"
export * as WatchEvent from "./WatchEvent.ts"
export * as Transport from "./Transport.ts"
export * as KubeClient from "./KubeClient.ts"
export * as Discovery from "./Discovery.ts"
export * as ObjectStatus from "./ObjectStatus.ts"

// From watches to the cache, and to the queue of keys that changes concern.
export * as Backoff from "./Backoff.ts"
export * as Supervisor from "./Supervisor.ts"
export * as Delta from "./Delta.ts"
export * as Predicate from "./Predicate.ts"
export * as CacheIndex from "./CacheIndex.ts"
export * as Watch from "./Watch.ts"
export * as Trigger from "./Trigger.ts"
export * as Finalizer from "./Finalizer.ts"
export * as WorkQueue from "./WorkQueue.ts"
export * as Reflector from "./Reflector.ts"
export * as Metrics from "./Metrics.ts"
export * as EventRecorder from "./EventRecorder.ts"
export * as Informers from "./Informers.ts"
export * as Cache from "./Cache.ts"
export * as Cluster from "./Cluster.ts"

// Reconcilers, what they use, and their controllers.
export * as Action from "./Action.ts"
export * as Reconciler from "./Reconciler.ts"
export * as Adoption from "./Adoption.ts"
export * as ServerSideApply from "./ServerSideApply.ts"
export * as Sync from "./Sync.ts"
export * as Source from "./Source.ts"
export * as Controller from "./Controller.ts"

// A program of controllers, alone or as one of several replicas.
export * as Leadership from "./Leadership.ts"
export * as LeaderElection from "./LeaderElection.ts"
export * as Settings from "./Settings.ts"
export * as Sharding from "./Sharding.ts"
export * as Ring from "./Ring.ts"
export * as Manager from "./Manager.ts"
export * as Health from "./Health.ts"
