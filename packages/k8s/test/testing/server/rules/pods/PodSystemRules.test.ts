import { assert, describe, it } from "@effect/vitest"
import { container, podFaults } from "../../../support/podFaults.ts"

describe("PodSystemRules", () => {
  it("what it runs on", () => {
    assert.deepStrictEqual(podFaults({ os: {} }), ["spec.os.name: Required value"])
    assert.deepStrictEqual(podFaults({ os: { name: "plan9" } }), [
      "spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\""
    ])
    assert.deepStrictEqual(
      podFaults({
        os: { name: "windows" },
        hostPID: true,
        hostIPC: false,
        shareProcessNamespace: false,
        containers: [container({ securityContext: { runAsUser: 1 } })]
      }),
      [
        "spec.hostPID: Forbidden: cannot be set for a windows pod",
        "spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod",
        "spec.containers[0].securityContext.runAsUser: Forbidden: cannot be set for a windows pod"
      ]
    )
  })

  it("users of its own share nothing with the host", () => {
    assert.deepStrictEqual(podFaults({ hostUsers: false, hostNetwork: true, hostIPC: true }), [
      "spec.hostNetwork: Forbidden: when `hostUsers` is false",
      "spec.HostIPC: Forbidden: when `hostUsers` is false"
    ])
  })
})
