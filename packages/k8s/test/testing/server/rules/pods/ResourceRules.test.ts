import { assert, describe, it } from "@effect/vitest"
import { c, container, containerFaults, podFaults } from "../../../support/podFaults.ts"

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

  it("containers together request no more than their Pod, and none may use more", () => {
    const of = (whole: object, ...containers: ReadonlyArray<object>) =>
      podFaults({
        resources: whole,
        containers: containers.map((own, index) => container({ name: `c${index}`, resources: own }))
      })
    const whole = { requests: { cpu: "300m" }, limits: { cpu: "1", memory: "1Gi" } }
    assert.deepStrictEqual(
      of(whole, { requests: { cpu: "100m" } }, { requests: { cpu: "200m" }, limits: { cpu: "1" } }),
      []
    )
    assert.deepStrictEqual(of(whole, { requests: { cpu: "200m" } }, { requests: { cpu: "200m" } }), [
      `spec.resources.requests[cpu]: Invalid value: "300m": must be greater than or equal to aggregate container ` +
      "requests of 400m"
    ])
    assert.deepStrictEqual(of(whole, {}, { limits: { cpu: "2", memory: "1Gi", "example.com/x": "1" } }), [
      `spec.resources.containers[1][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1`
    ])
    const pages = (amount: string) => ({ limits: { memory: "1Gi", "hugepages-2Mi": amount } })
    const fixed = { ...pages("4Mi"), requests: { "hugepages-2Mi": "4Mi" } }
    assert.deepStrictEqual(of(fixed, pages("2Mi"), pages("2Mi")), [])
    assert.deepStrictEqual(of(fixed, pages("2Mi"), pages("4Mi")), [
      `spec.resources.limits[hugepages-2Mi]: Invalid value: "4Mi": must be greater than or equal to aggregate container ` +
      "limits of 6Mi"
    ])
  })

  it("a Pod of Windows has none of its own", () => {
    assert.include(
      podFaults({ os: { name: "windows" }, resources: { requests: { storage: "1" } } }),
      "spec.resources: Forbidden: may not be set for a windows pod"
    )
  })
})
