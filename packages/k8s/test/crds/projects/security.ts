/** Certificates, secrets and policies. */
import * as S from "../Sample.ts"

const secretKey = S.object({ name: S.string({ minLength: 1 }), key: S.string() }, { required: ["name"] })

/** After cert-manager: either of several issuers, solvers with embedded Pod templates, renewal times. */
const certManager: S.Sample = {
  project: "cert-manager",
  definition: S.define(
    {
      group: "certs.example.com",
      kind: "Certificate",
      plural: "certificates",
      shortNames: ["crt", "crts"],
      categories: ["certs"]
    },
    S.version(
      "v1",
      S.object({
        secretName: S.string({ minLength: 1 }),
        dnsNames: S.list(S.string(), { "x-kubernetes-list-type": "atomic" }),
        duration: S.string(),
        isCA: S.boolean(),
        usages: S.list(S.oneOf("signing", "digital signature", "server auth", "client auth")),
        issuerRef: S.object({ name: S.string(), kind: S.string(), group: S.string() }, { required: ["name"] }),
        privateKey: S.object({
          algorithm: S.oneOf("RSA", "ECDSA", "Ed25519"),
          size: S.integer({ minimum: 256, maximum: 8192 }),
          rotationPolicy: { ...S.oneOf("Never", "Always"), default: "Always" }
        }),
        additionalOutputFormats: S.keyed(
          ["type"],
          S.object({ type: S.oneOf("DER", "CombinedPEM") }, { required: ["type"] })
        )
      }, { required: ["issuerRef", "secretName"] }),
      {
        status: S.object({
          conditions: S.conditions,
          notAfter: S.string({ format: "date-time" }),
          revision: S.integer()
        }),
        columns: [
          S.column("Ready", ".status.conditions[?(@.type == \"Ready\")].status"),
          S.column("Secret", ".spec.secretName"),
          S.column("Issuer", ".spec.issuerRef.name", "string", { priority: 1 }),
          S.column("Age", ".metadata.creationTimestamp", "date")
        ],
        required: ["spec"]
      }
    )
  ),
  valid: [
    S.taken({ spec: { secretName: "tls", issuerRef: { name: "ca" }, dnsNames: ["a.example.com"], privateKey: {} } }, {
      spec: {
        secretName: "tls",
        issuerRef: { name: "ca" },
        dnsNames: ["a.example.com"],
        privateKey: { rotationPolicy: "Always" }
      },
      cells: [null, "tls", "ca"]
    }),
    S.taken({ spec: { secretName: "tls", issuerRef: { name: "ca", extra: 1 }, unknown: {} } }, {
      spec: { secretName: "tls", issuerRef: { name: "ca" } }
    })
  ],
  invalid: [
    S.refused({}),
    S.refused({ spec: { secretName: "", issuerRef: {} } }),
    S.refused({ spec: { secretName: "a", issuerRef: { name: "b" }, usages: ["signing", "nothing"] } }),
    S.refused({ spec: { secretName: "a", issuerRef: { name: "b" }, privateKey: { algorithm: "DSA", size: 5 } } }),
    S.refused({
      spec: { secretName: "a", issuerRef: { name: "b" }, additionalOutputFormats: [{ type: "DER" }, { type: "DER" }] }
    }),
    S.refused({ spec: { secretName: ["a"], issuerRef: "b", isCA: "yes" } })
  ]
}

const provider = S.object({
  aws: S.object({
    service: S.oneOf("SecretsManager", "ParameterStore"),
    region: S.string(),
    auth: S.object({ secretRef: secretKey })
  }, { required: ["region", "service"] }),
  vault: S.object({
    server: S.string({ pattern: "^https?://" }),
    version: { ...S.oneOf("v1", "v2"), default: "v2" },
    caBundle: S.string({ format: "byte" })
  }, { required: ["server"] }),
  fake: S.object({
    data: S.list(S.object({ key: S.string(), value: S.string(), valueMap: S.map(S.string()) }, { required: ["key"] }))
  })
}, { minProperties: 1, maxProperties: 1 })

