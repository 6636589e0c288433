import { assert, describe, it } from "@effect/vitest"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as PathElement from "../../../src/testing/apply/PathElement.ts"
import * as Reach from "../../../src/testing/apply/Reach.ts"

const set = FieldSet.of(
  ["f:metadata", "f:labels", "f:a"],
  ["f:metadata", "f:ownerReferences"],
  ["f:spec"],
  ["f:spec", "f:containers", `k:{"name":"c"}`, "f:image"],
  ["f:spec", "f:containers", `k:{"name":"c"}`, "f:resources", "f:limits"],
  ["f:spec", "f:ephemeralContainers", `k:{"name":"e"}`],
  ["f:status", "f:phase"]
)

const reached = (collection: string, subresource: string, status = true): ReadonlyArray<string> =>
  FieldSet.paths(Reach.of(collection, subresource, status)(set)).map(PathElement.printPath)

describe("Reach", () => {
  it("an object's own endpoint does not reach the status, if that has one", () => {
    assert.notInclude(reached("pods", ""), ".status.phase")
    assert.strictEqual(reached("pods", "").length, 6)
    assert.include(reached("configmaps", "", false), ".status.phase")
  })

  it("the status endpoint does not reach the spec, and what else the kind resets", () => {
    assert.sameMembers(reached("things.g", "status").slice(), [
      ".metadata.labels.a",
      ".metadata.ownerReferences",
      ".status.phase"
    ])
    assert.sameMembers(reached("pods", "status").slice(), [".metadata.labels.a", ".status.phase"])
    assert.sameMembers(reached("deployments.apps", "status").slice(), [".metadata.ownerReferences", ".status.phase"])
    assert.deepStrictEqual(reached("flowschemas.flowcontrol.apiserver.k8s.io", "status"), [".status.phase"])
  })

  it("endpoints of parts of a Pod, and scale, reset nothing", () => {
    for (const subresource of ["ephemeralcontainers", "resize"]) {
      assert.includeMembers(reached("pods", subresource).slice(), [".metadata.labels.a", ".status.phase"])
    }
    assert.include(reached("deployments.apps", "scale"), ".spec")
  })
})
