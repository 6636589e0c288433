import { begun, imageOf } from "@effect-operator/k8s/testing/simulation/world/Server"
import { assert, describe, it } from "@effect/vitest"

describe("Server", () => {
  it("begins, in each of two runs elsewhere, shortly before its versions are of one digit more", () => {
    const image = imageOf({ resources: [] })
    const [one, two] = [1, 2].map((seed) => begun(image, seed).revision) as [number, number]
    assert.isAtLeast(one, image.revision)
    for (const revision of [one, two]) {
      assert.isBelow(String(revision).length, String(revision + 5).length)
    }
    assert.isAbove(two, one + 1_000)
    assert.strictEqual(begun(image, 3).revision, one)
    assert.strictEqual(begun({ ...image, revision: 997 }, 1).revision, 9_995)
  })

  it("in another order of tasks, versions become longer at another place", () => {
    const image = imageOf({ resources: [] })
    const starts = [0, 12_345, 987_654].map((interleaving) => begun(image, 1, interleaving).revision)
    assert.lengthOf(new Set(starts), 3)
    for (const revision of starts) {
      assert.isAtLeast(revision, image.revision)
      assert.isBelow(String(revision).length, String(revision + 60).length)
    }
  })
})
