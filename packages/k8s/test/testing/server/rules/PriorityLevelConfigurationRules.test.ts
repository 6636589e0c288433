import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { layer, patch } from "../../support/server.ts"

const url = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"

const level = (spec: object) => ({ metadata: { name: "a" }, spec })

const limited = (fields: object) => level({ type: "Limited", limited: fields })

const queuing = (fields: object) => limited({ limitResponse: { type: "Queue", queuing: fields } })

const q = "spec.limited.limitResponse.queuing"

describe("PriorityLevelConfigurationRules", () => {
  it.effect("judges types, shares and queues", () =>
    refuses(
      url,
      [limited({ limitResponse: { type: "Reject" } })],
      [queuing({})],
      [
        { metadata: { name: "a" } },
        "spec.type: Unsupported value: \"\": supported values: \"Exempt\", \"Limited\""
      ],
      [level({ type: "Limited" }), "spec.limited: Required value: must not be empty when type is Limited"],
      [
        level({ type: "Exempt", limited: {} }),
        "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
        "spec.limited: Forbidden: must be nil if the type is not Limited"
      ],
      [
        level({ type: "Limited", exempt: {}, limited: { limitResponse: { type: "Z" } } }),
        "spec.exempt: Forbidden: must be nil if the type is Limited",
        "spec.limited.limitResponse.type: Unsupported value: \"Z\": supported values: \"Queue\", \"Reject\""
      ],
      [
        limited({
          limitResponse: { type: "Queue" },
          nominalConcurrencyShares: -1,
          lendablePercent: 101,
          borrowingLimitPercent: -1
        }),
        "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
        `${q}: Required value: must not be empty if limited.limitResponse.type is Limited`,
        "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
        "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer"
      ],
      [
        limited({ limitResponse: { type: "Reject", queuing: {} } }),
        `${q}: Forbidden: must be nil if limited.limitResponse.type is not Limited`
      ],
      [
        queuing({ queues: -1, handSize: 8, queueLengthLimit: -1 }),
        `${q}.queueLengthLimit: Invalid value: -1: must be positive`,
        `${q}.queues: Invalid value: -1: must be positive`,
        `${q}.handSize: Invalid value: 8: should not be greater than queues (-1)`
      ],
      [
        queuing({ queues: 20_000_000, handSize: 8, queueLengthLimit: 1 }),
        `${q}.queues: Invalid value: 20000000: must not be greater than 10000000`,
        `${q}.handSize: Invalid value: 8: required entropy bits of deckSize 20000000 and handSize 8 should not be ` +
        "greater than 60"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("keeps what every server needs, but for the shares of the exempt one", () =>
    Effect.gen(function*() {
      const exempt = yield* patch(`${url}/exempt`, "merge", { spec: { exempt: { lendablePercent: 3 } } })
      assert.strictEqual(exempt.status, 200)
      const { body } = yield* patch(`${url}/catch-all`, "merge", { spec: { limited: { borrowingLimitPercent: 3 } } })
      assert.strictEqual(
        body.message,
        "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io \"catch-all\" is invalid: spec: Invalid value: " +
          "{\"Type\":\"Limited\",\"Limited\":{\"NominalConcurrencyShares\":5,\"LimitResponse\":{\"Type\":\"Reject\"," +
          "\"Queuing\":null},\"LendablePercent\":0,\"BorrowingLimitPercent\":3},\"Exempt\":null}: spec of 'catch-all' " +
          "must equal the fixed value"
      )
    }).pipe(Effect.provide(layer)))
})
