import { assert, describe, it } from "@effect/vitest"
import { container, podFaults } from "../../../support/podFaults.ts"

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
        dnsConfig: { nameservers: ["1.2.3.4", "::1", "x", "1.1.1.1"], searches: [".", "_a_b."], options: [{}] }
      }),
      [
        `${d}.nameservers: Invalid value: ["1.2.3.4","::1","x","1.1.1.1"]: must not have more than 3 nameservers`,
        `${d}.nameservers[2]: Invalid value: "x": ${address}`,
        `${d}.options[0]: Required value: must not be empty`
      ]
    )
    const syntax =
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', " +
      "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
      "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
    assert.deepStrictEqual(
      podFaults({ dnsConfig: { searches: ["a_", "__a"] } }),
      [
        `${d}.searches[0]: Invalid value: "a_": ${syntax}`,
        `${d}.searches[1]: Invalid value: "__a": ${syntax}`
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
