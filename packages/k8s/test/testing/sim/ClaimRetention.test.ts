import { controllerReference, type KubeObject, type OwnerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import type { StatefulSet } from "../../../src/kinds/apps.v1.ts"
import * as ClaimRetention from "../../../src/testing/sim/ClaimRetention.ts"

const object = (apiVersion: string, kind: string, name: string, uid: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, uid, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" }
})

const set = (whenDeleted: string, whenScaled: string): StatefulSet => ({
  ...object("apps/v1", "StatefulSet", "db", "set"),
  spec: {
    selector: {},
    template: {},
    persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled }
  }
} as StatefulSet)

const pod = object("v1", "Pod", "db-0", "pod")
const claim = (...ownerReferences: ReadonlyArray<OwnerReference>): KubeObject => {
  const { metadata, ...rest } = object("v1", "PersistentVolumeClaim", "data-db-0", "claim")
  return { ...rest, metadata: { ...metadata, ownerReferences } }
}

const bySet = controllerReference(set("Retain", "Retain"))
const byPod = controllerReference(pod)
const uids = (of: ReadonlyArray<OwnerReference> | undefined) => of?.map(({ uid }) => uid)

describe("ClaimRetention", () => {
  it("a claim belongs to whoever it is to go with", () => {
    const owner = (whenDeleted: string, whenScaled: string, condemned: boolean) =>
      uids(ClaimRetention.wanted(claim(), set(whenDeleted, whenScaled), pod, condemned))
    assert.deepStrictEqual(
      [false, true].map((condemned) => [
        owner("Retain", "Retain", condemned),
        owner("Delete", "Retain", condemned),
        owner("Retain", "Delete", condemned),
        owner("Delete", "Delete", condemned)
      ]),
      [
        [undefined, ["set"], undefined, ["set"]],
        [undefined, ["set"], ["pod"], ["pod"]]
      ]
    )
  })

  it("a claim that has its owner, or none as it should, is left alone", () => {
    assert.isUndefined(ClaimRetention.wanted(claim(bySet), set("Delete", "Delete"), pod, false))
    assert.deepStrictEqual(ClaimRetention.wanted(claim(bySet), set("Retain", "Retain"), pod, false), [])
    assert.deepStrictEqual(uids(ClaimRetention.wanted(claim(bySet), set("Delete", "Delete"), pod, true)), ["pod"])
    assert.deepStrictEqual(
      ClaimRetention.wanted(claim({ ...bySet, controller: false }), set("Delete", "Delete"), pod, false),
      [bySet]
    )
  })

  it("references of an earlier Pod of the name make the claim stale, another controller makes it foreign", () => {
    assert.isTrue(ClaimRetention.isStale(claim({ ...byPod, uid: "earlier" }), pod))
    assert.isUndefined(ClaimRetention.wanted(claim({ ...byPod, uid: "earlier" }), set("Delete", "Delete"), pod, true))
    const other = { ...byPod, kind: "Other", name: "o", uid: "o" }
    assert.isTrue(ClaimRetention.isForeign(claim(other), set("Delete", "Retain"), pod))
    assert.isFalse(ClaimRetention.isForeign(claim(other), set("Retain", "Retain"), pod))
    assert.isUndefined(ClaimRetention.wanted(claim(other), set("Delete", "Delete"), pod, false))
  })
})
