/** Gateways, meshes and networks. */
import * as S from "../Sample.ts"

const hostname = S.string({
  minLength: 1,
  maxLength: 253,
  pattern: "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
})

const backend = S.object({
  group: S.string({ default: "core", maxLength: 253 }),
  name: S.string({ minLength: 1 }),
  port: S.integer({ format: "int32", minimum: 1, maximum: 65535 }),
  weight: S.integer({ format: "int32", minimum: 0, maximum: 1_000_000, default: 1 })
}, { required: ["name"] })

/** After the Gateway API: an approved group, limits of every sort, keyed lists with defaults, rules. */
const gatewayApi: S.Sample = {
  project: "gateway-api",
  definition: S.define(
    {
      group: "gateway.test.k8s.io",
      kind: "HTTPRoute",
      plural: "httproutes",
      categories: ["gateway-api"],
      annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/1" }
    },
    S.version(
      "v1",
      S.object({
        hostnames: S.list(hostname, { maxItems: 16 }),
        parentRefs: S.keyed(
          ["name", "sectionName"],
          S.object({ name: S.string({ minLength: 1 }), sectionName: S.string({ default: "all" }) }, {
            required: ["name"]
          }),
          { maxItems: 32 }
        ),
        rules: S.list(
          S.object({
            matches: S.list(
              S.object({
                path: S.object({
                  type: { ...S.oneOf("Exact", "PathPrefix", "RegularExpression"), default: "PathPrefix" },
                  value: S.string({ default: "/", maxLength: 1024 })
                }, { default: { type: "PathPrefix", value: "/" } }),
                method: S.oneOf("GET", "POST")
              }),
              { maxItems: 8, default: [{ path: { type: "PathPrefix", value: "/" } }] }
            ),
            backendRefs: S.list(backend, { maxItems: 16 }),
            timeouts: S.object({ request: S.string({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" }) })
          }, {
            "x-kubernetes-validations": [{
              rule: "!has(self.backendRefs) || self.backendRefs.size() > 0",
              message: "backendRefs must not be empty when given"
            }]
          }),
          { minItems: 1, maxItems: 16, default: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }] }
        )
      }),
      {
        status: S.object({ parents: S.list(S.object({ conditions: S.conditions }), { maxItems: 32 }) }, {
          required: ["parents"]
        }),
        columns: [S.column("Hostnames", ".spec.hostnames"), S.column("Age", ".metadata.creationTimestamp", "date")],
        required: ["spec"]
      }
    )
  ),
  valid: [
    S.taken({ spec: {} }, {
      spec: { rules: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }] },
      cells: [null]
    }),
    S.taken({
      spec: {
        hostnames: ["*.example.com", "a.b"],
        parentRefs: [{ name: "g" }, { name: "g", sectionName: "x" }],
        rules: [{ matches: [{}], backendRefs: [{ name: "web", port: 80 }] }]
      }
    }, {
      spec: {
        hostnames: ["*.example.com", "a.b"],
        parentRefs: [{ name: "g", sectionName: "all" }, { name: "g", sectionName: "x" }],
        rules: [{
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
          backendRefs: [{ group: "core", name: "web", port: 80, weight: 1 }]
        }]
      },
      cells: ["[\"*.example.com\",\"a.b\"]"]
    })
  ],
  invalid: [
    S.refused({ spec: { hostnames: ["UPPER", "a..b"] } }),
    S.refused({ spec: { parentRefs: [{ name: "g" }, { name: "g", sectionName: "all" }] } }),
    S.refused({ spec: { rules: [] } }),
    S.refused({ spec: { rules: [{ backendRefs: [{ name: "", port: 0, weight: 1_000_001 }] }] } }),
    S.refused({
      spec: { rules: [{ matches: [{ path: { type: "Regex" }, method: "get" }], timeouts: { request: "1y" } }] }
    }),
    S.refused({ spec: { hostnames: Array.from({ length: 17 }, (_, at) => `h${at}`) } }),
    S.refusedSince(25, { spec: { rules: [{ backendRefs: [] }] } })
  ]
}

