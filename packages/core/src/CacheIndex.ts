/**
 * `CacheIndex`: one or more values by which cached objects of a kind are found without looking at each.
 *
 * Declare an index once, beside its kind, at the top of a module, and read it with `Cache.byIndex`. It needs no
 * registration: a cache builds it on first use, and keeps it up to date from then on, own writes included. The function
 * must be pure and cheap, because it runs for every change of every object of the kind. If it throws for an object,
 * that object cannot be indexed: each read of the index then fails with a defect that names the object.
 *
 * ```ts
 * const byNode = CacheIndex.make(Pod, "node", (pod) => pod.spec?.nodeName === undefined ? [] : [pod.spec.nodeName])
 * const pods = yield* Cache.byIndex(byNode, "worker-1")
 * ```
 */
import { keyString, type KubeObject, type ObjectKey } from "./KubeObject.ts"
import type * as Resource from "./Resource.ts"

export interface CacheIndex<out A extends KubeObject = KubeObject, out Id extends string = string> {
  readonly resource: Resource.Resource<A, Id>
  /** For messages. */
  readonly name: string
  /** The values an object is filed under. */
  readonly valuesOf: (object: KubeObject) => ReadonlyArray<string>
}

/** An index that files the objects of a kind under the values that a function returns. */
export const make = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  name: string,
  valuesOf: (object: A) => ReadonlyArray<string>
): CacheIndex<A, Id> => ({ resource, name, valuesOf: valuesOf as CacheIndex["valuesOf"] })

/**
 * An index that files objects under those they refer to: by name in their own namespace, or by key. With
 * `Watch.referenced`, a change of a referenced object wakes every object that refers to it.
 */
export const references = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  name: string,
  referencesOf: (object: A) => ReadonlyArray<string | ObjectKey>
): CacheIndex<A, Id> =>
  make(resource, name, (object) =>
    referencesOf(object).map((reference) =>
      keyString(
        typeof reference === "string" ? { namespace: object.metadata.namespace, name: reference } : reference
      )
    ))
