import { assert, describe, it } from "@effect/vitest"
import { c, containerFaults } from "../../../support/podFaults.ts"

describe("HandlerRules", () => {
  it("probes do one thing, within bounds", () => {
    const httpGet = { path: "/", port: 80, scheme: "HTTP", httpHeaders: [{ name: "a b" }] }
    assert.deepStrictEqual(containerFaults({ readinessProbe: { httpGet, tcpSocket: { port: 0 } } }), [
      `${c}.readinessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric ` +
      "characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      `${c}.readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`
    ])
    const probe = { grpc: { port: 70000 }, successThreshold: 1, terminationGracePeriodSeconds: 0 }
    assert.deepStrictEqual(containerFaults({ livenessProbe: probe }), [
      `${c}.livenessProbe.grpc.port: Invalid value: 70000: must be between 1 and 65535, inclusive`,
      `${c}.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`
    ])
    assert.deepStrictEqual(
      containerFaults({ readinessProbe: { exec: { command: ["a"] }, terminationGracePeriodSeconds: 3 } }),
      [
        `${c}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for readinessProbes`
      ]
    )
  })

  it("hooks do something", () => {
    assert.deepStrictEqual(containerFaults({ lifecycle: { postStart: {}, preStop: { exec: {} } } }), [
      `${c}.lifecycle.postStart: Required value: must specify a handler type`,
      `${c}.lifecycle.preStop.exec.command: Required value`
    ])
  })
})
