/**
 * `Derived`: compiles the stored objects of a collection, and caches the result until the collection changes.
 *
 * An object that does not change is compiled once. For an empty collection a request costs one comparison.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Storage } from "../../api/Storage.ts"

/** The compiled objects of a collection, by name; the same array until the collection changes. */
export const collection = <A>(
  storage: Storage,
  name: string,
  compile: (object: KubeObject) => A
): () => ReadonlyArray<A> => {
  const compiled = new WeakMap<KubeObject, A>()
  const one = (object: KubeObject): A => {
    let known = compiled.get(object)
    if (known === undefined) compiled.set(object, known = compile(object))
    return known
  }
  let current: ReadonlyArray<A> | undefined
  storage.listen((change) => {
    if (change.collection === name) current = undefined
  })
  return () => {
    if (current !== undefined) return current
    const { get, keys } = storage.list(name)
    return current = keys.map((key) => one(get(key)))
  }
}
