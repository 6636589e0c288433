import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post } from "../../support/server.ts"

const url = "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities"

const capacity = (fields: object) => ({ metadata: { name: "a" }, storageClassName: "fast", ...fields })

describe("CapacityRules", () => {
  it.effect("judges what there is, and where", () =>
    refuses(
      url,
      [capacity({ capacity: "1Gi", nodeTopology: { matchLabels: { zone: "a" } } })],
      [
        capacity({ capacity: "-1", nodeTopology: { matchExpressions: [{ key: "zone", operator: "In" }] } }),
        "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "capacity: Invalid value: \"-1\": must be greater than or equal to 0"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("class and place stay", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, capacity({ nodeTopology: {} }))
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, capacity: "2Gi" })],
        [
          (object) => ({ ...object, storageClassName: "slow" }),
          "storageClassName: Invalid value: \"slow\": field is immutable"
        ]
      )
    }).pipe(Effect.provide(layer)))
})
