import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { layer, patch, post } from "../../support/server.ts"

const root = "/apis/resource.k8s.io/v1"
const claims = `${root}/namespaces/default/resourceclaims`

const claim = (devices: object) => ({ metadata: { name: "a" }, spec: { devices } })

const exactly = (request: object = {}) => ({ name: "r", exactly: { deviceClassName: "c", ...request } })

const path = "spec.devices.requests[0]"

describe("DeviceRules", () => {
  it.effect("judges what a claim asks for", () =>
    refuses(
      claims,
      [claim({ requests: [exactly()] })],
      [
        claim({ requests: [{ name: "r" }] }),
        `${path}: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`
      ],
      [claim({ requests: [exactly({ deviceClassName: "" })] }), `${path}.exactly.deviceClassName: Required value`],
      [
        claim({ requests: [exactly({ allocationMode: "All", count: 2 })] }),
        `${path}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'`
      ],
      [
        claim({ requests: [exactly({ allocationMode: "Some" })] }),
        `${path}.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"`
      ],
      [
        claim({ requests: [exactly(), exactly()], constraints: [{ requests: ["x"] }], config: [{ opaque: {} }] }),
        "spec.devices.requests[1]: Duplicate value: \"r\"",
        "spec.devices.constraints[0].requests[0]: Invalid value: \"x\": must be the name of a request in the claim or the " +
        "name of a request and a subrequest separated by '/'",
        "spec.devices.constraints[0].matchAttribute: Required value",
        "spec.devices.config[0].opaque.driver: Required value",
        "spec.devices.config[0].opaque.parameters: Required value"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("compiles the expressions that select devices", () => {
    const expected = "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, " +
      "NUM_UINT, STRING, BYTES, IDENTIFIER}"
    const selecting = (expression: string) => claim({ requests: [exactly({ selectors: [{ cel: { expression } }] })] })
    const refused = (expression: string, why: string) =>
      [
        selecting(expression),
        `${path}.exactly.selectors[0].cel.expression: Invalid value: "${expression}": ${why}`
      ] as const
    const attributes = "device.attributes['dra.example.com']"
    return Effect.gen(function*() {
      const right = [
        `device.driver == 'd' && ${attributes}.model == 'A'`,
        `cel.bind(a, ${attributes}, a.model == 'A' || a.fast)`,
        `${attributes}.fast`,
        "device.capacity['dra.example.com'].memory.compareTo(quantity('1Gi')) >= 0",
        `${attributes}.version.isGreaterThan(semver('1.0.0'))`
      ]
      for (const [index, expression] of right.entries()) {
        const { body, status } = yield* post(claims, { ...selecting(expression), metadata: { name: `a${index}` } })
        assert.strictEqual(status, 201, body.message)
      }
      yield* refuses(
        claims,
        refused("device.driver", "must evaluate to bool or the unknown type, not string"),
        refused("device", "must evaluate to bool or the unknown type, not kubernetes.DRADevice"),
        refused(
          "device.nope",
          "compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^"
        ),
        refused(
          "cel.bind(1, 2, true)",
          "compilation failed: ERROR: <input>:1:10: cel.bind() variable names must be simple identifiers\n" +
            " | cel.bind(1, 2, true)\n | .........^"
        ),
        refused("", `compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' ${expected}`)
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("fills in that one device is asked for, and keeps nothing of what is not granted", () =>
    Effect.gen(function*() {
      const requests = [exactly({ tolerations: [{ key: "a", operator: "Exists" }] })]
      const { body } = yield* post(claims, claim({ requests }))
      const filled = { deviceClassName: "c", allocationMode: "ExactCount", count: 1 }
      assert.deepStrictEqual(body.spec.devices.requests[0].exactly, filled)
      const template = { metadata: { name: "a" }, spec: { spec: { devices: { requests: [exactly()] } } } }
      const { body: made } = yield* post(`${root}/namespaces/default/resourceclaimtemplates`, template)
      assert.deepStrictEqual(made.spec.spec.devices.requests[0].exactly, filled)
    }).pipe(Effect.provide(layer)))

  it.effect("prints what a claim asks for as the server's own type where it may not change", () =>
    Effect.gen(function*() {
      yield* post(claims, claim({}))
      const { body } = yield* patch(`${claims}/a`, "merge", { spec: { devices: { requests: [exactly()] } } })
      const printed =
        "{\"Devices\":{\"Requests\":[{\"Name\":\"r\",\"Exactly\":{\"DeviceClassName\":\"c\",\"Selectors\":null," +
        "\"AllocationMode\":\"ExactCount\",\"Count\":1,\"AdminAccess\":null,\"Tolerations\":null,\"Capacity\":null}," +
        "\"FirstAvailable\":null}],\"Constraints\":null,\"Config\":null}}"
      const head = "ResourceClaim.resource.k8s.io \"a\" is invalid: spec: Invalid value: "
      assert.strictEqual(body.message, `${head}${printed}: field is immutable`)
    }).pipe(Effect.provide(layer)))

  it.effect("judges templates of claims and classes", () =>
    Effect.gen(function*() {
      const spec = { metadata: { name: "x", uid: "u", labels: { a: "b" } }, spec: {} }
      yield* refuses(`${root}/namespaces/default/resourceclaimtemplates`, [
        { metadata: { name: "a" }, spec },
        "spec.metadata.name: Forbidden: cannot be set",
        "spec.metadata.uID: Forbidden: cannot be set"
      ])
      yield* refuses(`${root}/deviceclasses`, [
        { metadata: { name: "a" }, spec: { selectors: [{}], config: [{}] } },
        "spec.selectors[0].cel: Required value",
        "spec.config[0].opaque: Required value"
      ])
    }).pipe(Effect.provide(layer)))
})

describe("DeviceSliceRules", () => {
  it.effect("judges what a driver tells of", () => {
    const slice = (spec: object) => ({
      metadata: { name: "a" },
      spec: { driver: "d.example.com", nodeName: "n", pool: { name: "p", resourceSliceCount: 1 }, ...spec }
    })
    const device = "spec.devices[0].attributes[a]"
    return refuses(
      `${root}/resourceslices`,
      [slice({ devices: [{ name: "d", attributes: { a: { version: "1.0.0" } } }] })],
      [slice({ driver: "" }), "spec.driver: Required value"],
      [
        slice({ pool: {}, allNodes: true }),
        "spec.pool.name: Required value",
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, " +
        "`perDeviceNodeSelection` is required, but multiple fields are set"
      ],
      [
        slice({ devices: [{ name: "d", attributes: { a: {} } }] }),
        `${device}: Invalid value: "": exactly one value must be specified`
      ],
      [
        slice({ devices: [{ name: "d", attributes: { a: { int: 1, bool: true } } }] }),
        `${device}: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null}: exactly one ` +
        "value must be specified"
      ],
      [
        slice({ devices: [{ name: "d", attributes: { a: { version: "1" } } }] }),
        `${device}.version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0`
      ]
    ).pipe(Effect.provide(layer))
  })

  it.effect("is counted by generations", () =>
    Effect.gen(function*() {
      const { body } = yield* post(`${root}/resourceslices`, {
        metadata: { name: "a" },
        spec: { driver: "d.example.com", allNodes: true, pool: { name: "p", resourceSliceCount: 1 } }
      })
      assert.strictEqual(body.metadata.generation, 1)
    }).pipe(Effect.provide(layer)))
})
