import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses } from "../../support/refusals.ts"
import { layer, patch, post } from "../../support/server.ts"

const deployments = "/apis/apps/v1/namespaces/default/deployments"

const deployment = (spec: Record<string, unknown> = {}) => ({
  metadata: { name: "a" },
  spec: {
    selector: { matchLabels: { app: "x" } },
    template: { metadata: { labels: { app: "x" } }, spec: { containers: [{ name: "main", image: "app:1" }] } },
    ...spec
  }
})

describe("WorkloadRules", () => {
  it.effect("judges selectors and strategies", () =>
    Effect.gen(function*() {
      const refused = (spec: Record<string, unknown>) => Effect.map(post(deployments, deployment(spec)), causes)
      assert.deepStrictEqual(yield* refused({ selector: {} }), [
        "spec.selector: Invalid value: {}: empty selector is invalid for deployment"
      ])
      assert.deepStrictEqual(yield* refused({ selector: { matchLabels: { app: "y" } } }), [
        "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template `labels`"
      ])
      const unread = { matchExpressions: [{ operator: "x", key: "a" }], matchLabels: { app: "x" } }
      assert.deepStrictEqual(yield* refused({ selector: unread }), [
        "spec.selector.matchExpressions[0].operator: Invalid value: \"x\": not a valid selector operator",
        "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\"},\"matchExpressions\":[{\"key\":\"a\"," +
        "\"operator\":\"x\"}]}: invalid label selector"
      ])
      assert.deepStrictEqual(yield* refused({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "0%" } } }), [
        "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"
      ])
      assert.deepStrictEqual(yield* refused({ minReadySeconds: 600, replicas: -1 }), [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("judges the counts of a status", () =>
    Effect.gen(function*() {
      yield* post(deployments, deployment())
      const refused = yield* patch(`${deployments}/a/status`, "merge", { status: { replicas: 1, readyReplicas: 2 } })
      assert.deepStrictEqual(causes(refused), [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"
      ])
      const accepted = yield* patch(`${deployments}/a/status`, "merge", { status: { replicas: 2, readyReplicas: 2 } })
      assert.strictEqual(accepted.status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("a change of annotations is a new generation of a Deployment, and of nothing else", () =>
    Effect.gen(function*() {
      yield* post(deployments, deployment())
      const changed = yield* patch(`${deployments}/a`, "merge", { metadata: { annotations: { a: "b" } } })
      assert.strictEqual(changed.body.metadata.generation, 2)
      const labelled = yield* patch(`${deployments}/a`, "merge", { metadata: { labels: { a: "b" } } })
      assert.strictEqual(labelled.body.metadata.generation, 2)
      const replicaSets = "/apis/apps/v1/namespaces/default/replicasets"
      yield* post(replicaSets, deployment())
      const other = yield* patch(`${replicaSets}/a`, "merge", { metadata: { annotations: { a: "b" } } })
      assert.strictEqual(other.body.metadata.generation, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("judges how a DaemonSet is updated", () =>
    Effect.gen(function*() {
      const path = "spec.updateStrategy"
      const daemons = (updateStrategy: object) => deployment({ updateStrategy })
      yield* refuses(
        "/apis/apps/v1/namespaces/default/daemonsets",
        [daemons({ rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } })],
        [
          daemons({ rollingUpdate: { maxUnavailable: "30%", maxSurge: "101%" } }),
          `${path}.rollingUpdate.maxSurge: Invalid value: "101%": must not be greater than 100%`,
          `${path}.rollingUpdate.maxSurge: Invalid value: "101%": may not be set when maxUnavailable is non-zero`
        ],
        [
          daemons({ rollingUpdate: { maxUnavailable: 0 } }),
          `${path}.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`
        ],
        [
          daemons({ type: "Other" }),
          `${path}: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"`
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a template without labels is told so", () =>
    Effect.gen(function*() {
      const { spec } = deployment() as any
      const without = { metadata: { name: "a" }, spec: { ...spec, template: { spec: spec.template.spec } } }
      const { body } = yield* post(deployments, without)
      assert.include(body.message, "metadata.labels: Invalid value: null: `selector` does not match template `labels`")
    }).pipe(Effect.provide(layer)))

  it.effect("the count of a DaemonSet's templates belongs to who writes it, not to who applies it", () =>
    Effect.gen(function*() {
      const url = "/apis/apps/v1/namespaces/default/daemonsets"
      const daemonSet = (name: string) => ({
        apiVersion: "apps/v1",
        kind: "DaemonSet",
        metadata: { name },
        spec: {
          selector: { matchLabels: { a: "b" } },
          template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } }
        }
      })
      const key = "deprecated.daemonset.template.generation"
      const written = yield* post(url, daemonSet("a"))
      assert.deepStrictEqual(written.body.metadata.annotations, { [key]: "1" })
      assert.deepStrictEqual(written.body.metadata.managedFields[0].fieldsV1["f:metadata"], {
        "f:annotations": { ".": {}, [`f:${key}`]: {} }
      })
      const applied = yield* patch(`${url}/b?fieldManager=x`, "apply", daemonSet("b"))
      assert.deepStrictEqual(applied.body.metadata.annotations, { [key]: "1" })
      assert.notProperty(applied.body.metadata.managedFields[0].fieldsV1, "f:metadata")
      for (const [given, kept] of [["3", "3"], ["0", "1"], ["-1", "1"]] as const) {
        const again = {
          ...daemonSet(`c${kept}${given}`),
          metadata: { name: `c${kept}${given}`, annotations: { [key]: given } }
        }
        assert.strictEqual((yield* post(url, again)).body.metadata.annotations[key], kept)
      }
    }).pipe(Effect.provide(layer)))
})
