/**
 * `Watch`: which objects of another kind a controller follows, and which of its own objects each of them concerns.
 *
 * A watch is data. Running it gives the controller a cached view of exactly that selection: what `Cache.list` can see
 * is what was declared here.
 */
import type { KubeObject, ObjectKey } from "./KubeObject.ts"
import * as OwnerLabel from "./OwnerLabel.ts"
import type { Predicate } from "./Predicate.ts"
import type * as Resource from "./Resource.ts"
import type { LabelsInput } from "./Selector.ts"

/** Which objects are cached. */
export interface Scope {
  /** These namespaces only; all by default. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  readonly labels?: LabelsInput | undefined
  readonly fields?: string | undefined
}

export interface Watch<out R extends Resource.Any = Resource.Any> extends Scope {
  readonly resource: R
  /** The keys of the controller's own objects to reconcile when this object comes, changes or goes. */
  readonly map: (object: KubeObject) => ReadonlyArray<ObjectKey>
  readonly predicate?: Predicate<any> | undefined
  /** Label keys by whose value the cache finds objects without a scan. */
  readonly indexedLabels?: ReadonlyArray<string> | undefined
}

export interface Options<A extends KubeObject> extends Scope {
  readonly predicate?: Predicate<A> | undefined
}

/** Follows objects of a kind; `map` names whom each concerns. An update counts for what it was and for what it is. */
export const make = <R extends Resource.Any>(
  resource: R,
  options: Options<Resource.TypeOf<R>> & {
    readonly map: (object: Resource.TypeOf<R>) => ReadonlyArray<ObjectKey>
    readonly indexedLabels?: ReadonlyArray<string> | undefined
  }
): Watch<R> => ({ ...options, resource, map: options.map as Watch["map"] })

/** Caches a kind for reading, and reconciles nothing when it changes. */
export const cached = <R extends Resource.Any>(resource: R, scope: Scope = {}): Watch<R> => ({
  ...scope,
  resource,
  map: () => []
})

/** Follows the dependents an `OwnerLabel` marks, in any namespace. */
export const labelled = <R extends Resource.Any>(
  resource: R,
  label: OwnerLabel.OwnerLabel,
  options: Omit<Options<Resource.TypeOf<R>>, "labels"> = {}
): Watch<R> => ({
  ...options,
  resource,
  labels: [{ operator: "exists", key: label.key }],
  indexedLabels: [label.key],
  map: (object) => {
    const owner = OwnerLabel.ownerKey(label, object)
    return owner === undefined ? [] : [owner]
  }
})

/** Follows the dependents whose managing owner reference (`controller: true`) names an object of `owner`'s kind. */
export const owned = <R extends Resource.Any>(
  resource: R,
  owner: Resource.Any,
  options: Options<Resource.TypeOf<R>> = {}
): Watch<R> => ({
  ...options,
  resource,
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
