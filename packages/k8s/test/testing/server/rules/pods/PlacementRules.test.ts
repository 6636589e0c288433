import { assert, describe, it } from "@effect/vitest"
import { podFaults } from "../../../support/podFaults.ts"

const required = "requiredDuringSchedulingIgnoredDuringExecution"
const preferred = "preferredDuringSchedulingIgnoredDuringExecution"
const a = "spec.affinity"

describe("PlacementRules", () => {
  it("terms of nodes", () => {
    const terms = (...nodeSelectorTerms: ReadonlyArray<object>) =>
      podFaults({ affinity: { nodeAffinity: { [required]: { nodeSelectorTerms } } } })
    const t = `${a}.nodeAffinity.${required}.nodeSelectorTerms`
    assert.deepStrictEqual(terms({ matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] }), [])
    assert.deepStrictEqual(terms(), [`${t}: Required value: must have at least one node selector term`])
    assert.deepStrictEqual(
      terms({
        matchExpressions: [{ key: "disk", operator: "Gt" }, { key: "disk", operator: "Other" }],
        matchFields: [{ key: "other", operator: "In", values: [] }]
      }),
      [
        `${t}[0].matchExpressions[0].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
        `${t}[0].matchExpressions[1].operator: Invalid value: "Other": not a valid selector operator`,
        `${t}[0].matchFields[0].values: Required value: must be only one value when \`operator\` is 'In' or 'NotIn' for ` +
        "node field selector",
        `${t}[0].matchFields[0].key: Invalid value: "other": not a valid field selector key`
      ]
    )
  })

  it("terms of other Pods", () => {
    const podAntiAffinity = {
      [preferred]: [{ weight: 101, podAffinityTerm: { topologyKey: "zone", matchLabelKeys: ["a"] } }]
    }
    assert.deepStrictEqual(podFaults({ affinity: { podAntiAffinity } }), [
      `${a}.podAntiAffinity.${preferred}[0].weight: Invalid value: 101: must be in the range 1-100`,
      `${a}.podAntiAffinity.${preferred}[0].podAffinityTerm.matchLabelKeys: Forbidden: must not be specified when ` +
      "labelSelector is not set"
    ])
    const [first, ...others] = podFaults({ affinity: { podAffinity: { [required]: [{}] } } })
    assert.strictEqual(first, `${a}.podAffinity.${required}[0].topologyKey: Required value: can not be empty`)
    assert.strictEqual(others.length, 2)
  })

  it("spreads", () => {
    const s = "spec.topologySpreadConstraints[0]"
    assert.deepStrictEqual(podFaults({ topologySpreadConstraints: [{ whenUnsatisfiable: "Other", minDomains: 0 }] }), [
      `${s}.maxSkew: Invalid value: 0: must be greater than zero`,
      `${s}.topologyKey: Required value: can not be empty`,
      `${s}.whenUnsatisfiable: Unsupported value: "Other": supported values: "DoNotSchedule", "ScheduleAnyway"`,
      `${s}.minDomains: Invalid value: 0: must be greater than zero`,
      `${s}.minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not Other`
    ])
    const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }
    assert.deepStrictEqual(podFaults({ topologySpreadConstraints: [spread, spread] }), [
      `${s}.{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"`
    ])
  })
})
