/**
 * `Watch`: which objects of another kind a controller watches, and which of its own objects each of them concerns.
 *
 * A watch is data. Running it gives the controller a cached view of exactly that selection: `Cache.list` sees what was
 * declared here.
 */
import type { CacheIndex } from "./CacheIndex.ts"
import type { View } from "./internal/reads.ts"
import { key, keyString, type KubeObject, type ObjectKey } from "./KubeObject.ts"
import * as OwnerLabel from "./OwnerLabel.ts"
import type { Predicate } from "./Predicate.ts"
import type * as Resource from "./Resource.ts"
import type { LabelsInput } from "./Selector.ts"

/** Which objects are cached. */
export interface Scope {
  /** Only these namespaces; all by default. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  readonly labels?: LabelsInput | undefined
  readonly fields?: string | undefined
}

/** `Reads` are the ids of the kinds that `map` reads; the controller must declare them. */
export interface Watch<out R extends Resource.Any = Resource.Any, out Reads extends string = string> extends Scope {
  readonly resource: R
  /** A type without a value. */
  readonly Reads?: Reads | undefined
  /** The keys of the controller's own objects to reconcile when this object is added, changed or deleted. */
  readonly map: (object: KubeObject, cache?: View<never>) => ReadonlyArray<ObjectKey>
  readonly predicate?: Predicate<any> | undefined
  /** Label keys by whose values the cache finds objects without a scan. */
  readonly indexedLabels?: ReadonlyArray<string> | undefined
  /** The kind of their owner, if these are dependents: see `owned`. */
  readonly owner?: Resource.Any | undefined
}

export interface Options<A extends KubeObject> extends Scope {
  readonly predicate?: Predicate<A> | undefined
}

/**
 * Watches objects of a kind; `map` returns the keys that each concerns. For an update, both the old and the new state
 * are mapped. `map` may read the cache: the kinds of `reads`, which the controller must declare as `for`, `owns` or
 * `watches`.
 */
export const make = <R extends Resource.Any, const Rs extends ReadonlyArray<Resource.Any> = []>(
  resource: R,
  options: Options<Resource.TypeOf<R>> & {
    readonly map: (object: Resource.TypeOf<R>, cache: View<Resource.IdOf<Rs[number]>>) => ReadonlyArray<ObjectKey>
    readonly reads?: Rs | undefined
    readonly indexedLabels?: ReadonlyArray<string> | undefined
  }
): Watch<R, Resource.IdOf<Rs[number]>> => {
  const { namespaces, labels, fields, predicate, indexedLabels } = options
  return { namespaces, labels, fields, predicate, indexedLabels, resource, map: options.map as Watch["map"] }
}

/** Caches a kind for reading, without reconciling anything when it changes. */
export const cached = <R extends Resource.Any>(
  resource: R,
  options: Scope & { readonly indexedLabels?: ReadonlyArray<string> | undefined } = {}
): Watch<R, never> => ({
  ...options,
  resource,
  map: nobody
})

/** The `map` of a watch whose changes reconcile nothing. */
export const nobody = (): ReadonlyArray<ObjectKey> => []

/**
 * Watches what objects of the controller refer to: a change of a ConfigMap reconciles every object that names it, in
 * whatever way. `by` files them under what they refer to: see `CacheIndex.references`. The objects of the index are
 * reconciled, unless `map` names others.
 */
export const referenced = <R extends Resource.Any, A extends KubeObject, Id extends string>(
  resource: R,
  by: CacheIndex<A, Id>,
  { map, ...options }: Options<Resource.TypeOf<R>> & {
    readonly map?: ((referring: A) => ReadonlyArray<ObjectKey>) | undefined
  } = {}
): Watch<R, Id> => ({
  ...options,
  resource,
  map: (object, cache) =>
    // A watch runs with the cache of its controller, which has declared `Id`.
    (cache as View<Id>).byIndex(by, keyString(object)).flatMap((referring) => map?.(referring) ?? [key(referring)])
})

/** The ids of the kinds that the map functions of watches read. */
export type ReadsOf<W> = W extends Watch<Resource.Any, infer Reads> ? Reads : never

/** Watches the dependents that an `OwnerLabel` marks, in any namespace. Throws if a projection drops its annotation. */
export const labelled = <R extends Resource.Any>(
  resource: R,
  label: OwnerLabel.OwnerLabel,
  options: Omit<Options<Resource.TypeOf<R>>, "labels"> = {}
): Watch<R, never> => {
  if (resource.annotations?.(label.key) === false) {
    throw new Error(
      `Watch.labelled: ${resource.id}: this projection drops the annotation ${label.key}, which names the owner, so ` +
        "no owner would be reconciled: keep the annotation"
    )
  }
  return {
    ...options,
    resource,
    labels: [{ operator: "exists", key: label.key }],
    indexedLabels: [label.key],
    map: (object) => {
      const owner = OwnerLabel.ownerKey(label, object)
      return owner === undefined ? [] : [owner]
    }
  }
}

/** Watches the dependents whose controller owner reference (`controller: true`) names an object of `owner`'s kind. */
export const owned = <R extends Resource.Any>(
  resource: R,
  owner: Resource.Any,
  options: Options<Resource.TypeOf<R>> = {}
): Watch<R, never> => ({
  ...options,
  resource,
  owner,
  map: ({ metadata }) =>
    (metadata.ownerReferences ?? []).flatMap((reference) =>
      reference.controller === true && reference.kind === owner.kind && groupOf(reference.apiVersion) === owner.group
        ? [
          owner.scope === "Cluster" ? { name: reference.name } : { namespace: metadata.namespace, name: reference.name }
        ]
        : []
    )
})

const groupOf = (apiVersion: string): string => {
  const slash = apiVersion.indexOf("/")
  return slash < 0 ? "" : apiVersion.slice(0, slash)
}
