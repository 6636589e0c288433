import { assert, describe, it } from "@effect/vitest"
import { c, container, containerFaults, podFaults } from "../../../support/podFaults.ts"

const port = (more: object) => ({ containerPort: 80, protocol: "TCP", ...more })

describe("ContainerRules", () => {
  it("a port of the host is one container's", () => {
    const taken = container({ ports: [port({ hostPort: 80 })] })
    assert.deepStrictEqual(podFaults({ containers: [taken, { ...taken, name: "other" }] }), [
      "spec.containers[1].ports[0].hostPort: Duplicate value: \"TCP//80\""
    ])
    assert.deepStrictEqual(podFaults({ initContainers: [{ ...taken, name: "first" }], containers: [taken] }), [])
  })

  it("policies of resizing and of restarts", () => {
    assert.deepStrictEqual(
      containerFaults({
        resizePolicy: [{ resourceName: "gpu", restartPolicy: "NotRequired" }, { resourceName: "cpu" }]
      }),
      [
        `${c}.resizePolicy: Unsupported value: "gpu": supported values: "cpu", "memory"`,
        `${c}.resizePolicy: Required value`
      ]
    )
    assert.deepStrictEqual(containerFaults({ restartPolicyRules: [{ action: "Other" }] }), [
      `${c}.restartPolicy: Required value: must specify restartPolicy when restart rules are used`,
      `${c}.restartPolicyRules[0].action: Unsupported value: "Other": supported values: "Restart"`,
      `${c}.restartPolicyRules[0].exitCodes: Required value: must be specified`
    ])
  })

  it("only sidecars among the first have hooks and probes", () => {
    const lifecycle = { preStop: { sleep: { seconds: 99 } } }
    const first = (more: object) => podFaults({ initContainers: [container({ name: "first", ...more })] })
    assert.deepStrictEqual(first({ lifecycle }), [
      "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always"
    ])
    assert.deepStrictEqual(first({ lifecycle, restartPolicy: "Always" }), [
      "spec.initContainers[0].lifecycle.preStop.sleep: Invalid value: 99: must be non-negative and less than " +
      "terminationGracePeriodSeconds (30)"
    ])
  })

  it("those that somebody adds have little", () => {
    const e = "spec.ephemeralContainers[0]"
    assert.deepStrictEqual(
      podFaults({ ephemeralContainers: [{ ...container({ ports: [port({})] }), targetContainerName: "other" }] }),
      [
        `${e}.name: Duplicate value: "main"`,
        `${e}.targetContainerName: Not found: "other"`,
        `${e}.ports: Forbidden: cannot be set for an Ephemeral Container`
      ]
    )
  })
})
