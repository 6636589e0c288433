import { assert, describe, it } from "@effect/vitest"
import * as AddressWarnings from "../../../src/testing/warnings/AddressWarnings.ts"

describe("an address", () => {
  for (
    const [value, ...warnings] of [
      ["10.9.8.7"],
      ["2001:db8::ffff"],
      ["no address"],
      [
        "010.9.8.7",
        `ip: non-standard IP address "010.9.8.7" will be considered invalid in a future Kubernetes release: use "10.9.8.7"`
      ],
      [
        "::ffff:1.2.3.4",
        `ip: non-standard IP address "::ffff:1.2.3.4" will be considered invalid in a future Kubernetes release: use "1.2.3.4"`
      ],
      ["2001:DB8:0::1", `ip: IPv6 address "2001:DB8:0::1" should be in RFC 5952 canonical format ("2001:db8::1")`]
    ] as const
  ) it(value, () => assert.deepStrictEqual(AddressWarnings.ofAddress("ip", value), warnings))
})

describe("a range", () => {
  for (
    const [value, ...warnings] of [
      ["10.9.8.0/24"],
      ["2001:db8::/64"],
      ["no range"],
      [
        "10.9.8.7/24",
        `r: CIDR value "10.9.8.7/24" is ambiguous in this context (should be "10.9.8.0/24" or "10.9.8.7/32"?)`
      ],
      [
        "010.9.8.0/24",
        `r: non-standard CIDR value "010.9.8.0/24" will be considered invalid in a future Kubernetes release: use "10.9.8.0/24"`
      ],
      [
        "2001:DB8::/64",
        `r: IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")`
      ]
    ] as const
  ) it(value, () => assert.deepStrictEqual(AddressWarnings.ofRange("r", value), warnings))
})
