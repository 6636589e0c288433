import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as PodFeatures from "../../../../../src/testing/server/rules/pods/PodFeatures.ts"
import { layer, post } from "../../../support/server.ts"

const spec = {
  workloadRef: { name: "w", podGroup: "g" },
  volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle: { name: "x", path: "p" } }] } }],
  containers: [
    { name: "a", image: "i", lifecycle: { stopSignal: "SIGTERM" } },
    { name: "b", image: "i", lifecycle: { stopSignal: "SIGTERM", preStop: { sleep: { seconds: 1 } } } }
  ]
}

describe("PodFeatures", () => {
  it.effect("what belongs to features that are off is not kept, of Pods and of templates", () =>
    Effect.gen(function*() {
      const [metadata, template] = [{ name: "a" }, { metadata: { labels: { a: "b" } }, spec }]
      const pod = yield* post("/api/v1/namespaces/default/pods", { metadata, spec })
      const deployment = yield* post("/apis/apps/v1/namespaces/default/deployments", {
        metadata,
        spec: { selector: { matchLabels: { a: "b" } }, template }
      })
      const cronJob = yield* post("/apis/batch/v1/namespaces/default/cronjobs", {
        metadata,
        spec: {
          schedule: "* * * * *",
          jobTemplate: { spec: { template: { spec: { ...spec, restartPolicy: "Never" } } } }
        }
      })
      const made = [
        pod.body.spec,
        deployment.body.spec.template.spec,
        cronJob.body.spec.jobTemplate.spec.template.spec
      ]
      for (const kept of made) {
        assert.notProperty(kept, "workloadRef")
        assert.deepStrictEqual(kept.volumes[0].projected.sources, [{}])
        assert.notProperty(kept.containers[0], "lifecycle")
        assert.deepStrictEqual(kept.containers[1].lifecycle, { preStop: { sleep: { seconds: 1 } } })
      }
      assert.strictEqual(pod.headers["warning"], `299 - "volume \\"v\\" (Projected) has no sources provided"`)
      const later = { metadata: { name: "b" }, spec: { ...spec, schedulingGroup: { podGroupName: "g" } } }
      const { headers } = yield* post("/api/v1/namespaces/default/pods", later)
      assert.include(headers["warning"], "unknown field \\\"spec.schedulingGroup\\\"")
    }).pipe(Effect.provide(layer)))

  it("leaves a spec without anything of them the same object", () => {
    const kept = {
      volumes: [{ name: "v", projected: { sources: [{ secret: { name: "s" } }] } }],
      containers: [{ name: "a" }]
    }
    assert.strictEqual(PodFeatures.keptOf(kept), kept)
    assert.notProperty(PodFeatures.keptOf(spec), "workloadRef")
  })
})
