import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApiServer } from "../../../../src/testing/ApiServer.ts"
import { get, patch, post } from "../../support/server.ts"

const layer = ApiServer.layer
const pods = "/api/v1/namespaces/default/pods"

const container = (name: string, fields: object = {}) => ({ name, image: "x", ...fields })

const pod = (spec: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", labels: { a: "b" } },
  spec: { containers: [container("c")], ...spec }
})

const faults = ({ body }: { readonly body: any }): ReadonlyArray<string> =>
  (body.details?.causes ?? []).map(({ field, message }: any) => `${field}: ${message}`)

// In the words of a real server.
describe("PodParts", () => {
  const change = (part: string) => (container: object) =>
    patch(`${pods}/p/${part}`, "strategic", { spec: { containers: [container] } })
  const resize = change("resize")

  it.effect("a resize writes amounts and nothing else, and leaves the Pod of its kind", () =>
    Effect.gen(function*() {
      const resources = { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } }
      yield* post(pods, pod({ containers: [container("c", { resources }), container("d")] }))
      const more = yield* patch(`${pods}/p/resize`, "strategic", {
        metadata: { labels: { z: "y" } },
        spec: { nodeName: "n", containers: [{ name: "c", image: "new", resources: { requests: { cpu: "200m" } } }] }
      })
      assert.deepStrictEqual(more.body.spec.containers[0].resources.requests, { cpu: "200m", memory: "64Mi" })
      assert.deepStrictEqual([more.body.metadata.labels, more.body.spec.nodeName], [{ a: "b" }, undefined])
      assert.strictEqual(more.body.spec.containers[0].image, "x")
      assert.deepStrictEqual(faults(yield* resize({ name: "c", resources: { limits: { memory: null } } })), [
        "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"
      ])
      assert.deepStrictEqual(
        faults(
          yield* resize({
            name: "c",
            resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }]
          })
        ),
        ["spec: Forbidden: only cpu and memory resources are mutable"]
      )
      assert.include(
        faults(yield* resize(container("new"))),
        "spec.containers: Forbidden: containers may not be added or removed on resize"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod that says what it needs as a whole is not resized", () =>
    Effect.gen(function*() {
      const resources = { requests: { cpu: "100m" } }
      yield* post(
        pods,
        pod({ resources: { requests: { cpu: "1" } }, containers: [container("c", { resources })] })
      )
      assert.deepStrictEqual(faults(yield* resize({ name: "c", resources: { requests: { cpu: "200m" } } })), [
        "[]: Forbidden: resize of pods with pod-level resources is forbidden when " +
        "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("a claim that is not the Pod's is all that is wrong with it", () =>
    Effect.gen(function*() {
      yield* post(pods, pod({ containers: [container("c", { resources: { requests: { cpu: "100m" } } })] }))
      assert.deepStrictEqual(faults(yield* resize({ name: "c", resources: { claims: [{ name: "x" }] } })), [
        `spec.containers[0].resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims ` +
        "which is empty"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("a Pod without amounts is given none", () =>
    Effect.gen(function*() {
      yield* post(pods, pod({}))
      assert.deepStrictEqual(faults(yield* resize({ name: "c", resources: { requests: { cpu: "1" } } })), [
        "spec: Invalid value: \"BestEffort\": Pod QOS Class may not change as a result of resizing"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("containers for debugging come, and stay as they are", () =>
    Effect.gen(function*() {
      yield* post(pods, pod({}))
      const debug = (...ephemeralContainers: ReadonlyArray<object>) =>
        patch(`${pods}/p/ephemeralcontainers`, "merge", {
          metadata: { labels: { l: "m" } },
          spec: { ephemeralContainers, containers: [container("c", { image: "y" })] }
        })
      yield* debug(container("e"))
      const { body } = yield* get(`${pods}/p`)
      assert.deepStrictEqual([body.metadata.labels, body.spec.containers[0].image], [{ a: "b" }, "x"])
      assert.deepStrictEqual(body.spec.ephemeralContainers.map(({ name }: any) => name), ["e"])
      assert.deepStrictEqual(faults(yield* debug(container("f"))), [
        "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be removed\n"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("no containers for debugging are no change", () =>
    Effect.gen(function*() {
      yield* post(pods, pod({}))
      const { body } = yield* patch(`${pods}/p/ephemeralcontainers`, "strategic", {
        spec: { activeDeadlineSeconds: 5 }
      })
      assert.notProperty(body.spec, "ephemeralContainers")
      assert.strictEqual(body.metadata.generation, 1)
    }).pipe(Effect.provide(layer)))
})
