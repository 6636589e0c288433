/**
 * `Deletion`: the effect of a DELETE on one object, as a pure decision.
 *
 * An object is removed at once, unless it has finalizers (its own, or one that the propagation policy adds) or a grace
 * period. Then it is only marked, and is removed with its last finalizer or by the second, shorter request.
 *
 * Source: k8s.io/apiserver/pkg/registry/rest/delete.go `BeforeDelete` and pkg/registry/generic/registry/store.go
 * (`updateForGracefulDeletionAndFinalizers`, `deletionFinalizersForGarbageCollection`).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { timestamp } from "./Identity.ts"
import type { JsonObject } from "../schema/JsonValue.ts"
import { arrayAt, objectAt, stringAt } from "./Plain.ts"

/** What happens to dependents if the request sets no policy. `Unsupported` ignores the request's policy, too. */
export type GarbageCollection = "Background" | "Orphan" | "Unsupported"

/** How objects of a kind are deleted. */
export interface Strategy {
  readonly garbageCollection: GarbageCollection
  /** The grace period in seconds; absent if the kind has none. */
  readonly gracePeriod?: (object: KubeObject, requested: number | undefined) => number
}

/** The fields of DeleteOptions. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number
  readonly orphanDependents?: boolean
  readonly propagationPolicy?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly dryRun: ReadonlyArray<string>
}

/**
 * - `Remove`: removed now. `marked` is what is stored for a moment before, for a kind with a grace period; `released`
 *   is the object without finalizers of an earlier request that this one revokes.
 * - `Mark`: changed, but not removed.
 * - `Keep`: unchanged, because it is being deleted already.
 */
export type Outcome =
  | { readonly _tag: "Remove"; readonly marked?: KubeObject; readonly released?: KubeObject }
  | { readonly _tag: "Mark"; readonly object: KubeObject }
  | { readonly _tag: "Keep" }

/** The options in the form of the API. */
export const toApi = (options: DeleteOptions): JsonObject => {
  const { dryRun, gracePeriodSeconds, orphanDependents, propagationPolicy, resourceVersion, uid } = options
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion })
  }
  return {
    kind: "DeleteOptions",
    apiVersion: "meta.k8s.io/v1",
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun.length === 0 ? {} : { dryRun })
  }
}

/**
 * Why a precondition fails. Kinds that are drained before removal (`drains`) check it themselves, with other messages.
 */
export const preconditionFault = (object: KubeObject, options: DeleteOptions, drains: boolean): string | undefined => {
  const { resourceVersion, uid } = object.metadata
  if (options.uid !== undefined && options.uid !== uid) {
    return drains
      ? `Precondition failed: UID in precondition: ${options.uid}, UID in object meta: ${uid}`
      : `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). ` +
        "The object might have been deleted and then recreated"
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    return drains
      ? `Precondition failed: ResourceVersion in precondition: ${options.resourceVersion}, ` +
        `ResourceVersion in object meta: ${resourceVersion}`
      : `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion ` +
        `in record (${resourceVersion}). The object might have been modified`
  }
  return undefined
}

/** Whether an explicit policy, the finalizer of an earlier request, or the kind's default adds a finalizer. */
const wants = (
  finalizer: "orphan" | "foregroundDeletion",
  strategy: Strategy,
  finalizers: ReadonlyArray<string>,
  options: DeleteOptions
): boolean => {
  if (strategy.garbageCollection === "Unsupported") return false
  if (options.orphanDependents !== undefined) return finalizer === "orphan" && options.orphanDependents
  if (options.propagationPolicy !== undefined) {
    return options.propagationPolicy === (finalizer === "orphan" ? "Orphan" : "Foreground")
  }
  // The policy of an earlier request overrides the kind's default.
  const asked = finalizers.find((name) => name === "orphan" || name === "foregroundDeletion")
  return asked === undefined ? finalizer === "orphan" && strategy.garbageCollection === "Orphan" : asked === finalizer
}

const withFinalizers = (object: KubeObject, strategy: Strategy, options: DeleteOptions): KubeObject => {
  const finalizers = object.metadata.finalizers ?? []
  const orphan = wants("orphan", strategy, finalizers, options)
  const foreground = wants("foregroundDeletion", strategy, finalizers, options)
  if (orphan === finalizers.includes("orphan") && foreground === finalizers.includes("foregroundDeletion")) {
    return object
  }
  const next = [
    ...finalizers.filter((name) => name !== "orphan" && name !== "foregroundDeletion"),
    ...(orphan ? ["orphan"] : []),
    ...(foreground ? ["foregroundDeletion"] : [])
  ]
  const { finalizers: _, ...metadata } = object.metadata
  return { ...object, metadata: next.length === 0 ? metadata : { ...metadata, finalizers: next } }
}

const marked = (object: KubeObject, now: number, grace: number): KubeObject => {
  const { deletionTimestamp, generation } = object.metadata
  return {
    ...object,
    metadata: {
      ...object.metadata,
      ...(generation !== undefined && generation > 0 && deletionTimestamp === undefined
        ? { generation: generation + 1 }
        : {}),
      deletionTimestamp: timestamp(now + grace * 1000),
      deletionGracePeriodSeconds: grace
    }
  }
}

