/** Databases, backups, queues and monitoring. */
import * as S from "../Sample.ts"

const quantity = S.string({
  pattern: "(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$"
})

/** After the Prometheus operator: patterns that end in a dash, any of integer and string, an atomic selector. */
const prometheus: S.Sample = {
  project: "prometheus-operator",
  definition: S.define(
    {
      group: "monitoring.example.com",
      kind: "Prometheus",
      plural: "prometheuses",
      shortNames: ["prom"],
      categories: ["prom-op"]
    },
    S.version(
      "v1",
      S.object({
        replicas: S.integer({ format: "int32" }),
        retention: S.string({
          pattern: "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
        }),
        retentionSize: quantity,
        logLevel: S.oneOf("debug", "info", "warn", "error"),
        scrapeInterval: S.string({ default: "30s", pattern: "^(0|(([0-9]+)m)?(([0-9]+)s)?)$" }),
        externalLabels: S.map(S.string()),
        serviceMonitorSelector: S.object({ matchLabels: S.map(S.string()) }, { "x-kubernetes-map-type": "atomic" }),
        remoteWrite: S.list(S.object({
          url: S.string({ minLength: 1 }),
          azureAd: S.object({ tenantId: S.string({ pattern: "^[0-9a-zA-Z-.]+$" }) }),
          queueConfig: S.object({ capacity: S.integer(), maxShards: S.integer({ minimum: 1 }) })
        }, { required: ["url"] })),
        alerting: S.object({
          alertmanagers: S.list(
            S.object({ name: S.string(), port: S.intOrString, apiVersion: S.oneOf("v1", "V1", "v2", "V2") }, {
              required: ["name", "port"]
            })
          )
        }, { required: ["alertmanagers"] })
      }),
      {
        status: S.object({
          replicas: S.integer({ format: "int32" }),
          availableReplicas: S.integer({ format: "int32" }),
          paused: S.boolean(),
          selector: S.string(),
          conditions: S.conditions
        }, { required: ["availableReplicas", "replicas"] }),
        scale: {
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.replicas",
          labelSelectorPath: ".status.selector"
        },
        columns: [
          S.column("Desired", ".spec.replicas", "integer"),
          S.column("Available", ".status.conditions[?(@.type == 'Available')].status"),
          S.column("Paused", ".status.paused", "boolean", { priority: 1 })
        ],
        required: ["spec"]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        replicas: 2,
        retention: "15d",
        remoteWrite: [{ url: "http://x", azureAd: { tenantId: "a-b.c" } }],
        alerting: { alertmanagers: [{ name: "am", port: "web" }, { name: "am", port: 9093 }] }
      }
    }, {
      spec: {
        replicas: 2,
        retention: "15d",
        scrapeInterval: "30s",
        remoteWrite: [{ url: "http://x", azureAd: { tenantId: "a-b.c" } }],
        alerting: { alertmanagers: [{ name: "am", port: "web" }, { name: "am", port: 9093 }] }
      },
      cells: [2, null, null]
    })
  ],
  invalid: [
    S.refused({ spec: { retention: "forever", retentionSize: "10" } }),
    S.refused({ spec: { remoteWrite: [{}, { url: "x", azureAd: { tenantId: "a_b" } }] } }),
    S.refused({ spec: { alerting: { alertmanagers: [{ name: "a", port: 1.5 }, { name: "b", port: [] }] } } }),
    S.refused({ spec: { alerting: {}, logLevel: "trace", replicas: "1" } }),
    S.refused({ spec: { externalLabels: { a: 1, b: true } } }),
    S.refused({ spec: { remoteWrite: [{ url: "x", queueConfig: { maxShards: 0, capacity: "many" } }] } })
  ]
}

