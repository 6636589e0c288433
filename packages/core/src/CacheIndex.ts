/**
 * `CacheIndex`: a value, or several, by which the cached objects of a kind are found without looking at each.
 *
 * Declare one beside the kind it is of, once, at the top of a module; read it with `Cache.byIndex`. It needs no
 * registration: a cache builds it when it is first asked for it, and keeps it up to date from then on, own writes
 * included. The function must be pure and cheap, it runs for every change of every object of the kind. An object on
 * which it throws cannot be filed: each read of the index then fails with a defect that names the object.
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

/** Files objects of a kind under the values of a function. */
export const make = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  name: string,
  valuesOf: (object: A) => ReadonlyArray<string>
): CacheIndex<A, Id> => ({ resource, name, valuesOf: valuesOf as CacheIndex["valuesOf"] })

/**
 * Files objects under those they refer to: by name in their own namespace, or by key. With `Watch.referenced` a change
 * of what is referred to wakes whoever refers to it.
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
