import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, call, get, layer, patch, pod, pods, post } from "../../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body?.message ?? ""}`

const core = "/api/v1/namespaces/default"

const service = (name: string, ports: ReadonlyArray<object>) => ({ metadata: { name }, spec: { ports } })

describe("Proxying", () => {
  it.effect("a Pod is reached at its address, by every method and with any path", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const) {
        assert.strictEqual(message(yield* call(method, `${pods}/a/proxy/some/path`)), "400 address not allowed", method)
      }
      yield* patch(`${pods}/a/status`, "merge", { status: { podIP: "10.1.2.3" } })
      assert.match(
        message(yield* get(`${pods}/a:81/proxy`)),
        /^503 error trying to reach service: dial tcp 10.1.2.3:81:/
      )
      assert.strictEqual(message(yield* get(`${pods}/x:a:81/proxy`)), "400 invalid pod request \"x:a:81\"")
      assert.strictEqual(message(yield* get(`${pods}/b/proxy/`)), "404 pods \"b\" not found")
    }).pipe(Effect.provide(layer)))

  it.effect("a Service is reached where it has endpoints", () =>
    Effect.gen(function*() {
      yield* post(`${core}/services`, service("s", [{ name: "a", port: 80 }, { name: "b", port: 81 }]))
      assert.strictEqual(message(yield* get(`${core}/services/s/proxy`)), "404 services \"s\" not found")
      yield* post(`${core}/endpoints`, { metadata: { name: "s" }, subsets: [] })
      const none = (name: string) => `503 no endpoints available for service "${name}"`
      assert.strictEqual(message(yield* get(`${core}/services/s:80/proxy`)), none("s"))
      assert.strictEqual(
        message(yield* get(`${core}/services/s:99/proxy`)),
        "503 no service port 99 found for service \"s\""
      )
      yield* patch(`${core}/endpoints/s`, "merge", {
        subsets: [{
          addresses: [{ ip: "10.1.2.3", targetRef: { kind: "Pod", name: "a" } }],
          ports: [{ name: "a", port: 8080 }]
        }]
      })
      assert.strictEqual(message(yield* get(`${core}/services/s:b/proxy`)), none("s:b"))
      assert.match(message(yield* get(`${core}/services/http:s:80/proxy/x`)), /dial tcp 10.1.2.3:8080/)
      assert.strictEqual(
        message(yield* get(`${core}/services/a:b:c:d/proxy`)),
        "400 invalid service request \"a:b:c:d\""
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a node is reached at an address that it has", () =>
    Effect.gen(function*() {
      yield* post("/api/v1/nodes", { metadata: { name: "n" } })
      assert.strictEqual(
        message(yield* get("/api/v1/nodes/n/proxy/stats")),
        "500 no preferred addresses found; known addresses: []"
      )
      assert.strictEqual(message(yield* get("/api/v1/nodes/m:10250/proxy/")), "404 nodes \"m\" not found")
      const addresses = [{ type: "InternalIP", address: "127.0.0.1" }]
      yield* post("/api/v1/nodes", { metadata: { name: "here" }, status: { addresses } })
      assert.strictEqual(message(yield* get("/api/v1/nodes/here/proxy/")), "400 address not allowed")
    }).pipe(Effect.provide(layer)))
})
