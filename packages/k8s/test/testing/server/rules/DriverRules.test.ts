import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post, put } from "../../support/server.ts"

const drivers = "/apis/storage.k8s.io/v1/csidrivers"
const nodes = "/apis/storage.k8s.io/v1/csinodes"

const named = (spec: object) => ({ metadata: { name: "a" }, spec })

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
  "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

describe("DriverRules", () => {
  it.effect("judges CSIDrivers", () =>
    refuses(
      drivers,
      [named({})],
      [named({ fsGroupPolicy: "File", volumeLifecycleModes: ["Ephemeral"], tokenRequests: [{ audience: "a" }] })],
      [
        named({ fsGroupPolicy: "Other", volumeLifecycleModes: ["Persistent", "Other"] }),
        "spec.fsGroupPolicy: Unsupported value: \"Other\": supported values: \"File\", \"None\", " +
        "\"ReadWriteOnceWithFSType\"",
        "spec.volumeLifecycleModes: Unsupported value: \"Other\": supported values: \"Persistent\", \"Ephemeral\""
      ],
      [
        named({
          tokenRequests: [{ audience: "a", expirationSeconds: 599 }, { audience: "a" }, {
            audience: "b",
            expirationSeconds: 2 ** 32 + 1
          }]
        }),
        "spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
        "spec.tokenRequests[1].audience: Duplicate value: \"a\"",
        "spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than " +
        "2^32 seconds"
      ],
      [
        named({ nodeAllocatableUpdatePeriodSeconds: 9, serviceAccountTokenInSecrets: true }),
        "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
        "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no " +
        "tokenRequests are specified"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("a CSIDriver attaches as it did, and is updated by who has seen it", () =>
    Effect.gen(function*() {
      const { body } = yield* post(drivers, named({}))
      assert.isUndefined(body.metadata.generation)
      const changed = yield* put(`${drivers}/a?dryRun=All`, { ...body, spec: { ...body.spec, podInfoOnMount: true } })
      assert.strictEqual(changed.body.metadata.generation, 1)
      yield* refusesUpdates(
        `${drivers}/a`,
        body,
        [(object) => ({ ...object, spec: { ...object.spec, podInfoOnMount: true } })],
        [
          (object) => ({
            ...object,
            spec: { ...object.spec, attachRequired: false, volumeLifecycleModes: ["Ephemeral"] }
          }),
          "spec.attachedRequired: Invalid value: false: field is immutable",
          "spec.volumeLifecycleModes: Invalid value: [\"Ephemeral\"]: field is immutable"
        ],
        [
          ({ spec }) => named(spec),
          "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("says that tokens may be told in logs", () =>
    Effect.gen(function*() {
      const tokenRequests = [{ audience: "a" }]
      const { headers } = yield* post(drivers, named({ tokenRequests }))
      assert.match(headers["warning"] ?? "", /^299 - "spec\.serviceAccountTokenInSecrets is unset; /)
      const quiet = yield* post(drivers, {
        metadata: { name: "b" },
        spec: { tokenRequests, serviceAccountTokenInSecrets: true }
      })
      assert.isUndefined(quiet.headers["warning"])
    }).pipe(Effect.provide(layer)))

  it.effect("judges CSINodes", () =>
    refuses(
      nodes,
      [named({ drivers: [] })],
      [named({ drivers: [{ name: "a.example.com", nodeID: "n", topologyKeys: ["zone"], allocatable: { count: 0 } }] })],
      [
        named({
          drivers: [{ name: "", nodeID: "" }, { name: "A_b", nodeID: "x".repeat(257), allocatable: { count: -1 } }]
        }),
        "spec.drivers[0].name: Required value",
        "spec.drivers[0].nodeID: Required value",
        `spec.drivers[1].name: Invalid value: "A_b": ${subdomain}`,
        `spec.drivers[1].nodeID: Invalid value: "${"x".repeat(257)}": must be 256 characters or less`,
        "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or equal to 0"
      ],
      [
        named({ drivers: [{ name: "a", nodeID: "n", topologyKeys: ["z", "z"] }, { name: "a", nodeID: "n" }] }),
        "spec.drivers[0]: Duplicate value: \"z\"",
        "spec.drivers[1].name: Duplicate value: \"a\""
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("a driver keeps its name for a Node", () =>
    Effect.gen(function*() {
      const { body } = yield* post(nodes, named({ drivers: [{ name: "a", nodeID: "n", topologyKeys: ["z"] }] }))
      const update = (driver: object) => put(`${nodes}/a`, { ...body, spec: { drivers: [driver] } })
      assert.deepStrictEqual(causes(yield* update({ name: "a", nodeID: "m", topologyKeys: ["z"] })), [
        "spec.drivers: Invalid value: {\"Name\":\"a\",\"NodeID\":\"m\",\"TopologyKeys\":[\"z\"],\"Allocatable\":null}: " +
        "field is immutable"
      ])
      const more = { name: "a", nodeID: "n", topologyKeys: ["z"], allocatable: { count: 4 } }
      assert.strictEqual((yield* update(more)).status, 200)
    }).pipe(Effect.provide(layer)))
})
