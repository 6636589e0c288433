/** Options of cache reads, and the reads of a map function, which a watch can declare before there is a cache. */
import type { CacheIndex } from "../CacheIndex.ts"
import type { KubeObject, ObjectRef } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"
import type { LabelsInput } from "../Selector.ts"

export interface ReadOptions {
  /** `watched` reads what the watch has reported, without own writes, and never waits; `own-writes` by default. */
  readonly consistency?: "own-writes" | "watched" | undefined
}

export interface ListOptions extends ReadOptions {
  /** One namespace; all that are cached if absent. */
  readonly namespace?: string | undefined
  readonly labels?: LabelsInput | undefined
  /** Only objects with an owner reference to this object, or to the object of this uid. */
  readonly owner?: KubeObject | string | undefined
  readonly filter?: ((object: KubeObject) => boolean) | undefined
}

/** The list options for one type. */
export type ListOptionsOf<A> = Omit<ListOptions, "filter"> & {
  readonly filter?: ((object: A) => boolean) | undefined
}

export interface IndexOptions extends ReadOptions {
  readonly namespace?: string | undefined
}

/**
 * Synchronous reads for the map function of a watch, of the kinds that the watch names in `reads`. They include own
 * writes as far as those are known, but cannot wait for more.
 */
export interface View<in Ids extends string> {
  readonly get: <A extends KubeObject, Id extends Ids>(
    resource: Resource.Resource<A, Id>,
    ref: ObjectRef
  ) => A | undefined
  readonly list: <A extends KubeObject, Id extends Ids>(
    resource: Resource.Resource<A, Id>,
    options?: ListOptionsOf<A>
  ) => ReadonlyArray<A>
  readonly byIndex: <A extends KubeObject, Id extends Ids>(
    index: CacheIndex<A, Id>,
    value: string,
    options?: IndexOptions
  ) => ReadonlyArray<A>
}
