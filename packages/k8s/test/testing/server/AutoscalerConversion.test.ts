import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { del, get, layer, patch, post, put } from "../support/server.ts"

const autoscalers = (version: string) => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`
const [v1, v2] = [autoscalers("v1"), autoscalers("v2")]
const prefix = "autoscaling.alpha.kubernetes.io/"

const reference = { apiVersion: "apps/v1", kind: "Deployment", name: "d" }

const resource = (name: string, target: object) => ({ type: "Resource", resource: { name, target } })
const utilization = (averageUtilization: number) => ({ type: "Utilization", averageUtilization })
const average = (averageValue: string) => ({ type: "AverageValue", averageValue })

const selector = { matchLabels: { a: "b" } }
const described = { kind: "Service", name: "s", apiVersion: "v1" }

const cpu = resource("cpu", utilization(70))

/** Each metric that v1 has no field for, and what its annotation says of it. */
const others = [
  [resource("memory", average("100Mi")), {
    type: "Resource",
    resource: { name: "memory", targetAverageValue: "100Mi" }
  }],
  [resource("memory", utilization(9)), { type: "Resource", resource: { name: "memory", targetAverageUtilization: 9 } }],
  [
    { type: "Pods", pods: { metric: { name: "pps", selector }, target: average("1k") } },
    { type: "Pods", pods: { metricName: "pps", targetAverageValue: "1k", selector } }
  ],
  [
    { type: "External", external: { metric: { name: "q", selector }, target: { type: "Value", value: "30" } } },
    { type: "External", external: { metricName: "q", metricSelector: selector, targetValue: "30" } }
  ],
  [
    { type: "External", external: { metric: { name: "q" }, target: average("30") } },
    { type: "External", external: { metricName: "q", targetAverageValue: "30" } }
  ],
  [
    {
      type: "Object",
      object: { describedObject: described, metric: { name: "hits" }, target: { type: "Value", value: "10k" } }
    },
    { type: "Object", object: { target: described, metricName: "hits", targetValue: "10k" } }
  ],
  [
    { type: "ContainerResource", containerResource: { name: "cpu", container: "c", target: utilization(60) } },
    { type: "ContainerResource", containerResource: { name: "cpu", targetAverageUtilization: 60, container: "c" } }
  ]
] as const

const behavior = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, { type: "Percent", value: 100, periodSeconds: 15 }]
  },
  scaleDown: {
    stabilizationWindowSeconds: 60,
    selectPolicy: "Min",
    policies: [{ type: "Pods", value: 4, periodSeconds: 60 }]
  }
}

const behaviorText = "{\"ScaleUp\":{\"StabilizationWindowSeconds\":0,\"SelectPolicy\":\"Max\",\"Policies\":[" +
  "{\"Type\":\"Pods\",\"Value\":4,\"PeriodSeconds\":15},{\"Type\":\"Percent\",\"Value\":100,\"PeriodSeconds\":15}]," +
  "\"Tolerance\":null},\"ScaleDown\":{\"StabilizationWindowSeconds\":60,\"SelectPolicy\":\"Min\",\"Policies\":[" +
  "{\"Type\":\"Pods\",\"Value\":4,\"PeriodSeconds\":60}],\"Tolerance\":null}}"

const status = {
  currentReplicas: 1,
  desiredReplicas: 2,
  conditions: [
    { type: "AbleToScale", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z", reason: "R", message: "M" }
  ],
  currentMetrics: [
    { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 50, averageValue: "5m" } } },
    { type: "Pods", pods: { metric: { name: "pps" }, current: { averageValue: "3" } } },
    { type: "External", external: { metric: { name: "q" }, current: { value: "7" } } }
  ]
}

const currentText = JSON.stringify([
  { type: "Resource", resource: { name: "cpu", currentAverageUtilization: 50, currentAverageValue: "5m" } },
  { type: "Pods", pods: { metricName: "pps", currentAverageValue: "3" } },
  { type: "External", external: { metricName: "q", currentValue: "7" } }
])

const metrics = [cpu, ...others.map(([metric]) => metric)]
const metricsText = JSON.stringify(others.map(([, text]) => text))

const inV2 = {
  metadata: { name: "a", annotations: { own: "1" } },
  spec: { scaleTargetRef: reference, minReplicas: 1, maxReplicas: 3, metrics, behavior }
}

const created = Effect.gen(function*() {
  yield* post(v2, inV2)
  yield* patch(`${v2}/a/status`, "merge", { status })
})

describe("AutoscalerConversion", () => {
  it.effect("what v1 has no fields for stands in annotations there", () =>
    Effect.gen(function*() {
      yield* created
      const { body } = yield* get(`${v1}/a`)
      assert.deepStrictEqual(body.metadata.annotations, {
        own: "1",
        [`${prefix}metrics`]: metricsText,
        [`${prefix}behavior`]: behaviorText,
        [`${prefix}current-metrics`]: currentText,
        [`${prefix}conditions`]: JSON.stringify(status.conditions)
      })
      assert.deepStrictEqual(body.spec, {
        scaleTargetRef: reference,
        minReplicas: 1,
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 70
      })
      assert.deepStrictEqual(body.status, {
        currentReplicas: 1,
        desiredReplicas: 2,
        currentCPUUtilizationPercentage: 50
      })
    }).pipe(Effect.provide(layer)))

  it.effect("no replicas are a number in v1 and nothing in v2", () =>
    Effect.gen(function*() {
      const spec = { scaleTargetRef: reference, maxReplicas: 3 }
      const none = { desiredReplicas: 0 }
      assert.deepStrictEqual((yield* post(v2, { metadata: { name: "a" }, spec })).body.status, {
        ...none,
        currentMetrics: null
      })
      assert.deepStrictEqual((yield* get(`${v1}/a`)).body.status, { ...none, currentReplicas: 0 })
      assert.deepStrictEqual((yield* post(v1, { metadata: { name: "b" }, spec })).body.status, {
        ...none,
        currentReplicas: 0
      })
      assert.deepStrictEqual((yield* get(`${v2}/b`)).body.status, { ...none, currentMetrics: null })
    }).pipe(Effect.provide(layer)))

  it.effect("an object that is read and written back in v1 loses nothing", () =>
    Effect.gen(function*() {
      yield* created
      const { body } = yield* get(`${v1}/a`)
      const written = yield* put(`${v1}/a`, { ...body, spec: { ...body.spec, maxReplicas: 9 } })
      assert.deepStrictEqual([written.status, written.body.metadata.annotations], [200, body.metadata.annotations])
      const after = yield* get(`${v2}/a`)
      assert.deepStrictEqual(after.body.metadata.annotations, { own: "1" })
      const { metrics: now, ...rest } = after.body.spec
      assert.deepStrictEqual(rest, { scaleTargetRef: reference, minReplicas: 1, maxReplicas: 9, behavior })
      // The metric that has a field comes after the others.
      assert.sameDeepMembers(now, metrics)
      assert.deepStrictEqual(after.body.status, status)
    }).pipe(Effect.provide(layer)))

  it.effect("who writes the one part in v1 does not write the other", () =>
    Effect.gen(function*() {
      yield* created
      const { body } = yield* get(`${v1}/a`)
      const forged = { [`${prefix}metrics`]: "[]", [`${prefix}behavior`]: null, [`${prefix}conditions`]: "[]" }
      yield* patch(`${v1}/a/status`, "merge", { metadata: { annotations: forged } })
      const ofStatus = yield* get(`${v2}/a`)
      assert.lengthOf(ofStatus.body.spec.metrics, metrics.length)
      assert.deepStrictEqual([ofStatus.body.spec.behavior, ofStatus.body.status.conditions], [behavior, undefined])
      const lost = { ...body.metadata.annotations, [`${prefix}current-metrics`]: "[]" }
      yield* put(`${v1}/a`, { ...body, metadata: { name: "a", annotations: lost } })
      assert.deepStrictEqual((yield* get(`${v2}/a`)).body.status.currentMetrics, status.currentMetrics)
      yield* del(`${v1}/a`)
      yield* post(v1, { ...body, metadata: { name: "a", annotations: body.metadata.annotations } })
      const anew = (yield* get(`${v2}/a`)).body.status
      assert.notProperty(anew, "conditions")
      assert.isNull(anew.currentMetrics)
    }).pipe(Effect.provide(layer)))

  it.effect("annotations make metrics and behavior; those that cannot be read make none", () =>
    Effect.gen(function*() {
      const make = Effect.fnUntraced(function*(annotations: Record<string, string>, more: object = {}) {
        yield* del(`${v1}/a`)
        const named = Object.fromEntries(Object.entries(annotations).map(([key, text]) => [prefix + key, text]))
        const answer = yield* post(v1, {
          metadata: { name: "a", annotations: named },
          spec: { scaleTargetRef: reference, maxReplicas: 3, ...more }
        })
        if (answer.status !== 201) return answer.body.message
        const { metadata, spec } = (yield* get(`${v2}/a`)).body
        assert.notProperty(metadata, "annotations")
        return { metrics: spec.metrics, behavior: spec.behavior }
      })
      const byDefault = { metrics: [resource("cpu", utilization(80))], behavior: undefined }
      for (const text of ["nope", "[]", "{}", "[1]", "[{\"type\":\"Pods\",\"pods\":{\"targetAverageValue\":\"x\"}}]"]) {
        assert.deepStrictEqual(yield* make({ metrics: text }), byDefault, text)
      }
      for (const text of ["x", "{}", "1"]) assert.deepStrictEqual(yield* make({ behavior: text }), byDefault, text)
      const memory = resource("memory", average("100Mi"))
      const text = JSON.stringify([others[0][1]])
      assert.deepStrictEqual(yield* make({ metrics: text, behavior: behaviorText }), { metrics: [memory], behavior })
      assert.deepStrictEqual(yield* make({ metrics: text }, { targetCPUUtilizationPercentage: 70 }), {
        metrics: [memory, cpu],
        behavior: undefined
      })
      assert.include(
        yield* make({ behavior: "{\"scaleup\":{\"selectPolicy\":\"Max\"}}" }),
        "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"
      )
    }).pipe(Effect.provide(layer)))
})