/** After Strimzi: values of any type in a map, storage that is one of several, a status with lists. */
const strimzi: S.Sample = {
  project: "strimzi",
  definition: S.define(
    { group: "kafka.example.com", kind: "Kafka", plural: "kafkas", shortNames: ["k"], categories: ["streams"] },
    S.version(
      "v1",
      S.object({
        kafka: S.object({
          version: S.string(),
          replicas: S.integer({ minimum: 1 }),
          config: S.anything,
          listeners: S.list(
            S.object({
              name: S.string({ pattern: "^[a-z0-9]{1,11}$" }),
              port: S.integer({ minimum: 9092 }),
              type: S.oneOf("internal", "route", "loadbalancer", "nodeport"),
              tls: S.boolean()
            }, { required: ["name", "port", "tls", "type"] }),
            { minItems: 1 }
          ),
          storage: S.object({
            type: S.oneOf("ephemeral", "persistent-claim", "jbod"),
            size: S.string(),
            id: S.integer({ minimum: 0 }),
            deleteClaim: S.boolean()
          }, { required: ["type"] })
        }, { required: ["listeners"] }),
        maintenanceTimeWindows: S.list(S.string())
      }, { required: ["kafka"] }),
      {
        status: S.object({
          conditions: S.list(S.object({ type: S.string(), status: S.string() })),
          listeners: S.list(S.object({ addresses: S.list(S.object({ host: S.string(), port: S.integer() })) })),
          observedGeneration: S.integer()
        }),
        columns: [
          S.column("Ready", ".status.conditions[?(@.type==\"Ready\")].status", "string", { description: "is it" }),
          S.column("Desired", ".spec.kafka.replicas", "integer")
        ],
        required: ["spec"]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        kafka: {
          replicas: 3,
          config: { "log.retention.hours": 168, "auto.create": false, ratio: 0.5, list: ["a"] },
          listeners: [{ name: "plain", port: 9092, type: "internal", tls: false }],
          storage: { type: "jbod" }
        }
      }
    }, { cells: [null, 3] })
  ],
  invalid: [
    S.refused({ spec: { kafka: {} } }),
    S.refused({ spec: { kafka: { listeners: [], replicas: 0 } } }),
    S.refused({ spec: { kafka: { listeners: [{ name: "Way-too-long-a-name", port: 80, type: "x", tls: "no" }] } } }),
    S.refused({ spec: { kafka: { listeners: [{}], config: [] } } }),
    S.refused({ spec: { kafka: { listeners: {}, storage: { size: 100 } } } }),
    S.refused({
      spec: { kafka: { listeners: [{ name: "a", port: 9092.5, type: "internal", tls: true }], version: 3.7 } }
    })
  ]
}

/** After Velero: a status without required fields but with formats, null in lists, no columns of its own. */
const velero: S.Sample = {
  project: "velero",
  definition: S.define(
    { group: "backup.example.com", kind: "Backup", plural: "backups" },
    {
      name: "v1",
      served: true,
      storage: true,
      schema: {
        openAPIV3Schema: S.object({
          apiVersion: S.string(),
          kind: S.string(),
          metadata: { type: "object" },
          spec: S.object({
            includedNamespaces: S.list(S.string(), { nullable: true }),
            excludedResources: S.list(S.string({ nullable: true }), { nullable: true }),
            labelSelector: S.object({ matchLabels: S.map(S.string()) }, { nullable: true }),
            ttl: S.string(),
            snapshotVolumes: S.boolean({ nullable: true }),
            orderedResources: S.map(S.string(), { nullable: true }),
            hooks: S.object({
              resources: S.list(
                S.object({
                  name: S.string(),
                  pre: S.list(S.object({
                    exec: S.object({
                      command: S.list(S.string(), { minItems: 1 }),
                      onError: S.oneOf("Continue", "Fail")
                    }, { required: ["command"] })
                  }, { required: ["exec"] }))
                }, { required: ["name"] }),
                { nullable: true }
              )
            })
          }),
          status: S.object({
            phase: S.oneOf("New", "InProgress", "Completed", "Failed"),
            expiration: S.string({ format: "date-time", nullable: true }),
            warnings: S.integer(),
            progress: S.object({ itemsBackedUp: S.integer() }, { nullable: true })
          })
        })
      }
    }
  ),
  valid: [
    S.taken({
      spec: {
        includedNamespaces: null,
        excludedResources: ["a", null],
        snapshotVolumes: null,
        labelSelector: null,
        ttl: "72h0m0s"
      },
      status: { phase: "New", expiration: null }
    }),
    S.taken({ spec: { ttl: null, hooks: null } }, { spec: {} })
  ],
  invalid: [
    S.refused({ spec: { includedNamespaces: [null] } }),
    S.refused({ spec: { labelSelector: { matchLabels: { a: [] } } } }),
    S.refused({ status: { phase: "Done", expiration: "tomorrow" } }),
    S.refused({ spec: { hooks: { resources: [{ pre: [{ exec: { command: [], onError: "Retry" } }] }] } } }),
    S.refused({ spec: { orderedResources: { pods: ["a"] }, ttl: 72 } }),
    S.refused({ status: { progress: { itemsBackedUp: "5" }, warnings: -0.5 } })
  ]
}

