import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer, patch, post } from "../../support/server.ts"

const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

const result = (fields: object = {}) => ({
  request: "r",
  driver: "d.example.com",
  pool: "n1",
  device: "gpu-0",
  ...fields
})
const allocation = (fields: object = {}) => ({ devices: { results: [result(fields)] } })
const device = (fields: object = {}) => ({ driver: "d.example.com", pool: "n1", device: "gpu-0", ...fields })
const user = { resource: "pods", name: "p", uid: "u" }

const made = post(claims, {
  metadata: { name: "a" },
  spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } }
})

const say = (status: object) => patch(`${claims}/a/status`, "merge", { status })

const printed = (name: string) => `{"Driver":"d.example.com","Pool":"n1","Device":"${name}","ShareID":""}`

const refused: ReadonlyArray<readonly [status: object, ...causes: ReadonlyArray<string>]> = [
  [{ reservedFor: [user] }, "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"],
  [
    { allocation: allocation(), reservedFor: [user, { ...user, apiGroup: "x" }] },
    "status.reservedFor[1]: Duplicate value: \"u\""
  ],
  [
    { allocation: allocation(), devices: [device({ device: "no" })] },
    `status.devices[0]: Invalid value: ${printed("no")}: must be an allocated device in the claim`
  ],
  [
    { allocation: allocation(), devices: [device(), device()] },
    `status.devices[1]: Duplicate value: ${printed("gpu-0")}`
  ],
  [
    { allocation: allocation(), devices: [device({ data: [1], networkData: { ips: ["10.0.0.1", "10.0.0.1/24"] } })] },
    "status.devices[0].data: Invalid value: \"<value omitted>\": must be a valid JSON object",
    "status.devices[0].networkData.ips[0]: Invalid value: \"10.0.0.1\": must be a valid address in CIDR form, " +
    "(e.g. 10.9.8.7/24 or 2001:db8::1/64)"
  ],
  [
    { allocation: allocation({ request: "x", driver: "", pool: "" }) },
    "status.allocation.devices.results[0].request: Invalid value: \"x\": must be the name of a request in the claim or " +
    "the name of a request and a subrequest separated by '/'",
    "status.allocation.devices.results[0].driver: Required value",
    "status.allocation.devices.results[0].pool: Required value"
  ],
  [
    { allocation: { devices: { config: [{ source: "Bad" }] } } },
    "status.allocation.devices.config[0].source: Unsupported value: \"Bad\": supported values: \"FromClaim\", \"FromClass\"",
    "status.allocation.devices.config[0].opaque: Required value"
  ]
]

describe("DeviceStatusRules", () => {
  for (const [status, ...causes] of refused) {
    it.effect(`refuses ${JSON.stringify(status).slice(0, 120)}`, () =>
      Effect.gen(function*() {
        yield* made
        const { body } = yield* say(status)
        const text = causes.length === 1 ? causes[0] : `[${causes.join(", ")}]`
        assert.strictEqual(body.message, `ResourceClaim.resource.k8s.io "a" is invalid: ${text}`)
      }).pipe(Effect.provide(layer)))
  }

  it.effect("keeps an allocation as it is until it is taken back, and nothing of what is not granted", () =>
    Effect.gen(function*() {
      yield* made
      const status = { allocation: allocation({ shareID: "x" }), reservedFor: [user], devices: [device()] }
      const { body } = yield* say(status)
      const devices = [{ ...device(), conditions: null }]
      assert.deepStrictEqual(body.status, { ...status, devices, allocation: allocation() })
      const changed = yield* say({ allocation: allocation({ device: "other" }), devices: null })
      assert.include(
        changed.body.message,
        "status.allocation: Invalid value: {\"Devices\":{\"Results\":[{\"Request\":\"r\""
      )
      assert.isTrue(
        changed.body.message.endsWith("\"NodeSelector\":null,\"AllocationTimestamp\":null}: field is immutable")
      )
      assert.strictEqual((yield* say({ allocation: null, reservedFor: null })).status, 200)
    }).pipe(Effect.provide(layer)))
})
