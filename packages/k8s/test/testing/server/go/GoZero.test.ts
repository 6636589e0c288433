import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as BuiltinSchema from "../../../../src/testing/server/go/BuiltinSchema.ts"
import * as GoZero from "../../../../src/testing/server/go/GoZero.ts"

const read = (definition: string, body: Record<string, unknown>) => {
  const decoded = BuiltinSchema.decode(definition, body)
  return GoZero.complete(definition, Result.getOrThrow(decoded).object)
}

describe("GoZero", () => {
  it("leaves out what a type does not tell from nothing, and keeps what a pointer tells", () => {
    const pod = read("io.k8s.api.core.v1.PodSpec", {
      hostNetwork: false,
      nodeName: "",
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      tolerations: [],
      nodeSelector: {},
      securityContext: {},
      containers: [{ name: "a", image: "", stdin: false, resources: {} }]
    })
    assert.deepStrictEqual(pod, {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: {},
      containers: [{ name: "a", resources: {} }]
    })
  })

  it("adds what is told though it is empty: structs, times, lists without omitempty", () => {
    assert.deepStrictEqual(read("io.k8s.api.coordination.v1.Lease", {}), { spec: {} })
    assert.deepStrictEqual(read("io.k8s.api.rbac.v1.Role", { rules: [] }), { rules: null })
    assert.deepStrictEqual(read("io.k8s.api.core.v1.PodCondition", { type: "Ready", status: "True" }), {
      type: "Ready",
      status: "True",
      lastProbeTime: null,
      lastTransitionTime: null
    })
    assert.deepStrictEqual(read("io.k8s.api.core.v1.ConfigMap", { data: { a: "" }, immutable: false }), {
      data: { a: "" },
      immutable: false
    })
  })

  it("leaves metadata of the object itself alone", () => {
    const metadata = { name: "a" }
    assert.deepStrictEqual(GoZero.complete("io.k8s.api.core.v1.ConfigMap", { metadata }), { metadata })
  })

  it("completes twice as once", () => {
    const once = read("io.k8s.api.apps.v1.Deployment", { spec: { template: { spec: { containers: [{}] } } } })
    assert.deepStrictEqual(GoZero.complete("io.k8s.api.apps.v1.Deployment", once), once)
  })

  it("nulls in lists are empty values; a number beyond 32 bits is none", () => {
    assert.deepStrictEqual(read("io.k8s.api.rbac.v1.PolicyRule", { verbs: [null] }), { verbs: [""] })
    assert.deepStrictEqual(read("io.k8s.api.core.v1.ServiceAccount", { secrets: [null] }), { secrets: [{}] })
    const large = BuiltinSchema.decode("io.k8s.api.autoscaling.v1.ScaleSpec", { replicas: 2 ** 31 })
    assert.isTrue(Result.isFailure(large))
  })
})
