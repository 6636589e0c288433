import { CustomResource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as ApiService from "../../src/ApiService.ts"
import { Llama } from "./support.ts"

const kindOf = (group: string, more: object = {}) =>
  ApiService.stored(
    CustomResource.make({ group, version: "v1", kind: "Thing", spec: Schema.Struct({ n: Schema.Int }), ...more })
  )

describe("Api", () => {
  it("has the name and the priorities of an APIService", () => {
    const api = ApiService.make({ group: "farm.example.com", version: "v1alpha", kinds: [ApiService.stored(Llama)] })
    assert.deepInclude(api, { name: "v1alpha.farm.example.com", groupPriorityMinimum: 1000, versionPriority: 15 })
    assert.deepStrictEqual(ApiService.registration(api, { namespace: "farm", name: "api" }).spec, {
      group: "farm.example.com",
      version: "v1alpha",
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      service: { namespace: "farm", name: "api", port: 443 }
    })
  })

  it("refuses the groups of Kubernetes: an APIService would take over the cluster's own objects", () => {
    for (const group of ["apps.k8s.io", "rbac.authorization.k8s.io", "metrics.k8s.io", "x.kubernetes.io"]) {
      assert.throws(
        () => ApiService.make({ group, version: "v1", kinds: [kindOf(group)] }),
        `ApiService.make: group: "${group}": belongs to Kubernetes`
      )
    }
    for (const group of ["", "apps", "batch", "autoscaling", "policy"]) {
      assert.throws(
        () => ApiService.make({ group, version: "v1", kinds: [kindOf("a.example.com")] }),
        "belongs to Kubernetes"
      )
    }
    assert.doesNotThrow(() => ApiService.make({ group: "notk8s.io", version: "v1", kinds: [kindOf("notk8s.io")] }))
  })

  it("refuses kinds that would break discovery", () => {
    const make = (...kinds: ReadonlyArray<ReturnType<typeof kindOf>>) =>
      ApiService.make({ group: "a.example.com", version: "v1", kinds })
    assert.throws(
      () => make(kindOf("a.example.com"), kindOf("b.example.com")),
      `ApiService.make: kinds[1]: "Thing.v1.b.example.com": must be of a.example.com/v1`
    )
    assert.throws(
      () => make(kindOf("a.example.com"), kindOf("a.example.com")),
      "another kind already has the plural things"
    )
    assert.throws(() => make(), "must contain at least one kind")
    const scale = { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" }
    assert.throws(() => make(kindOf("a.example.com", { scale })), "has the subresource scale")
  })
})
