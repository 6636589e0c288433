import { assert, describe, it } from "@effect/vitest"
import * as GoInternal from "../../../../src/testing/server/go/GoInternal.ts"

const print = (type: string, value: unknown): unknown => JSON.parse(GoInternal.print(type, value))

describe("GoInternal", () => {
  it("prints all fields of a type by their Go names, in the order of the struct", () => {
    assert.strictEqual(
      GoInternal.print("core.Toleration", { operator: "Exists" }),
      `{"Key":"","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}`
    )
    assert.strictEqual(GoInternal.print("*core.Probe", undefined), "null")
    assert.strictEqual(
      GoInternal.print("batch.SuccessPolicy", { rules: [{ succeededCount: 2 }] }),
      `{"Rules":[{"SucceededIndexes":null,"SucceededCount":2}]}`
    )
  })

  it("fields of what has no name stand among those of the struct around it", () => {
    const text = GoInternal.print("core.Volume", { name: "v", emptyDir: { medium: "Memory" } })
    assert.match(text, /^\{"Name":"v","HostPath":null,"EmptyDir":\{"Medium":"Memory","SizeLimit":null\},"GCE/)
    const probe = GoInternal.print("core.Probe", { httpGet: { port: "http" }, periodSeconds: 3 })
    assert.match(probe, /^\{"Exec":null,"HTTPGet":\{"Path":"","Port":"http",.*"PeriodSeconds":3,/)
  })

  it("metadata and selectors are printed as the API has them", () => {
    const template = { metadata: { labels: { b: "1", a: "2" }, annotations: { c: "d" } }, spec: { hostPID: true } }
    assert.match(
      GoInternal.print("core.PodTemplateSpec", template),
      /^\{"labels":\{"a":"2","b":"1"\},"annotations":\{"c":"d"\},"Spec":\{"Volumes":null,/
    )
    const term = { topologyKey: "z", labelSelector: { matchExpressions: [{ key: "k", operator: "Exists" }] } }
    assert.match(
      GoInternal.print("core.PodAffinityTerm", term),
      /"matchExpressions":\[\{"key":"k","operator":"Exists"\}\]\},"Namespaces":null,"TopologyKey":"z"/
    )
  })

  it("what the API says of a Pod itself may be its security context's", () => {
    const { SecurityContext } = print("core.PodSpec", { hostPID: true, securityContext: { runAsUser: 5 } }) as {
      readonly SecurityContext: unknown
    }
    assert.deepInclude(SecurityContext as object, { HostNetwork: false, HostPID: true, RunAsUser: 5, FSGroup: null })
    assert.deepInclude(print("core.PodSpec", {}) as object, { SecurityContext: null, RestartPolicy: "" })
  })

  it("knows fields that are called otherwise", () => {
    assert.deepInclude(print("core.RBDVolumeSource", { monitors: ["m"], image: "i" }) as object, {
      CephMonitors: ["m"],
      RBDImage: "i"
    })
  })
})
