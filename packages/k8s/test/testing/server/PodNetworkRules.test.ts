import { assert, describe, it } from "@effect/vitest"
import { container, podFaults } from "../support/podFaults.ts"

const address = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

describe("PodNetworkRules", () => {
  it("whom it asks for names", () => {
    const d = "spec.dnsConfig"
    assert.deepStrictEqual(podFaults({ dnsPolicy: "None" }), [
      `${d}: Required value: must provide \`dnsConfig\` when \`dnsPolicy\` is None`
    ])
    assert.deepStrictEqual(podFaults({ dnsPolicy: "None", dnsConfig: { searches: ["a"] } }), [
      `${d}.nameservers: Required value: must provide at least one DNS nameserver when \`dnsPolicy\` is None`
    ])
    assert.deepStrictEqual(
      podFaults({
        dnsConfig: { nameservers: ["1.2.3.4", "::1", "x", "1.1.1.1"], searches: [".", "a_b."], options: [{}] }
      }),
      [
        `${d}.nameservers: Invalid value: ["1.2.3.4","::1","x","1.1.1.1"]: must not have more than 3 nameservers`,
        `${d}.nameservers[2]: Invalid value: "x": ${address}`,
        `${d}.options[0]: Required value: must not be empty`
      ]
    )
  })

  it("names that it knows by itself", () => {
    const faults = podFaults({ hostAliases: [{ ip: "300.1.1.1", hostnames: ["a", "A B"] }] })
    assert.strictEqual(faults[0], `spec.hostAliases[0].ip: Invalid value: "300.1.1.1": ${address}`)
    assert.isTrue(
      faults[1]?.startsWith("spec.hostAliases[0].hostnames[1]: Invalid value: \"A B\": a lowercase RFC 1123")
    )
  })

  it("ports and names of its host", () => {
    const ports = [{ containerPort: 80, hostPort: 81, protocol: "TCP" }]
    assert.deepStrictEqual(
      podFaults({ hostNetwork: true, hostnameOverride: "a", containers: [container({ ports })] }),
      [
        "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
        "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true"
      ]
    )
  })
})