/** The first half of the decision: the grace period. */
const graceful = (
  object: KubeObject,
  strategy: Strategy,
  options: DeleteOptions,
  now: number
): { readonly _tag: "None" | "Pending" } | {
  readonly _tag: "Graceful"
  readonly object: KubeObject
  readonly grace: number
} => {
  if (strategy.gracePeriod === undefined) return { _tag: "None" }
  const { deletionGracePeriodSeconds: current, deletionTimestamp } = object.metadata
  if (deletionTimestamp === undefined) {
    const grace = strategy.gracePeriod(object, options.gracePeriodSeconds)
    return { _tag: "Graceful", object: marked(object, now, grace), grace }
  }
  if (current === undefined || current === 0) return { _tag: "None" }
  const asked = options.gracePeriodSeconds
  if (asked === undefined || asked >= current) return { _tag: "Pending" }
  const start = Date.parse(deletionTimestamp) - current * 1000
  return {
    _tag: "Graceful",
    grace: asked,
    object: {
      ...object,
      metadata: {
        ...object.metadata,
        deletionTimestamp: timestamp(start + asked * 1000),
        deletionGracePeriodSeconds: asked
      }
    }
  }
}

/** Whether the request changes nothing about a graceful deletion in progress: then admission is skipped. */
export const isPending = (object: KubeObject, strategy: Strategy, options: DeleteOptions, now: number): boolean =>
  graceful(object, strategy, options, now)._tag === "Pending"

/** The options with the grace period that the kind chooses. */
export const completeOptions = (
  object: KubeObject,
  strategy: Strategy,
  options: DeleteOptions,
  now: number
): DeleteOptions => {
  const outcome = graceful(object, strategy, options, now)
  return outcome._tag === "Graceful" ? { ...options, gracePeriodSeconds: outcome.grace } : options
}

/** The outcome for an object. Preconditions and options have been checked already. */
export const decide = (object: KubeObject, strategy: Strategy, options: DeleteOptions, now: number): Outcome => {
  const grace = graceful(object, strategy, options, now)
  if (grace._tag === "Pending") return { _tag: "Keep" }
  const next = withFinalizers(grace._tag === "Graceful" ? grace.object : object, strategy, options)
  const pending = (next.metadata.finalizers ?? []).length > 0
  if (grace._tag === "Graceful") {
    return pending || grace.grace > 0 ? { _tag: "Mark", object: next } : { _tag: "Remove", marked: next }
  }
  if (!pending) return next === object ? { _tag: "Remove" } : { _tag: "Remove", released: next }
  if (next.metadata.deletionTimestamp === undefined) return { _tag: "Mark", object: marked(next, now, 0) }
  return next === object ? { _tag: "Keep" } : { _tag: "Mark", object: next }
}

/** A Namespace first becomes Terminating and is drained. It is removed once its spec has no finalizers left. */
export const decideNamespace = (
  object: KubeObject,
  strategy: Strategy,
  options: DeleteOptions,
  now: number
): Outcome => {
  if (object.metadata.deletionTimestamp === undefined) {
    // The oldest way to request cascading deletion; other kinds treat it as background deletion.
    const asked: DeleteOptions = options.orphanDependents === false
      ? { dryRun: options.dryRun, propagationPolicy: "Foreground" }
      : options
    const next = withFinalizers(object, strategy, asked)
    return {
      _tag: "Mark",
      object: {
        ...next,
        metadata: { ...next.metadata, deletionTimestamp: timestamp(now) },
        status: { ...objectAt(next, "status"), phase: "Terminating" }
      } as KubeObject
    }
  }
  return arrayAt(object, "spec", "finalizers").length > 0
    ? { _tag: "Keep" }
    : decide(object, strategy, options, now)
}

/** The finalizer that keeps a definition until its objects are gone. */
export const customResourceCleanup = "customresourcecleanup.apiextensions.k8s.io"

/**
 * A CustomResourceDefinition first becomes Terminating, and its objects are deleted before it is removed. The
 * propagation policy is ignored then.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go `Delete`.
 */
export const decideDefinition = (
  object: KubeObject,
  strategy: Strategy,
  options: DeleteOptions,
  now: number
): Outcome => {
  if (object.metadata.deletionTimestamp !== undefined) return decide(object, strategy, options, now)
  const finalizers = object.metadata.finalizers ?? []
  const conditions = arrayAt(object, "status", "conditions")
  const terminating = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: timestamp(now),
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
  }
  return {
    _tag: "Mark",
    object: {
      ...object,
      metadata: {
        ...object.metadata,
        deletionTimestamp: timestamp(now),
        finalizers: finalizers.includes(customResourceCleanup) ? finalizers : [...finalizers, customResourceCleanup]
      },
      status: {
        ...objectAt(object, "status"),
        conditions: [...conditions.filter((condition) => stringAt(condition, "type") !== "Terminating"), terminating]
      }
    } as KubeObject
  }
}
