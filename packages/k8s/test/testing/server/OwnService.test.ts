import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import { get, layer, post } from "../support/server.ts"

const services = "/api/v1/namespaces/default/services"

describe("OwnService", () => {
  it.effect("Pods find the server by the Service kubernetes, wherever it listens last", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      assert.strictEqual((yield* get(`${services}/kubernetes`)).status, 404)
      yield* server.publish(6443)
      const { body: first } = yield* get(`${services}/kubernetes`)
      assert.deepInclude(first.spec, { clusterIP: "10.96.0.1", type: "ClusterIP" })
      assert.deepInclude(first.spec.ports[0], { name: "https", port: 443, targetPort: 6443 })
      yield* server.publish(7443)
      const { body: again } = yield* get(`${services}/kubernetes`)
      assert.strictEqual(again.metadata.uid, first.metadata.uid)
      assert.strictEqual(again.spec.ports[0].targetPort, 7443)
      const { body: endpoints } = yield* get("/api/v1/namespaces/default/endpoints/kubernetes")
      assert.deepStrictEqual(endpoints.subsets, [{
        addresses: [{ ip: "127.0.0.1" }],
        ports: [{ name: "https", port: 7443, protocol: "TCP" }]
      }])
      const { body: slice } = yield* get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
      assert.deepStrictEqual(slice.endpoints, [{ addresses: ["127.0.0.1"], conditions: { ready: true } }])
      const { body: range } = yield* get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
      assert.deepStrictEqual(range.spec, { cidrs: ["10.96.0.0/12"] })
      const taken = yield* post(services, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "other" },
        spec: { clusterIP: "10.96.0.1", ports: [{ port: 1 }] }
      })
      assert.strictEqual(taken.status, 422, "its address is given to nobody else")
    }).pipe(Effect.provide(layer)))
})
