import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { layer } from "../../support/server.ts"

const object = (spec: object) => ({ metadata: { name: "a" }, spec })

describe("QuotaRules", () => {
  it.effect("judges quotas", () =>
    refuses(
      "/api/v1/namespaces/default/resourcequotas",
      [object({ hard: { pods: "3", "requests.cpu": "1", "count/widgets.example.com": "2" } })],
      [
        object({ hard: { other: "1", pods: "1500m", cpu: "-1" } }),
        "spec.hard[other]: Invalid value: \"other\": must be a standard resource type or fully qualified",
        "spec.hard[other]: Invalid value: \"other\": must be a standard resource for quota",
        "spec.hard[pods]: Invalid value: \"1500m\": must be an integer",
        "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"
      ],
      [
        object({ hard: { secrets: "1" }, scopes: ["BestEffort", "NotBestEffort", "Other"] }),
        ...[
          "unsupported scope applied to resource",
          "unsupported scope applied to resource",
          "unsupported scope",
          "conflicting scopes"
        ]
          .map((why) => `spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Other"]: ${why}`)
      ],
      [
        object({
          hard: { services: "1" },
          scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "Exists" }] }
        }),
        "spec.scopeSelector.matchExpressions: Invalid value: {\"MatchExpressions\":[{\"ScopeName\":\"PriorityClass\"," +
        "\"Operator\":\"Exists\",\"Values\":null}]}: unsupported scope applied to resource"
      ],
      [
        object({ scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In" }] } }),
        "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or " +
        "'NotIn' for scope selector"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges ranges", () => {
    const l = "spec.limits[0]"
    return refuses(
      "/api/v1/namespaces/default/limitranges",
      [object({ limits: [{ type: "Container", max: { cpu: "2" }, min: { cpu: "1" } }] })],
      [
        object({ limits: [{ type: "Other" }, { type: "Other" }] }),
        `${l}.type: Invalid value: "Other": must be a standard limit type or fully qualified`,
        "spec.limits[1].type: Invalid value: \"Other\": must be a standard limit type or fully qualified",
        "spec.limits[1].type: Duplicate value: \"Other\""
      ],
      [
        object({ limits: [{ type: "Pod", max: { cpu: "1" }, min: { cpu: "2" }, default: { cpu: "1" } }] }),
        `${l}.default: Forbidden: may not be specified when \`type\` is 'Pod'`,
        `${l}.min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`
      ],
      [
        object({
          limits: [{
            type: "Container",
            default: { "a.b/c": "2", "a.b/d": "2", cpu: "2" },
            defaultRequest: { "a.b/c": "1", "a.b/d": "2", cpu: "1" }
          }]
        }),
        `${l}.defaultRequest[a.b/c]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in a.b/c`
      ],
      [
        object({ limits: [{ type: "PersistentVolumeClaim", maxLimitRequestRatio: { storage: "500m" } }] }),
        `${l}.limits: Required value: either minimum or maximum storage value is required, but neither was provided`,
        `${l}.maxLimitRequestRatio[storage]: Invalid value: "500m": ratio 500m is less than 1`
      ]
    ).pipe(Effect.provide(layer))
  })
})
