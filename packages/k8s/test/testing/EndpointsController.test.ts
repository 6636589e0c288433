import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Endpoints, Pod, Service, type ServiceSpec } from "../../src/kinds/core.v1.ts"
import { EndpointSlice } from "../../src/kinds/discovery.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as EndpointsController from "../../src/testing/EndpointsController.ts"
import * as GarbageCollector from "../../src/testing/GarbageCollector.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import { layer } from "./support/server.ts"

const cluster = Layer.mergeAll(EndpointsController.layer, GarbageCollector.layer, Kubelet.layer()).pipe(
  Layer.provideMerge(layer)
)
const withoutKubelet = Layer.provideMerge(EndpointsController.layer, layer)

const key = { namespace: "default", name: "web" }
const app = { app: "web" }
const serve = (spec: ServiceSpec) =>
  KubeClient.use((client) =>
    client.create(Service, { metadata: { ...key, labels: { tier: "front" } }, spec: { selector: app, ...spec } })
  )
const run = (name: string) =>
  KubeClient.use((client) =>
    client.create(Pod, {
      metadata: { namespace: "default", name, labels: app },
      spec: { containers: [{ name: "c", image: "x", ports: [{ name: "http", containerPort: 8080 }] }] }
    })
  )
const endpoints = KubeClient.use((client) => client.get(Endpoints, key))
const slices = KubeClient.use((client) => Stream.runCollect(client.list(EndpointSlice))).pipe(
  Effect.map((all) => all.filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === "web"))
)
const ports = [{ name: "web", port: 80, targetPort: "http" }, { name: "admin", port: 81, targetPort: 9090 }]

describe("EndpointsController", () => {
  it.effect("addresses come when a Pod has them, are ready when it is, and go with it", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* serve({ ports })
      yield* TestClock.adjust("1 second")
      assert.isUndefined((yield* endpoints).subsets)
      const [empty] = yield* slices
      assert.deepStrictEqual([empty?.endpoints ?? [], empty?.ports ?? [], empty?.addressType], [[], [], "IPv4"])
      const [owned] = empty?.metadata.managedFields ?? []
      assert.sameMembers(Object.keys(owned?.fieldsV1 ?? {}), ["f:addressType", "f:metadata"])
      const pod = yield* run("a")
      yield* run("b")
      yield* TestClock.adjust("2 seconds")
      const { metadata, subsets } = yield* endpoints
      assert.deepStrictEqual(metadata.labels, {
        tier: "front",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller"
      })
      assert.match(metadata.annotations?.["endpoints.kubernetes.io/last-change-trigger-time"] ?? "", /Z$/)
      assert.lengthOf(subsets!, 1)
      assert.deepStrictEqual(subsets?.[0]?.ports, [
        { name: "admin", port: 9090, protocol: "TCP" },
        { name: "web", port: 8080, protocol: "TCP" }
      ])
      const running = yield* client.get(Pod, pod)
      const ip = running.status!.podIP!
      const targetRef = { kind: "Pod", namespace: "default", name: "a", uid: pod.metadata.uid }
      const address = subsets?.[0]?.addresses?.find((candidate) => candidate.ip === ip)
      assert.deepStrictEqual(address, { ip, nodeName: running.spec.nodeName!, targetRef })
      const [slice, ...others] = yield* slices
      assert.lengthOf(others, 0)
      assert.strictEqual(slice?.metadata.uid, empty?.metadata.uid, "the empty slice is filled")
      assert.lengthOf(slice!.endpoints!, 2)
      assert.deepStrictEqual(slice?.endpoints?.find((endpoint) => endpoint.addresses[0] === ip), {
        addresses: [ip],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: running.spec.nodeName!,
        targetRef
      })
      yield* client.delete(Pod, pod)
      yield* TestClock.adjust("500 millis")
      const leaving = (yield* slices)[0]?.endpoints?.find((endpoint) => endpoint.addresses[0] === ip)
      assert.deepStrictEqual(leaving?.conditions, { ready: false, serving: true, terminating: true })
      assert.lengthOf((yield* endpoints).subsets?.[0]?.addresses ?? [], 1)
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf((yield* slices)[0]?.endpoints ?? [], 1)
      yield* client.delete(Service, key)
      yield* TestClock.adjust("2 seconds")
      assert.lengthOf(yield* slices, 0)
      assert.strictEqual((yield* Effect.flip(endpoints)).reason._tag, "NotFound")
    }).pipe(Effect.provide(cluster)))

  it.effect("Pods that are not ready are told apart, unless the Service publishes them", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* serve({ clusterIP: "None", ports })
      yield* run("a")
      const [podIP, conditions] = ["10.0.0.1", [{ type: "Ready", status: "False" }]]
      const status = { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions }
      const name = { namespace: "default", name: "a" }
      yield* client.patch(Pod, name, Patch.merge({ status }), { subresource: "status" })
      yield* TestClock.adjust("2 seconds")
      const { metadata, subsets } = yield* endpoints
      assert.strictEqual(metadata.labels?.["service.kubernetes.io/headless"], "")
      assert.lengthOf(subsets?.[0]?.notReadyAddresses ?? [], 1)
      assert.isUndefined(subsets?.[0]?.addresses)
      assert.strictEqual((yield* slices)[0]?.endpoints?.[0]?.conditions?.ready, false)
      yield* client.patch(Service, key, Patch.merge({ spec: { publishNotReadyAddresses: true } }))
      yield* TestClock.adjust("1 millis")
      assert.lengthOf((yield* endpoints).subsets?.[0]?.addresses ?? [], 1)
      assert.strictEqual((yield* slices)[0]?.endpoints?.[0]?.conditions?.ready, true)
    }).pipe(Effect.provide(withoutKubelet)))

  it.effect("what is changed or deleted by others is put right, and slices hold 100 endpoints", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      for (let at = 0; at < 120; at++) yield* run(`p${at}`)
      yield* TestClock.adjust("2 seconds")
      yield* serve({ ports })
      yield* TestClock.adjust("2 seconds")
      const sizes = Effect.map(
        slices,
        (all) => all.map(({ endpoints }) => endpoints?.length ?? 0).sort((a, b) => a - b)
      )
      assert.strictEqual((yield* sizes).reduce((sum, size) => sum + size, 0), 120)
      assert.isAtMost(Math.max(...yield* sizes), 100)
      assert.lengthOf((yield* endpoints).subsets?.[0]?.addresses ?? [], 120)
      yield* client.delete(Endpoints, key)
      yield* client.delete(EndpointSlice, (yield* slices)[0]!)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* sizes).reduce((sum, size) => sum + size, 0), 120)
      assert.lengthOf((yield* endpoints).subsets?.[0]?.addresses ?? [], 120)
      const { requestCounts } = yield* ApiServer
      const before = yield* requestCounts
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* requestCounts, before, "an idle cluster makes no requests")
    }).pipe(Effect.provide(cluster)))

  it.effect("without a selector nothing is written", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(Service, { metadata: key, spec: { ports } })
      yield* TestClock.adjust("1 second")
      assert.lengthOf(yield* slices, 0)
      assert.strictEqual((yield* Effect.flip(endpoints)).reason._tag, "NotFound")
    }).pipe(Effect.provide(cluster)))
})
