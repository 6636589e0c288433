import { assert, describe, it } from "@effect/vitest"
import { c, containerFaults, podFaults } from "../../../support/podFaults.ts"

const r = `${c}.resources`
const resources = (value: object) => containerFaults({ resources: value })

describe("ResourceRules", () => {
  it("what is not of Kubernetes is whole and limited to what is requested", () => {
    const gpu = "example.com/gpu"
    assert.deepStrictEqual(resources({ limits: { [gpu]: "2" }, requests: { [gpu]: "2" } }), [])
    assert.deepStrictEqual(resources({ requests: { [gpu]: "1500m" } }), [
      `${r}.requests[${gpu}]: Invalid value: "1500m": must be an integer`,
      `${r}.limits: Required value: Limit must be set for non overcommitable resources`
    ])
    assert.deepStrictEqual(resources({ limits: { [gpu]: "2" }, requests: { [gpu]: "1" } }), [
      `${r}.requests: Invalid value: "1": must be equal to ${gpu} limit of 2`
    ])
    assert.deepStrictEqual(resources({ limits: { "requests.example.com/gpu": "1" } }), [
      `${r}.limits[requests.example.com/gpu]: Invalid value: "requests.example.com/gpu": doesn't follow extended resource ` +
      "name standard"
    ])
  })

  it("huge pages come with memory, devices with claims", () => {
    assert.deepStrictEqual(resources({ limits: { "hugepages-2Mi": "2Mi" } }), [
      `${r}: Forbidden: HugePages require cpu or memory`
    ])
    assert.deepStrictEqual(resources({ claims: [{ name: "a" }, {}] }), [
      `${r}.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty`,
      `${r}.claims[1]: Required value`
    ])
  })

  it("a Pod as a whole has the common ones", () => {
    assert.deepStrictEqual(podFaults({ resources: { requests: { storage: "1" } } }), [
      "spec.resources.requests[storage]: Unsupported value: \"storage\": supported values: \"cpu\", \"hugepages-\", \"memory\""
    ])
  })
})