/** After CloudNativePG: names by pattern, bounds that depend on each other, sets. */
const cloudNativePg: S.Sample = {
  project: "cloudnative-pg",
  definition: S.define(
    { group: "postgres.example.com", kind: "Cluster", plural: "clusters", categories: ["postgres"] },
    S.version(
      "v1",
      S.object({
        instances: S.integer({ default: 1, minimum: 1 }),
        minSyncReplicas: S.integer({ default: 0, minimum: 0 }),
        imageName: S.string(),
        postgresUID: S.integer({ format: "int64", default: 26 }),
        logLevel: { ...S.oneOf("error", "warning", "info", "debug", "trace"), default: "info" },
        storage: S.object({ size: S.string(), resizeInUseVolumes: S.boolean({ default: true }) }),
        roles: S.keyed(
          ["name"],
          S.object({
            name: S.string(),
            ensure: { ...S.oneOf("present", "absent"), default: "present" },
            connectionLimit: S.integer({ format: "int64", default: -1 }),
            inRoles: S.list(S.string(), { "x-kubernetes-list-type": "set" }),
            validUntil: S.string({ format: "date-time" })
          }, { required: ["name"] })
        ),
        backupUntil: S.string({ format: "date" }),
        serverName: S.string({ format: "hostname" }),
        contact: S.string({ format: "email" })
      }, { required: ["storage"] }),
      {
        status: S.object({ instances: S.integer(), phase: S.string(), conditions: S.conditions }),
        columns: [
          S.column("Instances", ".status.instances", "integer", { description: "Number of instances" }),
          S.column("Status", ".status.phase"),
          S.column("Limit", ".spec.roles[0].connectionLimit", "number", { priority: 1 })
        ],
        required: ["metadata", "spec"]
      }
    )
  ),
  valid: [
    S.taken({ spec: { storage: { size: "1Gi" }, roles: [{ name: "app", inRoles: ["a", "b"] }] } }, {
      spec: {
        instances: 1,
        minSyncReplicas: 0,
        postgresUID: 26,
        logLevel: "info",
        storage: { size: "1Gi", resizeInUseVolumes: true },
        roles: [{ name: "app", ensure: "present", connectionLimit: -1, inRoles: ["a", "b"] }]
      },
      cells: [null, null, -1]
    })
  ],
  invalid: [
    S.refused({ spec: { instances: 0 } }),
    S.refused({ spec: { storage: {}, roles: [{ name: "a", inRoles: ["x", "y", "x"] }] } }),
    S.refused({ spec: { storage: {}, roles: [{ name: "a" }, { name: "a" }, {}] } }),
    S.refused({ spec: { storage: {}, backupUntil: "01.02.2026", serverName: "not a host!", contact: "nobody" } }),
    S.refused({ spec: { storage: {}, roles: [{ name: "a", validUntil: "2026-13-01T00:00:00Z", ensure: "maybe" }] } }),
    S.refused({ spec: { storage: { resizeInUseVolumes: 1 }, postgresUID: 2.5, minSyncReplicas: -1 } })
  ]
}

export const data = [prometheus, strimzi, velero, cloudNativePg]
