import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as ObjectMetaShape from "../../src/schema/ObjectMetaShape.ts"

describe("decode", () => {
  it("drops and names what metadata does not have", () => {
    const owner = { apiVersion: "v1", kind: "K", name: "n", uid: "u" }
    assert.deepStrictEqual(
      ObjectMetaShape.decode({ name: "a", foo: 1, ownerReferences: [{ ...owner, zz: 1 }] }),
      Result.succeed({ metadata: { name: "a", ownerReferences: [owner] }, unknown: ["foo", "ownerReferences[0].zz"] })
    )
  })

  it("leaves out what is empty; null is absent, or empty in a map", () => {
    const empty = { name: "", labels: {}, annotations: null, finalizers: [], selfLink: "", generation: 0 }
    assert.deepStrictEqual(ObjectMetaShape.decode(empty), Result.succeed({ metadata: {}, unknown: [] }))
    assert.deepStrictEqual(
      ObjectMetaShape.decode({ labels: { a: null }, deletionGracePeriodSeconds: 0 }),
      Result.succeed({ metadata: { labels: { a: "" }, deletionGracePeriodSeconds: 0 }, unknown: [] })
    )
  })

  it("times are whole seconds of UTC", () => {
    assert.deepStrictEqual(
      ObjectMetaShape.decode({ creationTimestamp: "2020-01-01T00:00:00.5+01:00" }),
      Result.succeed({ metadata: { creationTimestamp: "2019-12-31T23:00:00Z" }, unknown: [] })
    )
  })

  const wrong: ReadonlyArray<readonly [unknown, string]> = [
    ["x", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"],
    [{ name: 1 }, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"],
    [{ labels: { a: 1 } }, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"],
    [{ labels: [] }, "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string"],
    [{ finalizers: "x" }, "json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string"],
    [{ finalizers: [true] }, "json: cannot unmarshal bool into Go struct field ObjectMeta.finalizers of type string"],
    [{ generation: 1.5 }, "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64"],
    [{ creationTimestamp: 1 }, "json: cannot unmarshal number into Go value of type string"],
    [{ creationTimestamp: "x" }, "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""],
    [
      { ownerReferences: [{ controller: "x" }] },
      "json: cannot unmarshal string into Go struct field ObjectMeta.ownerReferences.controller of type bool"
    ]
  ]
  for (const [metadata, message] of wrong) {
    it(message, () => assert.deepStrictEqual(ObjectMetaShape.decode(metadata), Result.fail(message)))
  }
})
