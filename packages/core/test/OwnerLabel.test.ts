import { type KubeObject, OwnerLabel, Selector } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"

const label = OwnerLabel.make("test.io/owner")
const owner: KubeObject.KubeObject = {
  apiVersion: "test.io/v1",
  kind: "Owner",
  metadata: {
    // Longer than a label value may be, and with the slash it may not have.
    name: "n".repeat(253),
    namespace: "d",
    uid: "8ccb5fa3-f082-4853-af99-c8e499f04e06",
    resourceVersion: "1",
    creationTimestamp: ""
  }
}
const dependent = { metadata: OwnerLabel.metadata(label, owner) }

describe("OwnerLabel", () => {
  it("marks dependents with a legal label that finds them", () => {
    const selector = OwnerLabel.selector(label, owner)
    assert.isTrue(Selector.matchesLabels(selector, dependent.metadata.labels))
    assert.deepStrictEqual(Selector.parseLabels(Selector.formatLabels(selector))._tag, "Success")
    const other = { ...owner, metadata: { ...owner.metadata, uid: "another" } }
    assert.isFalse(Selector.matchesLabels(OwnerLabel.selector(label, other), dependent.metadata.labels))
  })

  it("finds the owner of a dependent in any namespace", () => {
    assert.deepStrictEqual(OwnerLabel.ownerKey(label, dependent), { namespace: "d", name: owner.metadata.name })
    const { namespace: _, ...metadata } = owner.metadata
    const global = { metadata: OwnerLabel.metadata(label, { ...owner, metadata }) }
    assert.deepStrictEqual(OwnerLabel.ownerKey(label, global), { name: owner.metadata.name })
  })

  it("finds no owner of an unmarked object", () => {
    assert.isUndefined(OwnerLabel.ownerKey(label, { metadata: {} }))
    assert.isUndefined(OwnerLabel.ownerKey(label, { metadata: { annotations: { "test.io/owner": "" } } }))
    assert.isUndefined(OwnerLabel.ownerKey(OwnerLabel.make("other.io/owner"), dependent))
  })
})
