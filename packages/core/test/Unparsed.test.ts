import { type Delta, type KubeObject, Projection, Resource, Unparsed, type WatchEvent } from "@effect-operator/core"
import { Store } from "@effect-operator/core/Store"
import { assert, describe, it } from "@effect/vitest"
import * as CacheIndex from "../src/CacheIndex.ts"
import { footprint } from "../src/internal/footprint.ts"
import { Prng } from "./support/Prng.ts"

interface Thing extends KubeObject.KubeObject {
  readonly spec: { readonly size: number }
}

const Thing = Resource.make<Thing>()({
  group: "test.io",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced"
})
const LazyThing = Projection.lazy(Thing)

const thing = (name: string, uid: string, version: number): Thing => ({
  apiVersion: "test.io/v1",
  kind: "Thing",
  metadata: {
    name,
    namespace: "a",
    uid,
    resourceVersion: String(version),
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { tier: String(version % 3) }
  },
  spec: { size: version % 5 }
})

const unparsed = (object: KubeObject.KubeObject): Unparsed.Unparsed => {
  const { name, namespace, resourceVersion, uid } = object.metadata
  return new Unparsed.Unparsed({ name, namespace, resourceVersion, uid }, JSON.stringify(object))
}

const isParsed = (object: Unparsed.Unparsed): boolean => object.length === undefined

const all = { matches: () => true }

describe("Unparsed", () => {
  it("a store of unparsed objects answers like a store of objects, and never shows one", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = new Prng(seed)
      const plain = new Store({ resource: Thing, ...all, indexedLabels: ["tier"] })
      const lazy = new Store({ resource: LazyThing, ...all, indexedLabels: ["tier"] })
      const bySize = CacheIndex.make(Thing, "size", ({ spec }) => [String(spec.size)])
      const present = new Map<string, Thing>()
      const expected: Array<Delta.Delta> = []
      const found: Array<Delta.Delta> = []
      const see = (deltas: ReadonlyArray<Delta.Delta>, into: Array<Delta.Delta>) => void into.push(...deltas)
      for (let version = 1; version <= 30; version++) {
        const name = random.pick(["1", "2", "3"])
        const known = present.get(name)
        const gone = known !== undefined && random.chance(0.3)
        const reborn = known === undefined || random.chance(0.2)
        const object = thing(name, reborn && !gone ? `u${version}` : known!.metadata.uid, version)
        if (gone) present.delete(name)
        else present.set(name, object)
        if (random.chance(0.1)) {
          const items = [...present.values()]
          see(plain.replace(items, String(version)), expected)
          see(lazy.replace(items.map(unparsed), String(version)), found)
          continue
        }
        const type = gone ? "DELETED" : known === undefined ? "ADDED" : "MODIFIED"
        see(plain.apply([{ type, object }]), expected)
        see(lazy.apply([{ type, object: unparsed(object) } as WatchEvent.WatchEvent]), found)
        if (random.chance(0.2)) {
          const key = `a/${random.pick(["1", "2", "3"])}`
          assert.deepStrictEqual(lazy.get(key), plain.get(key), `seed ${seed}`)
          assert.deepStrictEqual(lazy.watched(key), plain.watched(key), `seed ${seed}`)
          const sizes = (store: Store<Thing>) => [...store.lookup(bySize, "2")!]
          assert.deepStrictEqual(sizes(lazy), sizes(plain), `seed ${seed}`)
        }
      }
      const shown = (deltas: ReadonlyArray<Delta.Delta>) =>
        deltas.map((delta) =>
          delta._tag === "Updated"
            ? [delta._tag, delta.old, delta.object]
            : [delta._tag, delta._tag === "Invalid" ? delta.raw : delta.object]
        )
      assert.deepStrictEqual(shown(found), shown(expected), `seed ${seed}`)
      assert.deepStrictEqual([...lazy.values()], [...plain.values()], `seed ${seed}`)
      assert.deepStrictEqual([...lazy.watchedValues()], [...plain.watchedValues()], `seed ${seed}`)
      assert.deepStrictEqual([...lazy.keys()], [...plain.keys()], `seed ${seed}`)
      assert.deepStrictEqual(shown(lazy.snapshot()), shown(plain.snapshot()), `seed ${seed}`)
      for (const value of ["0", "1", "2"]) {
        const tier = (store: Store<Thing>) => [...store.lookup("label:tier", value)!]
        assert.deepStrictEqual(tier(lazy), tier(plain), `seed ${seed}`)
      }
    }
  })

  it("an object is parsed when it is read, once, and no other is", () => {
    const store = new Store({ resource: LazyThing, ...all })
    const objects = ["1", "2", "3"].map((name, n) => unparsed(thing(name, name, n + 1)))
    store.replace(objects, "3")
    const next = unparsed(thing("3", "3", 4))
    const [delta] = store.apply([{ type: "MODIFIED", object: next as KubeObject.KubeObject }])
    store.overlay({ _tag: "Deleted", resource: Thing, key: { namespace: "a", name: "1" }, uid: "1" })
    assert.deepStrictEqual([...store.keys()], ["a/2", "a/3"])
    assert.isAbove(store.bytes, 100)
    assert.deepStrictEqual([...objects, next].map(isParsed), [false, false, false, false])
    const second = store.get("a/2")
    assert.strictEqual(store.get("a/2"), second)
    assert.deepStrictEqual([...objects, next].map(isParsed), [false, true, false, false])
    assert.deepStrictEqual(delta?._tag === "Updated" ? delta.object : undefined, thing("3", "3", 4))
    assert.deepStrictEqual([...objects, next].map(isParsed), [false, true, false, true])
    assert.isAbove(footprint(objects[1]), 100)
  })

  it("has its metadata without parsing, and the rest from the text; an invalid text throws when it is read", () => {
    const object = unparsed(thing("1", "1", 7))
    assert.strictEqual(object.metadata.resourceVersion, "7")
    assert.isFalse(isParsed(object))
    assert.deepStrictEqual(object.metadata.labels, { tier: "1" })
    assert.isUndefined(object.metadata.deletionTimestamp)
    assert.strictEqual(object.kind, "Thing")
    const item = new Unparsed.Unparsed(
      { name: "a", namespace: undefined, uid: "u", resourceVersion: "1" },
      "{\"data\":{}}"
    )
    assert.deepStrictEqual(item.typed("v1", "Secret").object as unknown, { data: {}, apiVersion: "v1", kind: "Secret" })
    const broken = new Unparsed.Unparsed({ name: "a", namespace: undefined, uid: "u", resourceVersion: "1" }, "{]")
    assert.throws(() => broken.object, SyntaxError)
  })
})
