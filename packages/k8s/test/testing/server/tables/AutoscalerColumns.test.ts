import { assert, it } from "@effect/vitest"
import { columnsOf } from "../../../../src/testing/server/tables/BuiltinColumns.ts"

const targetsOf = (spec: object, status: object = {}) =>
  columnsOf({ collection: "horizontalpodautoscalers.autoscaling" } as never)
    .find(({ name }) => name === "Targets")!.value({ metadata: { name: "a" }, spec, status } as never, 0)

const resource = (name: string, target: object) => ({ type: "Resource", resource: { name, target } })

// In the words of a real server.
it("of the targets of an autoscaler two are told, those of resources by name", () => {
  const pods = { type: "Pods", pods: { metric: { name: "m" }, target: { averageValue: "100" } } }
  const external = { type: "External", external: { metric: { name: "e" }, target: { averageValue: "3" } } }
  const metrics = [resource("memory", { averageValue: "500Mi" }), pods, resource("cpu", { averageUtilization: 50 })]
  assert.strictEqual(targetsOf({ metrics }), "memory: <unknown>/500Mi, <unknown>/100 + 1 more...")
  assert.strictEqual(targetsOf({ metrics: [external] }), "<unknown>/3 (avg)")
  const currentMetrics = [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 7 } } }]
  assert.strictEqual(targetsOf({ metrics: [metrics[2]] }, { currentMetrics }), "cpu: 7%/50%")
  assert.strictEqual(targetsOf({ metrics: [] }), "<none>")
  const used = { averageUtilization: 7, averageValue: "100m" }
  const status = { currentMetrics: [{ type: "Resource", resource: { name: "memory", current: used } }] }
  assert.strictEqual(targetsOf({ metrics: [metrics[0]] }, status), "memory: 100m/500Mi")
  const value = { type: "External", external: { metric: { name: "e" }, target: { value: "3" } } }
  const current = { type: "External", external: { metric: { name: "e" }, current: { averageValue: "9" } } }
  assert.strictEqual(targetsOf({ metrics: [value] }, { currentMetrics: [current] }), "0/3")
})
