import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Managers from "../../../src/testing/apply/Managers.ts"
import * as ScaleEntries from "../../../src/testing/apply/ScaleEntries.ts"

const paths: ScaleEntries.ReplicasPath = (version) => version === "apps/v1" ? ["spec", "replicas"] : undefined

const entry = (manager: string, operation: string, fields: object, apiVersion = "apps/v1", more: object = {}) => ({
  manager,
  operation,
  apiVersion,
  fieldsType: "FieldsV1",
  fieldsV1: fields,
  ...more
})

const read = (...entries: ReadonlyArray<object>) => Result.getOrThrow(Managers.decode(entries))
const replicas = { "f:spec": { "f:replicas": {} } }

describe("ScaleEntries", () => {
  it("a Scale shows who owns the replicas", () => {
    const scale = ScaleEntries.toScale(
      read(
        entry("a", "Apply", { "f:spec": { "f:replicas": {}, "f:paused": {} } }),
        entry("b", "Update", { "f:spec": { "f:paused": {} } }),
        entry("c", "Update", replicas, "apps/v0")
      ),
      paths
    )
    assert.deepStrictEqual(Managers.encode(scale), [entry("a", "Apply", replicas, "autoscaling/v1")])
  })

  it("who lost them there loses them in the object, and who has them there has an entry", () => {
    const parent = read(
      entry("a", "Apply", { "f:spec": { "f:replicas": {}, "f:paused": {} } }),
      entry("b", "Apply", replicas),
      entry("c", "Update", replicas, "apps/v0")
    )
    const scale = read(
      entry("b", "Apply", replicas, "autoscaling/v1"),
      entry("d", "Update", replicas, "autoscaling/v1", { subresource: "scale", time: "2020-01-01T00:00:00Z" })
    )
    assert.deepStrictEqual(Managers.encode(ScaleEntries.toParent(parent, scale, "apps/v1", paths)), [
      entry("a", "Apply", { "f:spec": { "f:paused": {} } }),
      entry("b", "Apply", replicas),
      entry("d", "Update", replicas, "apps/v1", { subresource: "scale" })
    ])
  })
})
