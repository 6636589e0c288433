/** The indexes of one store, each built on first use and kept up to date from then on. */
import type { CacheIndex } from "../CacheIndex.ts"
import type { KubeObject } from "../KubeObject.ts"
import { parsed } from "../Unparsed.ts"
import { Buckets } from "./Buckets.ts"

/** Indexes for every kind, built on first use. */
const standard: Readonly<Record<string, (object: KubeObject) => ReadonlyArray<string>>> = {
  namespace: (object) => [object.metadata.namespace ?? ""],
  owner: (object) => object.metadata.ownerReferences?.map((reference) => reference.uid) ?? []
}

export class Indexes<A extends KubeObject> {
  readonly #most: number
  readonly #visible: () => Iterable<readonly [key: string, object: A | undefined]>
  /** By name, or by the index that a program declared. */
  readonly #built = new Map<string | CacheIndex, Buckets<A>>()

  /** At most `most` indexes, each built from what is visible then. */
  constructor(most: number, visible: () => Iterable<readonly [key: string, object: A | undefined]>) {
    this.#most = most
    this.#visible = visible
  }

  /** Undefined if there is no such index. */
  get(index: string | CacheIndex): Buckets<A> | undefined {
    const built = this.#built.get(index)
    if (built !== undefined) return built
    if (typeof index !== "string") {
      const valuesOf = (object: A) => index.valuesOf(parsed(object))
      return this.#build(index, `${index.name} of ${index.resource.id}`, valuesOf)
    }
    const valuesOf = standard[index]
    return valuesOf === undefined ? undefined : this.#build(index, index, valuesOf)
  }

  /** Indexes objects by the value of a label from now on, under `label:` and its key. */
  label(label: string): void {
    const name = `label:${label}`
    if (this.#built.has(name)) return
    this.#build(name, name, (object) => {
      const value = object.metadata.labels?.[label]
      return value === undefined ? [] : [value]
    })
  }

  /** Another object is visible under the key now. */
  update(key: string, before: A | undefined, now: A | undefined): void {
    for (const index of this.#built.values()) index.update(key, before, now)
  }

  #build(id: string | CacheIndex, name: string, valuesOf: (object: A) => ReadonlyArray<string>): Buckets<A> {
    if (this.#built.size >= this.#most) {
      throw new Error(
        `index ${name}: the cache already has ${this.#most} indexes: declare each once, outside the code that reads it`
      )
    }
    const built = new Buckets<A>(name, valuesOf)
    for (const [key, object] of this.#visible()) built.update(key, undefined, object)
    this.#built.set(id, built)
    return built
  }
}