/** After Istio: no required field, oneOf among branches that share fields, three versions stored as one. */
const istio: S.Sample = {
  project: "istio",
  definition: (() => {
    const match = { oneOf: [{ required: ["exact"] }, { required: ["prefix"] }, { required: ["regex"] }] }
    const text = S.object({ exact: S.string(), prefix: S.string(), regex: S.string() }, match)
    const spec = S.object({
      hosts: S.list(S.string()),
      gateways: S.list(S.string()),
      exportTo: S.list(S.string()),
      http: S.list(S.object({
        name: S.string(),
        match: S.list(
          S.object({ uri: text, headers: S.map(text), port: S.integer({ minimum: 0, maximum: 4294967295 }) })
        ),
        route: S.list(S.object({
          destination: S.object({ host: S.string(), port: S.object({ number: S.integer() }) }, { required: ["host"] }),
          weight: S.integer({ format: "int32" })
        }, { required: ["destination"] })),
        timeout: S.string(),
        fault: S.object({
          delay: S.object({ fixedDelay: S.string(), percent: S.integer() }, {
            oneOf: [{ not: { anyOf: [{ required: ["fixedDelay"] }] } }, { required: ["fixedDelay"] }]
          })
        })
      }))
    })
    const versions = ["v1", "v1beta1", "v1alpha3"].map((name) =>
      S.version(name, spec, {
        storage: name === "v1",
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        columns: [
          S.column("Gateways", ".spec.gateways"),
          S.column("Hosts", ".spec.hosts"),
          S.column("Age", ".metadata.creationTimestamp", "date")
        ]
      })
    )
    return S.define(
      {
        group: "mesh.example.com",
        kind: "VirtualService",
        plural: "virtualservices",
        shortNames: ["vs"],
        categories: ["mesh-all"]
      },
      ...versions
    )
  })(),
  valid: [
    S.taken({
      spec: {
        hosts: ["a", "b"],
        http: [{
          match: [{ uri: { prefix: "/" }, headers: { x: { exact: "y" } } }],
          route: [{ destination: { host: "h", port: { number: 80 } } }],
          fault: { delay: { percent: 5 } }
        }]
      }
    }, { cells: [null, "[\"a\",\"b\"]"] })
  ],
  invalid: [
    S.refused({ spec: { http: [{ match: [{ uri: { prefix: "/", exact: "/" } }] }] } }),
    S.refused({ spec: { http: [{ match: [{ uri: {} }] }] } }),
    S.refused({ spec: { http: [{ match: [{ headers: { x: { exact: 1 } }, port: -1 }] }] } }),
    S.refused({ spec: { http: [{ route: [{ weight: 5 }] }] } }),
    S.refused({ spec: { hosts: "a", http: [{ route: [{ destination: { port: { number: "80" } } }] }] } }),
    S.refused({ spec: { http: { a: 1 } } })
  ]
}

const port = S.object({
  port: S.string({
    maxLength: 5,
    pattern: "^(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4})$"
  }),
  protocol: S.oneOf("TCP", "UDP", "ANY")
})

/** After Cilium: anyOf of required fields, beside a list of the same; addresses by format and pattern. */
const cilium: S.Sample = {
  project: "cilium",
  definition: (() => {
    const endpoints = S.object({ matchLabels: S.map(S.string({ maxLength: 63 })) })
    const rule = S.object({
      endpointSelector: endpoints,
      nodeSelector: endpoints,
      description: S.string(),
      egress: S.list(S.object({
        toCIDR: S.list(S.string({ format: "cidr" })),
        toPorts: S.list(S.object({ ports: S.list(port, { maxItems: 40 }) })),
        toFQDNs: S.list(S.object({
          matchName: S.string({ maxLength: 255, pattern: "^([-a-zA-Z0-9_]+[.]?)+$" }),
          matchPattern: S.string()
        }))
      })),
      priority: S.integer({ minimum: 0, exclusiveMinimum: true, multipleOf: 5 })
    }, { anyOf: [{ required: ["endpointSelector"] }, { required: ["nodeSelector"] }] })
    return S.define(
      { group: "net.example.com", kind: "NetPolicy", plural: "netpolicies", shortNames: ["np", "netp"] },
      {
        name: "v2",
        served: true,
        storage: true,
        additionalPrinterColumns: [S.column("Age", ".metadata.creationTimestamp", "date")],
        schema: {
          openAPIV3Schema: S.object({
            metadata: { type: "object" },
            spec: rule,
            specs: S.list(rule),
            status: S.object({ conditions: S.conditions })
          }, { anyOf: [{ required: ["spec"] }, { required: ["specs"] }] })
        }
      }
    )
  })(),
  valid: [
    S.taken({
      spec: {
        endpointSelector: { matchLabels: { a: "b" } },
        priority: 10,
        egress: [{ toCIDR: ["10.0.0.0/8", "fd00::/8"], toPorts: [{ ports: [{ port: "65535", protocol: "TCP" }] }] }]
      }
    }, { cells: [] }),
    S.taken({ specs: [{ nodeSelector: {} }] })
  ],
  invalid: [
    S.refused({}),
    S.refused({ spec: { description: "x" } }),
    S.refused({ spec: { endpointSelector: {}, egress: [{ toCIDR: ["10.0.0.0", "x"] }] } }),
    S.refused({
      spec: { endpointSelector: {}, egress: [{ toPorts: [{ ports: [{ port: "65536" }, { port: 80 }] }] }] }
    }),
    S.refused({ specs: [{ nodeSelector: {}, priority: 0 }, { nodeSelector: {}, priority: 7 }] }),
    S.refused({
      spec: { nodeSelector: { matchLabels: { a: "x".repeat(64) } }, egress: [{ toFQDNs: [{ matchName: "a b" }] }] }
    })
  ]
}

export const networking = [gatewayApi, istio, cilium]
