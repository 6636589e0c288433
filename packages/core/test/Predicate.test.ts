import { type Delta, type KubeObject, Predicate } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"

interface Thing extends KubeObject.KubeObject {
  readonly spec?: { readonly size: number }
}

const thing = (metadata: Partial<KubeObject.ObjectMeta> = {}, size = 1): Thing => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "", generation: 1, ...metadata },
  spec: { size }
})
const update = (old: Thing, object: Thing): Delta.Delta<Thing> => ({ _tag: "Updated", old, object })
const added: Delta.Delta<Thing> = { _tag: "Added", object: thing() }
const deleted: Delta.Delta<Thing> = { _tag: "Deleted", object: thing() }
const invalid: Delta.Delta<Thing> = { _tag: "Invalid", raw: thing(), issues: [] }
const touched = update(thing(), thing({ resourceVersion: "2" }))

const sizeChanged = Predicate.changed<Thing>(({ spec }) => spec)
const named: ReadonlyArray<readonly [name: string, predicate: Predicate.Predicate<Thing>]> = [
  ["changed", sizeChanged],
  ["generationChanged", Predicate.generationChanged],
  ["labelsChanged", Predicate.labelsChanged],
  ["annotationsChanged", Predicate.annotationsChanged]
]

describe("Predicate", () => {
  it.each(named)("%s drops an update that changes nothing it looks at", (_, predicate) => {
    assert.isFalse(predicate(touched))
  })

  it.each(named)("%s passes additions, deletions and invalid objects", (_, predicate) => {
    for (const delta of [added, deleted, invalid]) assert.isTrue(predicate(delta), delta._tag)
  })

  it.each(named)("%s passes another object with the same name, however similar", (_, predicate) => {
    assert.isTrue(predicate(update(thing(), thing({ uid: "other" }))))
  })

  it.each(named)("%s passes the beginning of a deletion", (_, predicate) => {
    assert.isTrue(predicate(update(thing(), thing({ deletionTimestamp: "2026-01-01T00:00:00Z" }))))
    const terminating = thing({ deletionTimestamp: "2026-01-01T00:00:00Z" })
    assert.isFalse(predicate(update(terminating, { ...terminating })))
  })

  it("passes the changes that each is named after", () => {
    assert.isTrue(sizeChanged(update(thing(), thing({}, 2))))
    assert.isTrue(Predicate.generationChanged(update(thing(), thing({ generation: 2 }))))
    assert.isTrue(Predicate.labelsChanged(update(thing(), thing({ labels: { a: "1" } }))))
    assert.isFalse(Predicate.labelsChanged(update(thing(), thing({ annotations: { a: "1" } }))))
    assert.isTrue(Predicate.annotationsChanged(update(thing({ annotations: { a: "1" } }), thing())))
    assert.isFalse(Predicate.annotationsChanged(update(thing(), thing({ labels: { a: "1" } }))))
  })

  it("passes every update of a kind without generation", () => {
    const { generation: _, ...metadata } = thing().metadata
    const plain = { ...thing(), metadata }
    assert.isTrue(Predicate.generationChanged(update(plain, { ...plain })))
  })

  it("can be combined", () => {
    const yes = () => true
    const no = () => false
    assert.deepStrictEqual([Predicate.any(no, yes)(added), Predicate.any(no, no)(added), Predicate.any()(added)], [
      true,
      false,
      false
    ])
    assert.deepStrictEqual([Predicate.all(yes, yes)(added), Predicate.all(yes, no)(added), Predicate.all()(added)], [
      true,
      false,
      true
    ])
    assert.isFalse(Predicate.not(yes)(added))
    const either = Predicate.any(Predicate.generationChanged, Predicate.labelsChanged)
    assert.isTrue(either(update(thing(), thing({ labels: { a: "1" } }))))
    assert.isFalse(either(touched))
  })

  it("a function within a combination knows the kind from where that is used, or names it", () => {
    const grows = Predicate.all<Thing>(
      Predicate.not(Predicate.labelsChanged),
      Predicate.any(Predicate.generationChanged, Predicate.changed((thing) => thing.spec?.size))
    )
    const kindOf: Predicate.Predicate<Thing> = Predicate.any(
      Predicate.generationChanged,
      (delta) => delta._tag === "Added" && delta.object.spec?.size === 1
    )
    const own = Predicate.any(Predicate.generationChanged, Predicate.changed((thing: Thing) => thing.spec?.size))
    assert.deepStrictEqual([grows, kindOf, own].map((predicate) => predicate(touched)), [false, false, false])
  })
})
