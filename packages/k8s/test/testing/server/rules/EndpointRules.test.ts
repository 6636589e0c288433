import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses } from "../../support/refusals.ts"
import { layer, patch, post } from "../../support/server.ts"

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
  "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
  "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const address = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

describe("EndpointRules", () => {
  it.effect("judges Endpoints", () =>
    refuses(
      "/api/v1/namespaces/default/endpoints",
      [{ metadata: { name: "a" }, subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }] }],
      [
        {
          metadata: { name: "a" },
          subsets: [{}, { addresses: [{ ip: "x" }, { ip: "169.254.1.1", hostname: "a.b" }], ports: [{ port: 0 }, {}] }]
        },
        "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
        `subsets[1].addresses[0].ip: Invalid value: "x": ${address}`,
        "subsets[1].addresses[0].ip: Invalid value: \"x\": must be a valid IP address",
        "subsets[1].addresses[1].hostname: Invalid value: \"a.b\": must not contain dots",
        "subsets[1].addresses[1].ip: Invalid value: \"169.254.1.1\": may not be in the link-local range (169.254.0.0/16, " +
        "fe80::/10)",
        "subsets[1].ports[0].name: Required value",
        "subsets[1].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        "subsets[1].ports[1].name: Required value",
        "subsets[1].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive"
      ],
      [
        // An empty hostname is none, an empty name of a node is not.
        { metadata: { name: "a" }, subsets: [{ addresses: [{ ip: "10.0.0.1", hostname: "", nodeName: "" }] }] },
        `subsets[0].addresses[0].nodeName: Invalid value: "": ${subdomain}`
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges EndpointSlices", () =>
    refuses(
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
      [{ metadata: { name: "a" }, addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::1"] }] }],
      [
        { metadata: { name: "a" }, addressType: "Other", endpoints: [{ addresses: [] }] },
        "addressType: Unsupported value: \"Other\": supported values: \"FQDN\", \"IPv4\", \"IPv6\"",
        "endpoints[0].addresses: Required value: must contain at least 1 address"
      ],
      [
        {
          metadata: { name: "a" },
          addressType: "IPv4",
          endpoints: [{ addresses: ["10.0.0.1"], hostname: "", nodeName: "" }]
        },
        `endpoints[0].nodeName: Invalid value: "": ${subdomain}`,
        `endpoints[0].hostname: Invalid value: "": ${label}`
      ],
      [
        {
          metadata: { name: "a" },
          addressType: "IPv4",
          ports: [{ port: 1 }, { port: 2 }],
          endpoints: [{ addresses: ["x", "::1"], hints: { forZones: [{ name: "z" }, { name: "z" }] } }]
        },
        "ports[1].name: Duplicate value: \"\"",
        `endpoints[0].addresses[0]: Invalid value: "x": ${address}`,
        "endpoints[0].addresses: Invalid value: \"::1\": must be an IPv4 address",
        "endpoints[0].addresses[1]: Invalid value: \"::1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
        "endpoints[0].hints.forZones[1].name: Duplicate value: \"z\""
      ],
      [
        {
          metadata: { name: "a" },
          addressType: "IPv6",
          endpoints: [{ addresses: ["2001:0db8::1", "::ffff:1.2.3.4"] }]
        },
        "endpoints[0].addresses[0]: Invalid value: \"2001:0db8::1\": must be in canonical form (\"2001:db8::1\")",
        "endpoints[0].addresses[1]: Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("a Service is reached from outside through its balancer only", () =>
    Effect.gen(function*() {
      const url = "/api/v1/namespaces/default/services"
      const ingress = [{ ip: "1.2.3.4" }]
      yield* post(url, { metadata: { name: "a" }, spec: { ports: [{ port: 80 }] } })
      const status = { loadBalancer: { ingress } }
      assert.deepStrictEqual(causes(yield* patch(`${url}/a/status`, "merge", { status })), [
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
      ])
      yield* post(url, { metadata: { name: "b" }, spec: { type: "LoadBalancer", ports: [{ port: 80 }] } })
      const { body } = yield* patch(`${url}/b/status`, "merge", { status })
      assert.deepStrictEqual(body.status.loadBalancer.ingress, [{ ip: "1.2.3.4", ipMode: "VIP" }])
    }).pipe(Effect.provide(layer)))

  it.effect("other labels are a new generation of an EndpointSlice, other annotations are not", () =>
    Effect.gen(function*() {
      const url = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
      yield* post(url, { metadata: { name: "a" }, addressType: "IPv4", endpoints: [] })
      const changed = (metadata: object) =>
        Effect.map(patch(`${url}/a`, "merge", { metadata }), ({ body }) => body.metadata.generation)
      assert.strictEqual(yield* changed({ labels: { a: "b" } }), 2)
      assert.strictEqual(yield* changed({ annotations: { a: "b" } }), 2)
    }).pipe(Effect.provide(layer)))
})
