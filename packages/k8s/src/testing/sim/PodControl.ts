/**
 * `PodControl`: creates Pods from a template and deletes Pods, with the corresponding events.
 *
 * Source: k8s.io/kubernetes/pkg/controller/controller_utils.go (RealPodControl, GetPodFromTemplate), slowStartBatch of
 * pkg/controller/replicaset/replica_set.go.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerReference, type KubeObject, type PartialObjectMeta } from "@effect-operator/core/KubeObject"
import { isStatus } from "@effect-operator/core/Status"
import type * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Pod, type PodTemplateSpec } from "../../kinds/core.v1.ts"
import type { Recorder } from "./Recorder.ts"

export const defaults = {
  /** The maximum number of Pods created or deleted in one sync. */
  burst: 500
} as const

/** A Pod from its owner's template, with additional metadata. */
export const fromTemplate = (
  owner: KubeObject,
  template: PodTemplateSpec | undefined,
  metadata: PartialObjectMeta = {}
): Resource.Input<Pod> => {
  const { annotations, finalizers, labels } = template?.metadata ?? {}
  return {
    metadata: {
      namespace: owner.metadata.namespace,
      generateName: `${owner.metadata.name}-`,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [controllerReference(owner)],
      ...metadata
    },
    spec: template?.spec ?? { containers: [] }
  }
}

/** The server's message. */
export const said = (error: KubeError): string => error.reason.message

/** Whether a creation failed because the namespace is being deleted. */
export const namespaceEnds = ({ reason }: KubeError): boolean =>
  "status" in reason && isStatus(reason.status) &&
  reason.status.details?.causes?.some((cause) => cause.reason === "NamespaceTerminating") === true

/** Creates a Pod; undefined if its namespace is being deleted. */
export const create = (
  recorder: Recorder,
  owner: KubeObject,
  pod: Resource.Input<Pod>
): Effect.Effect<Pod | undefined, KubeError, KubeClient> =>
  KubeClient.use((client) => client.create(Pod, pod)).pipe(
    Effect.tap((created) => recorder.normal(owner, "SuccessfulCreate", `Created pod: ${created.metadata.name}`)),
    Effect.tapError((error) =>
      namespaceEnds(error) ? Effect.void : recorder.warning(owner, "FailedCreate", `Error creating: ${said(error)}`)
    ),
    Effect.catchIf(namespaceEnds, () => Effect.undefined)
  )

/** Deletes a Pod, which may be gone already. */
export const remove = (recorder: Recorder, owner: KubeObject, pod: Pod): Effect.Effect<void, KubeError, KubeClient> =>
  KubeClient.use((client) => client.delete(Pod, pod)).pipe(
    Effect.andThen(recorder.normal(owner, "SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`)),
    Effect.catchReason("KubeError", "NotFound", () => Effect.void),
    Effect.tapError((error) => recorder.warning(owner, "FailedDelete", `Error deleting: ${said(error)}`))
  )

/**
 * Runs an effect `count` times, in batches of 1, 2, 4, … up to `longest`. A batch with a failure is the last one.
 * Returns the first failure, if any.
 */
export const slowStart = Effect.fnUntraced(function*<E, R>(
  count: number,
  act: (index: number) => Effect.Effect<unknown, E, R>,
  longest: number = Infinity
): Effect.fn.Return<E | undefined, never, R> {
  let failure: E | undefined
  for (
    let done = 0, batch = 1;
    done < count && failure === undefined;
    done += batch, batch = Math.min(2 * batch, longest)
  ) {
    for (let index = done; index < Math.min(done + batch, count); index++) {
      const result = yield* Effect.result(act(index))
      if (Result.isFailure(result)) failure ??= result.failure
    }
  }
  return failure
})

/** Runs an effect for all items, even if some fail. Returns the first failure, if any. */
export const forAll = Effect.fnUntraced(function*<A, E, R>(
  items: Iterable<A>,
  act: (item: A) => Effect.Effect<unknown, E, R>
): Effect.fn.Return<E | undefined, never, R> {
  let failure: E | undefined
  for (const item of items) {
    const result = yield* Effect.result(act(item))
    if (Result.isFailure(result)) failure ??= result.failure
  }
  return failure
})
