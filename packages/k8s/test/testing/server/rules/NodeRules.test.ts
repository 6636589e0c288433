import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses, refusesUpdates } from "../../support/refusals.ts"
import { get, layer, post, put } from "../../support/server.ts"

const url = "/api/v1/nodes"
const node = (spec: object) => ({ metadata: { name: "a" }, spec })

describe("NodeRules", () => {
  it.effect("judges taints and networks", () =>
    refuses(
      url,
      [node({ taints: [{ key: "k", effect: "NoSchedule" }], podCIDR: "10.0.0.0/24" })],
      [
        node({ taints: [{ key: "k", effect: "NoSchedule" }, { key: "k", effect: "NoSchedule" }, { key: "l" }] }),
        "metadata.taints[1]: Duplicate value: {\"Key\":\"k\",\"Value\":\"\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints " +
        "must be unique by key and effect pair",
        "metadata.taints[2].effect: Required value"
      ],
      [
        node({ podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"], podCIDR: "10.0.0.0/24" }),
        "spec.podCIDRs: Invalid value: [\"10.0.0.0/24\",\"10.0.1.0/24\"]: may specify no more than one CIDR for each IP family"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("believes the one network rather than the list of all", () =>
    Effect.gen(function*() {
      const networks = (spec: object) =>
        Effect.map(post(`${url}?dryRun=All`, node(spec)), ({ body }) => [body.spec.podCIDR, body.spec.podCIDRs])
      const one = ["10.0.0.0/24", ["10.0.0.0/24"]]
      assert.deepStrictEqual(yield* networks({ podCIDR: "10.0.0.0/24" }), one)
      assert.deepStrictEqual(yield* networks({ podCIDRs: ["10.0.0.0/24"] }), one)
      assert.deepStrictEqual(yield* networks({ podCIDR: "10.0.0.0/24", podCIDRs: ["10.1.0.0/24"] }), one)
    }).pipe(Effect.provide(layer)))

  it.effect("does not keep where its settings are from", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, node({ configSource: {} }))
      assert.notProperty(body.spec, "configSource")
    }).pipe(Effect.provide(layer)))

  it.effect("is found by what it is not", () =>
    Effect.gen(function*() {
      yield* post(url, node({}))
      const count = (value: string) =>
        Effect.map(get(`${url}?fieldSelector=spec.unschedulable=${value}`), ({ body }) => body.items.length)
      assert.deepStrictEqual([yield* count("false"), yield* count("true"), yield* count("")], [1, 0, 0])
    }).pipe(Effect.provide(layer)))

  it.effect("networks and providers are told once", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, node({ podCIDR: "10.0.0.0/24", providerID: "x" }))
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, spec: { ...object.spec, unschedulable: true } })],
        [
          (object) => ({ ...object, spec: { podCIDR: "10.0.1.0/24", podCIDRs: ["10.0.1.0/24"], providerID: "y" } }),
          "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
          "spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid"
        ],
        [
          (object) => ({ ...object, spec: { ...object.spec, externalID: "z" } }),
          "spec.externalID: Forbidden: may not be updated"
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("what a kubelet can do is told in order", () =>
    Effect.gen(function*() {
      yield* post(url, node({}))
      const told = (...declaredFeatures: ReadonlyArray<string>) =>
        Effect.map(put(`${url}/a/status`, { metadata: { name: "a" }, status: { declaredFeatures } }), causes)
      assert.deepStrictEqual(yield* told("A", "B/c"), [])
      const rest =
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature " +
        "or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
      assert.deepStrictEqual(yield* told("B", "A", "A", "c"), [
        "status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically",
        "status.declaredFeatures[2]: Duplicate value: \"A\"",
        `status.declaredFeatures[3]: Invalid value: "c": invalid feature name "c": ${rest}`
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("what it has is judged in its status, too", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, node({}))
      const address = { type: "Hostname", address: "a" }
      const refused = yield* put(`${url}/a/status`, {
        ...body,
        status: { capacity: { pods: "1.5" }, addresses: [address, address] }
      })
      assert.deepStrictEqual(causes(refused), [
        "status.capacity.pods: Invalid value: \"1500m\": must be an integer",
        "status.allocatable.pods: Invalid value: \"1500m\": must be an integer",
        "status.addresses[1]: Duplicate value: {\"Type\":\"Hostname\",\"Address\":\"a\"}"
      ])
    }).pipe(Effect.provide(layer)))
})
