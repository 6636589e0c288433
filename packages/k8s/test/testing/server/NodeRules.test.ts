import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses, refusesUpdates } from "../support/refusals.ts"
import { layer, post } from "../support/server.ts"

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
        ]
      )
    }).pipe(Effect.provide(layer)))
})
