import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { causes, refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post, put } from "../../support/server.ts"

const url = "/api/v1/namespaces/default/services"

const service = (spec: object = {}) => ({ metadata: { name: "a" }, spec: { ports: [{ port: 80 }], ...spec } })

const p = "spec.ports[0]"

const classless = "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"

describe("ServiceRules", () => {
  it.effect("judges types and ports", () =>
    refuses(
      url,
      [service()],
      [service({ type: "ExternalName", externalName: "example.com.", ports: [] })],
      [service({ type: "ExternalName", ports: [] }), "spec.externalName: Required value"],
      [
        service({ type: "ExternalName", externalName: "a", clusterIP: "10.96.0.9" }),
        "spec.clusterIPs: Forbidden: may not be set for ExternalName services"
      ],
      [
        service({ type: "NodePort", clusterIP: "None" }),
        "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"
      ],
      [
        service({ ports: [{ port: 80, nodePort: 30080, appProtocol: "a b" }] }),
        `${p}.appProtocol: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and ` +
        "must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " +
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        `${p}.nodePort: Forbidden: may not be used when \`type\` is 'ClusterIP'`
      ],
      [
        service({ ports: [{ name: "a", port: 80 }, { name: "b", port: 80 }] }),
        "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0," +
        "\"NodePort\":0}"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges addresses before all else", () =>
    refuses(
      url,
      [
        service({ clusterIP: "x", ports: [] }),
        "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
      ],
      [
        service({ clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.2"] }),
        "spec.clusterIPs: Invalid value: [\"10.96.0.2\"]: first value must match `clusterIP`"
      ],
      [
        service({ ipFamilies: ["IPv4", "IPv4"], ipFamilyPolicy: "Other" }),
        "spec.ipFamilies[1]: Duplicate value: \"IPv4\"",
        "spec.ipFamilyPolicy: Unsupported value: \"Other\": supported values: \"PreferDualStack\", \"RequireDualStack\", " +
        "\"SingleStack\""
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("judges balancers, affinity and traffic", () =>
    refuses(
      url,
      [
        service({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 86401 } } }),
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400"
      ],
      [
        service({ loadBalancerSourceRanges: ["10.0.0.0/33"], loadBalancerClass: "a", externalTrafficPolicy: "Local" }),
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.LoadBalancerSourceRanges[0]: Invalid value: \"10.0.0.0/33\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or " +
        "2001:db8::/64)",
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services"
      ],
      [
        service({ internalTrafficPolicy: "Other", trafficDistribution: "Other", externalIPs: ["127.0.0.1"] }),
        "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
        "spec.internalTrafficPolicy: Unsupported value: \"Other\": supported values: \"Cluster\", \"Local\"",
        "spec.trafficDistribution: Unsupported value: \"Other\": supported values: \"PreferClose\", \"PreferSameZone\", " +
        "\"PreferSameNode\""
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("asks for no more than a cluster of one family has", () =>
    refuses(
      url,
      [service({ ipFamilyPolicy: "PreferDualStack" })],
      [service({ clusterIP: "None" })],
      [
        service({ ipFamilyPolicy: "RequireDualStack", selector: { a: "b" } }),
        "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services"
      ],
      [
        service({ type: "ExternalName", externalName: "a.b", internalTrafficPolicy: "Bad" }),
        "spec.internalTrafficPolicy: Unsupported value: \"Bad\": supported values: \"Cluster\", \"Local\""
      ],
      [
        service({ clusterIP: "fd00::25" }),
        "spec.clusterIPs[0]: Invalid value: [\"fd00::25\"]: IPv6 is not configured on this cluster"
      ],
      [
        service({ clusterIP: "fd00::25", ipFamilies: ["IPv4"] }),
        "spec.clusterIPs[0]: Invalid value: \"fd00::25\": expected an IPv4 value as indicated by `ipFamilies[0]`"
      ],
      [
        service({ ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv6"] }),
        "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster"
      ],
      [
        service({ ipFamilies: ["IPv4", "IPv6"] }),
        "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when " +
        "multiple IP families are specified"
      ],
      [
        service({ ipFamilyPolicy: "" }),
        "spec.ipFamilyPolicy: Unsupported value: \"\": supported values: \"PreferDualStack\", \"RequireDualStack\", " +
        "\"SingleStack\""
      ],
      [
        service({ internalTrafficPolicy: "" }),
        "spec.internalTrafficPolicy: Unsupported value: \"\": supported values: \"Cluster\", \"Local\""
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("addresses stay once they are given", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, service({ clusterIP: "10.96.7.7" }))
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, spec: { ports: [{ port: 81 }] } })],
        [
          (object) => ({ ...object, spec: { ...object.spec, clusterIP: "10.96.7.8" } }),
          "spec.clusterIPs[0]: Invalid value: [\"10.96.7.8\"]: may not change once set"
        ],
        [
          (object) => ({
            ...object,
            spec: { ...object.spec, ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "PreferDualStack" }
          }),
          "spec.ipFamilies[1]: Invalid value: \"IPv6\": not configured on this cluster"
        ],
        [
          (object) => ({ ...object, spec: { ...object.spec, clusterIP: "x", clusterIPs: ["x"] } }),
          "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        ],
        [
          (object) => ({ ...object, spec: { ...object.spec, loadBalancerClass: "a/b" } }),
          classless,
          classless
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("a headless Service without a selector is of both families, and cannot get one where there is but one", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, service({ clusterIP: "None" }))
      assert.deepStrictEqual([body.spec.ipFamilies, body.spec.ipFamilyPolicy], [["IPv4", "IPv6"], "RequireDualStack"])
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [
          (object) => ({ ...object, spec: { ...object.spec, selector: { a: "b" } } }),
          "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services",
          "spec.ipFamilies[1]: Invalid value: \"IPv6\": not configured on this cluster"
        ],
        [(object) => ({
          ...object,
          spec: { ...object.spec, selector: { a: "b" }, ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" }
        })]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("what another type has no use for goes with the change", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, service({ type: "LoadBalancer", externalTrafficPolicy: "Local" }))
      assert.isNumber(body.spec.healthCheckNodePort)
      const inside = yield* put(`${url}/a`, { ...body, spec: { ...body.spec, type: "ClusterIP" } })
      assert.strictEqual(inside.status, 200)
      assert.hasAllKeys(inside.body.spec, [
        "clusterIP",
        "clusterIPs",
        "internalTrafficPolicy",
        "ipFamilies",
        "ipFamilyPolicy",
        "ports",
        "sessionAffinity",
        "type"
      ])
      assert.deepStrictEqual(inside.body.spec.ports, [{ port: 80, protocol: "TCP", targetPort: 80 }])
      const { body: named } = yield* put(`${url}/a`, {
        ...inside.body,
        spec: { ...inside.body.spec, type: "ExternalName", externalName: "example.com" }
      })
      assert.notProperty(named.spec, "clusterIP")
      assert.notProperty(named.spec, "ipFamilies")
    }).pipe(Effect.provide(layer)))

  it.effect("a balancer that is to do without ports of nodes gives back those that an update leaves out", () =>
    Effect.gen(function*() {
      const ports = [{ name: "a", port: 80 }, { name: "b", port: 81 }]
      const { body } = yield* post(url, service({ type: "LoadBalancer", ports }))
      const [one, other] = body.spec.ports
      const update = (spec: object) => put(`${url}/a`, service({ ...body.spec, ...spec }))
      const given = ({ body: { spec } }: any) => spec.ports.map((port: any) => port.nodePort)
      const without = { allocateLoadBalancerNodePorts: false }
      assert.deepStrictEqual(given(yield* update(without)), [one.nodePort, other.nodePort])
      const parted = yield* update({ ...without, ports: [{ ...one, nodePort: 0 }, other] })
      assert.deepStrictEqual(given(parted), [undefined, other.nodePort])
      assert.deepStrictEqual(given(yield* update({ ...without, ports })), [undefined, undefined])
      assert.isNumber(given(yield* update({ ports }))[0])
    }).pipe(Effect.provide(layer)))

  it.effect("who knows of one address alone may give up all for a name", () =>
    Effect.gen(function*() {
      yield* post(url, service({ clusterIP: "None" }))
      const named = { type: "ExternalName", externalName: "example.com", clusterIP: "None" }
      const { body, status } = yield* put(`${url}/a`, service(named))
      assert.strictEqual(status, 200)
      assert.notProperty(body.spec, "clusterIP")
      assert.notProperty(body.spec, "clusterIPs")
    }).pipe(Effect.provide(layer)))

  it.effect("a dry run asks for no address, and of a port no more than whether it is taken", () =>
    Effect.gen(function*() {
      const services = "/api/v1/namespaces/default/services"
      const of = (name: string, spec: object, nodePort?: number) => ({
        metadata: { name },
        spec: { ports: [{ port: 80, ...(nodePort === undefined ? {} : { nodePort }) }], ...spec }
      })
      yield* post(services, of("a", { clusterIP: "10.96.0.40", type: "NodePort" }, 30100))
      const same = of("b", { clusterIP: "10.96.0.40" })
      assert.strictEqual((yield* post(services, same)).status, 422)
      assert.strictEqual((yield* post(`${services}?dryRun=All`, same)).status, 201)
      const taken = yield* post(`${services}?dryRun=All`, of("b", { type: "NodePort" }, 30100))
      assert.deepStrictEqual(causes(taken), [
        "spec.ports[0].nodePort: Invalid value: 30100: provided port is already allocated"
      ])
      assert.strictEqual((yield* post(`${services}?dryRun=All`, of("b", { type: "NodePort" }, 100))).status, 201)
    }).pipe(Effect.provide(layer)))

  it.effect("a headless Service without selector is of both families, unless it says otherwise", () =>
    Effect.gen(function*() {
      const families = (spec: object) =>
        Effect.map(
          post("/api/v1/namespaces/default/services?dryRun=All", {
            metadata: { name: "a" },
            spec: { clusterIP: "None", ...spec }
          }),
          ({ body }) => [...body.spec.ipFamilies, body.spec.ipFamilyPolicy]
        )
      assert.deepStrictEqual(yield* families({}), ["IPv4", "IPv6", "RequireDualStack"])
      assert.deepStrictEqual(yield* families({ selector: { a: "b" } }), ["IPv4", "SingleStack"])
      assert.deepStrictEqual(yield* families({ ipFamilyPolicy: "SingleStack" }), ["IPv4", "SingleStack"])
      assert.deepStrictEqual(yield* families({ ipFamilyPolicy: "PreferDualStack" }), [
        "IPv4",
        "IPv6",
        "PreferDualStack"
      ])
      assert.deepStrictEqual(yield* families({ ipFamilies: ["IPv6"] }), ["IPv6", "IPv4", "RequireDualStack"])
    }).pipe(Effect.provide(layer)))
})
