import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, del, layer, patch, post, put } from "../support/server.ts"

const url = "/api/v1/namespaces/default/services"

const service = (name: string, spec: object) => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } })

const nodePort = (name: string, ...ports: ReadonlyArray<object>) => service(name, { type: "NodePort", ports })

const portsOf = ({ body }: { readonly body: any }): ReadonlyArray<number | undefined> =>
  body.spec.ports.map((port: { readonly nodePort?: number }) => port.nodePort)

const taken = "provided port is already allocated"

describe("ServicePool", () => {
  it.effect("a port that a Service has is given to no other, in no namespace and in no dry run", () =>
    Effect.gen(function*() {
      yield* post(url, nodePort("a", { port: 80, nodePort: 30080 }))
      const message = `Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30080: ${taken}`
      for (const path of [url, `${url}?dryRun=All`, "/api/v1/namespaces/kube-system/services"]) {
        const { body, status } = yield* post(path, nodePort("b", { port: 80, nodePort: 30080 }))
        assert.deepStrictEqual([status, body.message], [422, message])
      }
    }).pipe(Effect.provide(layer)))

  it.effect("of several ports that cannot be had, the first is told", () =>
    Effect.gen(function*() {
      const ports = [{ name: "x", port: 80, nodePort: 80 }, { name: "y", port: 81, nodePort: 81 }]
      const { body } = yield* post(url, nodePort("a", ...ports))
      assert.deepStrictEqual(body.details.causes.map(({ field }: { readonly field: string }) => field), [
        "spec.ports[0].nodePort"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("a Service asks for a port once, and before anything else is looked at", () =>
    Effect.gen(function*() {
      const message = ({ body, status }: { readonly body: any; readonly status: number }) => `${status} ${body.message}`
      const invalid = (name: string, index: number, port: number) =>
        `422 Service "${name}" is invalid: spec.ports[${index}].nodePort: Invalid value: ${port}: ${taken}`
      const twice = [{ name: "x", port: 80, nodePort: 30080 }, { name: "y", port: 81, nodePort: 30080 }]
      assert.strictEqual(message(yield* post(url, nodePort("a", ...twice))), invalid("a", 1, 30080))
      const protocols = [{ name: "x", port: 80, nodePort: 30080 }, {
        name: "y",
        port: 80,
        protocol: "UDP",
        nodePort: 30080
      }]
      assert.strictEqual((yield* post(url, nodePort("a", ...protocols))).status, 201)
      assert.strictEqual(message(yield* post(url, nodePort("b", { port: 0, nodePort: 30080 }))), invalid("b", 0, 30080))
      yield* post(url, service("b", {}))
      const change = (spec: object) =>
        Effect.map(patch(`${url}/b`, "merge", { spec: { type: "NodePort", ...spec } }), message)
      assert.strictEqual(yield* change({ ports: [{ port: 80, nodePort: 30080 }] }), invalid("b", 0, 30080))
      assert.strictEqual(
        yield* change({ ports: [{ name: "x", port: 80, nodePort: 30081 }, { name: "y", port: 81, nodePort: 30081 }] }),
        "500 duplicate nodePort: {TCP 30081}"
      )
      const others = [{ name: "x", port: 80, nodePort: 30081 }, {
        name: "y",
        port: 81,
        protocol: "UDP",
        nodePort: 30081
      }]
      assert.match(yield* change({ ports: others }), /^200 /)
    }).pipe(Effect.provide(layer)))

  it.effect("a port that is asked for health is one of the same", () =>
    Effect.gen(function*() {
      yield* post(url, nodePort("a", { port: 80, nodePort: 30080 }))
      const balancer = (name: string, healthCheckNodePort: number) =>
        service(name, { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort })
      const refused = (port: number, why: string) =>
        `Internal error occurred: failed to allocate requested HealthCheck NodePort ${port}: ${why}`
      const first = yield* post(url, balancer("b", 30080))
      assert.deepStrictEqual([first.status, first.body.message], [500, refused(30080, taken)])
      const low = yield* post(url, balancer("b", 29000))
      const range = "provided port is not in the valid range. The range of valid ports is 30000-32767"
      assert.strictEqual(low.body.message, refused(29000, range))
      yield* post(url, service("b", { type: "LoadBalancer" }))
      const { body } = yield* patch(`${url}/b`, "merge", balancer("b", 30080))
      assert.strictEqual(body.message, refused(30080, taken))
      assert.strictEqual((yield* patch(`${url}/b`, "merge", balancer("b", 30081))).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("a Service that is no balancer any more is not told where it was reached", () =>
    Effect.gen(function*() {
      yield* post(url, service("a", { type: "LoadBalancer" }))
      yield* patch(`${url}/a/status`, "merge", { status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } })
      const kept = yield* patch(`${url}/a`, "merge", { metadata: { labels: { a: "b" } } })
      assert.strictEqual(kept.body.status.loadBalancer.ingress.length, 1)
      const other = yield* patch(`${url}/a`, "merge", { spec: { type: "ClusterIP" } })
      assert.deepStrictEqual(other.body.status, { loadBalancer: {} })
    }).pipe(Effect.provide(layer)))

  it.effect("an address that a Service has is given to no other", () =>
    Effect.gen(function*() {
      yield* post(url, service("a", { clusterIP: "10.96.5.5" }))
      const { body, status } = yield* post(url, service("b", { clusterIP: "10.96.5.5" }))
      assert.deepStrictEqual([status, body.message], [
        422,
        "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.5.5\"]: failed to allocate IP 10.96.5.5: " +
        "provided IP is already allocated"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("what goes free by a deletion, or by another type or port, can be given again", () =>
    Effect.gen(function*() {
      const wanted = (name: string) => post(url, nodePort(name, { port: 80, nodePort: 30080 }))
      assert.strictEqual((yield* wanted("a")).status, 201)
      yield* del(`${url}/a`)
      assert.strictEqual((yield* wanted("b")).status, 201)
      yield* patch(`${url}/b`, "merge", { spec: { type: "ClusterIP" } })
      assert.strictEqual((yield* wanted("c")).status, 201)
      yield* patch(`${url}/c`, "merge", { spec: { ports: [{ port: 80, nodePort: 30081 }] } })
      assert.strictEqual((yield* wanted("d")).status, 201)
      assert.strictEqual((yield* wanted("e")).status, 422)
    }).pipe(Effect.provide(layer)))

  it.effect("ports and addresses that are given differ, however many there are", () =>
    Effect.gen(function*() {
      const services = yield* Effect.forEach(
        Array.from({ length: 400 }, (_, index) => `s-${index}`),
        (name) => post(url, nodePort(name, { name: "a", port: 80 }, { name: "b", port: 81 }))
      )
      assert.strictEqual(new Set(services.flatMap(portsOf)).size, 800)
      assert.strictEqual(new Set(services.map(({ body }) => body.spec.clusterIP)).size, 400)
    }).pipe(Effect.provide(layer)))

  it.effect("the lowest are left to those who ask for one, until nothing else is free", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: 100 }, (_, index) => ({ name: `p-${index}`, port: 1 + index }))
      const services = yield* Effect.forEach(
        Array.from({ length: 27 }, (_, index) => `s-${index}`),
        (name) => post(url, nodePort(name, ...many))
      )
      const ports = services.flatMap(portsOf).map(Number)
      const above = 32767 - 30085
      assert.strictEqual(new Set(ports).size, 2700)
      assert.isTrue(ports.slice(0, above).every((port) => port > 30085))
      assert.deepStrictEqual(ports.slice(above), Array.from({ length: 2700 - above }, (_, index) => 30000 + index))
      const isLow = (address: string) => /^10\.96\.(?:0\.|1\.[12]$)/.test(address)
      assert.isFalse(services.some(({ body }) => isLow(body.spec.clusterIP)))
    }).pipe(Effect.provide(layer)))

  it.effect("what differs by protocol alone has one port of the nodes, that which one of them asks for", () =>
    Effect.gen(function*() {
      const dns = (nodePort?: number) => [
        { name: "t", port: 53, protocol: "TCP" },
        { name: "u", port: 53, protocol: "UDP", ...(nodePort === undefined ? {} : { nodePort }) }
      ]
      const [first, second] = portsOf(yield* post(url, nodePort("a", ...dns())))
      assert.isNumber(first)
      assert.strictEqual(first, second)
      assert.deepStrictEqual(portsOf(yield* post(url, nodePort("b", ...dns(30053)))), [30053, 30053])
    }).pipe(Effect.provide(layer)))

  it.effect("an update that leaves ports out keeps those of the same name", () =>
    Effect.gen(function*() {
      const ports = [{ name: "x", port: 80, nodePort: 30080 }, { name: "y", port: 81, nodePort: 30081 }]
      const { body } = yield* post(url, nodePort("a", ...ports))
      const left = [{ name: "y", port: 81 }, { name: "x", port: 82 }, { name: "z", port: 83 }]
      const answer = yield* put(`${url}/a`, { ...body, spec: { ...body.spec, ports: left } })
      const [y, x, z] = portsOf(answer)
      assert.deepStrictEqual([y, x], [30081, 30080])
      assert.notInclude([30080, 30081, undefined], z)
    }).pipe(Effect.provide(layer)))

  it.effect("a port that a Service is given was none of its own before", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, nodePort("a", { name: "x", port: 80 }))
      const ports = [{ name: "y", port: 81 }, { name: "z", port: 82 }]
      const answer = yield* put(`${url}/a`, { ...body, spec: { ...body.spec, ports } })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(new Set([...portsOf(answer), ...portsOf({ body })]).size, 3)
    }).pipe(Effect.provide(layer)))

  it.effect("a balancer that wants no ports of nodes has those alone that it asks for", () =>
    Effect.gen(function*() {
      const ports = [{ name: "x", port: 80 }, { name: "y", port: 81, nodePort: 30081 }]
      const spec = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports }
      assert.deepStrictEqual(portsOf(yield* call("POST", url, service("a", spec))), [undefined, 30081])
    }).pipe(Effect.provide(layer)))
})
