import { assert, describe, it } from "@effect/vitest"
import * as PortWarnings from "../../../src/testing/warnings/PortWarnings.ts"

const port = (containerPort: number, more: object = {}) => ({ containerPort, protocol: "TCP", ...more })

const cases: ReadonlyArray<readonly [string, ReadonlyArray<object>, ReadonlyArray<string>]> = [
  ["other numbers or protocols", [port(80), port(81), port(80, { protocol: "UDP" })], []],
  ["the same port", [port(80), port(80)], ["c[1].ports[0]: duplicate port definition with c[0].ports[0]"]],
  ["one on the host", [port(80, { hostPort: 8080 }), port(80)], [
    "c[1].ports[0]: overlapping port definition with c[0].ports[0]"
  ]],
  ["one at an address of the host", [port(80, { hostPort: 80 }), port(80, { hostPort: 80, hostIP: "1.2.3.4" })], [
    "c[1].ports[0]: dangerously ambiguous port definition with c[0].ports[0]"
  ]],
  ["other ports of the host", [port(80, { hostPort: 80 }), port(80, { hostPort: 81 })], []],
  ["an address without a port", [port(80, { hostIP: "1.2.3.4" })], [
    "c[0].ports[0]: hostIP set without hostPort: " +
    "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}"
  ]],
  ["a name that comes again", [port(80, { name: "http" }), port(81, { name: "http" })], [
    `c[1].ports[0]: duplicate port name "http" with c[0].ports[0], services and probes that select ports by name will ` +
    "use c[0].ports[0]"
  ]]
]

describe("ports", () => {
  for (const [name, ports, warnings] of cases) {
    it(name, () =>
      assert.deepStrictEqual(
        PortWarnings.ofContainers(ports.map((port, index) => [{ ports: [port] }, `c[${index}]`])),
        warnings
      ))
  }
})
