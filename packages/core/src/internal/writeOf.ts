/**
 * `writeOf`: what an accepted write shows of the resulting state.
 *
 * Most responses show the object as it is now. `scale` returns another kind, with the object's uid and resourceVersion.
 * An eviction returns a Status. The deletion of a collection returns the objects as they were listed, before anything
 * happened to them, so it is unknown which are gone and which terminate.
 *
 * Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (DeleteCollection), the scale REST storages of apps
 * and of custom resources, k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go.
 */
import type { Write } from "../Client.ts"
import { isTerminating, type KubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"

interface Target {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

interface Eviction {
  readonly deleteOptions?: {
    readonly dryRun?: ReadonlyArray<string>
    readonly preconditions?: { readonly uid?: string }
  } | undefined
}

/** The write of a create, replace, patch or apply that was not a dry run; undefined if the response shows none. */
export const writeOf = (
  resource: Resource.Any,
  { name, namespace }: Target,
  subresource: string | undefined,
  sent: unknown,
  answer: unknown
): Write | undefined => {
  const { kind, metadata } = (answer ?? {}) as Partial<KubeObject>
  if (kind === resource.kind && metadata !== undefined) {
    return { _tag: "Written", resource, object: answer as KubeObject, subresource }
  }
  if (subresource === undefined || name === undefined) return undefined
  const key = { namespace, name }
  if (subresource === "eviction") {
    const options = (sent as Eviction).deleteOptions
    const dry = (options?.dryRun ?? []).length > 0
    return dry ? undefined : { _tag: "Deleting", resource, key, uid: options?.preconditions?.uid }
  }
  // A token or a review has no resourceVersion: nothing was stored.
  return typeof metadata?.resourceVersion === "string" && metadata.name === name
    ? {
      _tag: "Changed",
      resource,
      key,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      subresource,
      answer
    }
    : undefined
}

/** The writes of the deletion of a collection: one for each returned object that was not terminating already. */
export const writesOfCollection = (resource: Resource.Any, answer: unknown): ReadonlyArray<Write> => {
  const { items } = answer as { readonly items?: ReadonlyArray<Partial<KubeObject>> | null }
  return (Array.isArray(items) ? items : []).flatMap(({ metadata }): ReadonlyArray<Write> => {
    if (typeof metadata?.name !== "string" || typeof metadata.uid !== "string" || isTerminating({ metadata })) return []
    const { name, namespace, uid } = metadata
    return [{ _tag: "Deleting", resource, key: { namespace, name }, uid }]
  })
}
