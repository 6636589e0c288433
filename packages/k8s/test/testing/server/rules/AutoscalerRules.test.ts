import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses } from "../../support/refusals.ts"
import { layer } from "../../support/server.ts"

const target = { apiVersion: "apps/v1", kind: "Deployment", name: "a" }

const autoscaler = (spec: object = {}) => ({
  metadata: { name: "a" },
  spec: { scaleTargetRef: target, maxReplicas: 3, ...spec }
})

const m = "spec.metrics[0]"

describe("AutoscalerRules", () => {
  it.effect("judges bounds, targets and metrics", () =>
    refuses(
      "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
      [autoscaler()],
      [
        autoscaler({ behavior: { scaleUp: { policies: [] } } }),
        "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"
      ],
      [
        autoscaler({ minReplicas: 0, maxReplicas: -1, scaleTargetRef: { apiVersion: "v1", kind: "Deployment" } }),
        "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
        "spec.maxReplicas: Invalid value: -1: must be greater than 0",
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
        "spec.scaleTargetRef.name: Required value",
        "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group",
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas"
      ],
      [
        autoscaler({ metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Other" } } }] }),
        `${m}.resource.target.type: Invalid value: "Other": must be either Utilization, Value, or AverageValue`,
        `${m}.resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization`
      ],
      [
        autoscaler({ metrics: [{ type: "Pods" }] }),
        `${m}.pods: Required value: must populate information for the given metric source`
      ],
      [
        autoscaler({
          behavior: {
            scaleUp: { stabilizationWindowSeconds: 3601, policies: [{ type: "Other", value: 0, periodSeconds: 1801 }] }
          }
        }),
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
        "spec.behavior.scaleUp.policies[0].type: Unsupported value: \"Other\": supported values: \"Percent\", \"Pods\"",
        "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
        "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"
      ]
    ).pipe(Effect.provide(layer)))
})