/** After external-secrets: exactly one provider, retries, two versions of one kind. */
const externalSecrets: S.Sample = {
  project: "external-secrets",
  definition: S.define(
    { group: "secrets.example.com", kind: "SecretStore", plural: "secretstores", shortNames: ["ss"] },
    S.version(
      "v1",
      S.object({
        provider,
        refreshInterval: S.integer({ minimum: 0 }),
        retrySettings: S.object({ maxRetries: S.integer({ format: "int32" }), retryInterval: S.string() }),
        conditions: S.list(S.object({
          namespaces: S.list(S.string({ maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" })),
          namespaceRegexes: S.list(S.string())
        }))
      }, { required: ["provider"] }),
      {
        status: S.object({ conditions: S.list(S.anything), capabilities: S.string() }),
        columns: [
          S.column("Status", ".status.conditions[?(@.type==\"Ready\")].reason"),
          S.column("Capabilities", ".status.capabilities")
        ]
      }
    ),
    S.version("v1beta1", S.anything, {
      storage: false,
      status: S.anything,
      more: { deprecated: true, deprecationWarning: "secrets.example.com/v1beta1 SecretStore is going; use v1" }
    })
  ),
  valid: [
    S.taken({ spec: { provider: { vault: { server: "https://v", caBundle: "YWJj" } } } }, {
      spec: { provider: { vault: { server: "https://v", caBundle: "YWJj", version: "v2" } } },
      cells: [null, null]
    }),
    S.taken({
      spec: { provider: { fake: { data: [{ key: "a", valueMap: { x: "y" } }] } }, retrySettings: { maxRetries: 3 } }
    })
  ],
  invalid: [
    S.refused({ spec: { provider: {} } }),
    S.refused({ spec: { provider: { fake: {}, aws: { region: 1 } } } }),
    S.refused({ spec: { provider: { vault: { server: "ftp://x", caBundle: "not base64!" } } } }),
    S.refused({ spec: { provider: { aws: { service: "EC2" } }, refreshInterval: -1 } }),
    S.refused({ spec: { provider: { fake: { data: [{ value: "x" }, { key: "a", valueMap: { b: 1 } }] } } } }),
    S.refused({ spec: { provider: { fake: {} }, conditions: [{ namespaces: ["UPPER", "x".repeat(64)] }] } })
  ]
}

const resource = S.object({
  kinds: S.list(S.string(), { minItems: 1 }),
  selector: S.object({
    matchLabels: S.map(S.string()),
    matchExpressions: S.list(
      S.object({ key: S.string(), operator: S.string(), values: S.list(S.string()) }, { required: ["key", "operator"] })
    )
  }, { "x-kubernetes-map-type": "atomic" })
})

/** After kyverno: rules that are one of several shapes, with patterns of any form, for the cluster. */
const kyverno: S.Sample = {
  project: "kyverno",
  definition: S.define(
    {
      group: "policy.example.com",
      kind: "ClusterRule",
      plural: "clusterrules",
      scope: "Cluster",
      shortNames: ["crule"]
    },
    S.version(
      "v1",
      S.object({
        background: S.boolean({ default: true }),
        failureAction: { ...S.oneOf("audit", "enforce", "Audit", "Enforce"), default: "Audit" },
        rules: S.list(
          S.object({
            name: S.string({ maxLength: 63 }),
            match: S.object({ any: S.list(resource), all: S.list(resource) }, {
              not: { required: ["any", "all"] }
            }),
            validate: S.object({
              message: S.string(),
              pattern: { "x-kubernetes-preserve-unknown-fields": true },
              deny: S.anything
            }),
            generate: S.object({ apiVersion: S.string(), kind: S.string(), synchronize: S.boolean() }),
            skipBackground: S.boolean({ default: false })
          }, { required: ["match", "name"] }),
          { minItems: 1 }
        ),
        webhookTimeoutSeconds: S.integer({ minimum: 1, maximum: 30, format: "int32" })
      }),
      {
        columns: [
          S.column("Background", ".spec.background", "boolean"),
          S.column("Rules", ".spec.rules[*].name", "string"),
          S.column("Timeout", ".spec.webhookTimeoutSeconds", "integer", { format: "int32", priority: 1 })
        ]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        rules: [{
          name: "labels",
          match: { any: [{ kinds: ["Pod"] }] },
          validate: { pattern: { metadata: { labels: { "app?": "*" } }, list: [1, "a", null] } }
        }]
      }
    }, {
      spec: {
        background: true,
        failureAction: "Audit",
        rules: [{
          name: "labels",
          match: { any: [{ kinds: ["Pod"] }] },
          validate: { pattern: { metadata: { labels: { "app?": "*" } }, list: [1, "a", null] } },
          skipBackground: false
        }]
      },
      cells: [true, "labels", null]
    })
  ],
  invalid: [
    S.refused({ spec: { rules: [] } }),
    S.refused({ spec: { rules: [{ name: "a", match: { any: [], all: [] } }] } }),
    S.refused({ spec: { rules: [{ match: { any: [{ kinds: [] }] } }] } }),
    S.refused({ spec: { rules: [{ name: "x".repeat(64), match: {} }], failureAction: "warn" } }),
    S.refused({ spec: { webhookTimeoutSeconds: 31, background: "no" } }),
    S.refused({
      spec: { rules: [{ name: "a", match: { any: [{ selector: { matchExpressions: [{ values: "x" }] } }] } }] }
    })
  ]
}

export const security = [certManager, externalSecrets, kyverno]
