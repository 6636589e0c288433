/**
 * `Scales`: the desired number of Pods, by the controller of a Pod: the Deployment above its ReplicaSet, the
 * ReplicaSet, the StatefulSet, or anything else with a scale subresource.
 *
 * Source: k8s.io/kubernetes/pkg/controller/disruption/disruption.go (finders, getExpectedScale).
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerOf, type KubeObject, type OwnerReference } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import { Deployment, ReplicaSet, StatefulSet } from "../../kinds/apps.v1.ts"
import type { Pod } from "../../kinds/core.v1.ts"
import * as Informers from "./Informers.ts"
import * as Inventory from "./Inventory.ts"

export interface Expected {
  readonly count: number
  /** The names of Pods without a controller. */
  readonly unmanaged: ReadonlyArray<string>
  /** Why the number cannot be determined. */
  readonly problem?: string
}

interface Scale {
  readonly uid: string
  readonly replicas: number
}

/** Sums up the desired numbers of the controllers of some Pods. */
export const make = Effect.gen(function*() {
  const client = yield* KubeClient
  const informers = yield* Informers.Informers
  const serving = yield* Inventory.kinds
  const deployments = yield* informers.of(Deployment)
  const replicaSets = yield* informers.of(ReplicaSet)
  const statefulSets = yield* informers.of(StatefulSet)

  const known = ({ kind, name, uid }: OwnerReference, namespace: string): Scale | undefined => {
    const key = { namespace, name }
    const found = kind === "ReplicaSet"
      ? replicaSets.get(key)
      : kind === "StatefulSet"
      ? statefulSets.get(key)
      : undefined
    if (found?.metadata.uid !== uid || found === undefined) return undefined
    const above = controllerOf(found)
    if (above?.kind !== "Deployment") return { uid, replicas: found.spec.replicas ?? 1 }
    const deployment = deployments.get({ namespace, name: above.name })
    return deployment?.metadata.uid === above.uid
      ? { uid: above.uid, replicas: deployment.spec.replicas ?? 1 }
      : undefined
  }

  /** The scale, requested from the server; the error as text if there is none. */
  const asked = Effect.fnUntraced(function*(
    { apiVersion, kind, name, uid }: OwnerReference,
    namespace: string
  ): Effect.fn.Return<Scale | string | undefined, KubeError> {
    const resource = yield* serving(apiVersion, kind)
    if (resource === undefined) return `no matches for kind "${kind}" in version "${apiVersion}"`
    const get = (options: object) =>
      client.get(resource as Resource.Resource<KubeObject & { readonly spec?: { readonly replicas?: number } }>, {
        namespace,
        name
      }, options).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.undefined))
    const scale = yield* get({ subresource: "scale" })
    if (scale !== undefined) {
      return scale.metadata.uid === uid ? { uid, replicas: scale.spec?.replicas ?? 0 } : undefined
    }
    const group = resource.group === "" ? "" : `.${resource.group}`
    const exists = yield* get({})
    return exists === undefined ? undefined : `${resource.plural}${group} does not implement the scale subresource`
  })

  return Effect.fnUntraced(function*(pods: ReadonlyArray<Pod>): Effect.fn.Return<Expected, KubeError> {
    const scales = new Map<string, number>()
    const seen = new Set<string>()
    const unmanaged: Array<string> = []
    for (const pod of pods) {
      const owner = controllerOf(pod)
      if (owner === undefined) {
        unmanaged.push(pod.metadata.name)
        continue
      }
      if (seen.has(owner.uid)) continue
      seen.add(owner.uid)
      const scale = known(owner, pod.metadata.namespace) ?? (yield* asked(owner, pod.metadata.namespace))
      if (typeof scale === "string") return { count: 0, unmanaged, problem: scale }
      if (scale === undefined) {
        return { count: 0, unmanaged, problem: `found no controllers for pod "${pod.metadata.name}"` }
      }
      scales.set(scale.uid, scale.replicas)
    }
    return { count: [...scales.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged }
  })
})
