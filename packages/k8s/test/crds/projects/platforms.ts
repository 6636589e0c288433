/** Clusters, functions and abstractions of infrastructure. */
import * as S from "../Sample.ts"

/** After Knative: the spec is preserved but for what is named, and Pods are of an unnamed shape. */
const knative: S.Sample = {
  project: "knative",
  definition: S.define(
    {
      group: "serving.example.com",
      kind: "Revision",
      plural: "revisions",
      shortNames: ["rev"],
      categories: ["all", "serving"]
    },
    S.version(
      "v1",
      S.object({
        containerConcurrency: S.integer({ format: "int64", minimum: 0, maximum: 1000 }),
        timeoutSeconds: S.integer({ format: "int64" }),
        containers: S.list(S.object({
          name: S.string(),
          image: S.string(),
          ports: S.keyed(
            ["containerPort", "protocol"],
            S.object({ containerPort: S.integer({ format: "int32" }), protocol: S.string({ default: "TCP" }) }, {
              required: ["containerPort"]
            })
          ),
          env: S.list(S.object({ name: S.string(), value: S.string() }, { required: ["name"] })),
          resources: S.object({
            limits: S.map({
              ...S.intOrString,
              pattern:
                "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$"
            })
          })
        }, { "x-kubernetes-preserve-unknown-fields": true }))
      }, { required: ["containers"], "x-kubernetes-preserve-unknown-fields": true }),
      {
        status: S.object({ conditions: S.list(S.anything), actualReplicas: S.integer() }, {
          "x-kubernetes-preserve-unknown-fields": true
        }),
        columns: [
          S.column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
          S.column("Actual Replicas", ".status.actualReplicas", "integer")
        ]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        containers: [{
          image: "i",
          ports: [{ containerPort: 80, name: "dropped?" }],
          tty: true,
          resources: { limits: { cpu: 1, memory: "1Gi" } }
        }],
        nodeName: "kept"
      }
    }, {
      spec: {
        containers: [{
          image: "i",
          ports: [{ containerPort: 80, protocol: "TCP" }],
          tty: true,
          resources: { limits: { cpu: 1, memory: "1Gi" } }
        }],
        nodeName: "kept"
      },
      cells: [null, null]
    })
  ],
  invalid: [
    S.refused({ spec: {} }),
    S.refused({ spec: { containers: [], containerConcurrency: 1001 } }),
    S.refused({ spec: { containers: [{ ports: [{ containerPort: 80 }, { containerPort: 80, protocol: "TCP" }] }] } }),
    S.refused({ spec: { containers: [{ resources: { limits: { cpu: "lots", memory: 1.5 } } }] } }),
    S.refused({ spec: { containers: [{ env: [{ value: "x" }] }], timeoutSeconds: "60" } }),
    S.refused({ spec: { containers: "none" } })
  ]
}

/** After Crossplane: an immutable reference, schemas inside a schema, defaults that nest. */
const crossplane: S.Sample = {
  project: "crossplane",
  definition: S.define(
    {
      group: "compose.example.com",
      kind: "Composition",
      plural: "compositions",
      scope: "Cluster",
      shortNames: ["comp"]
    },
    S.version(
      "v1",
      S.object({
        compositeTypeRef: S.object({ apiVersion: S.string(), kind: S.string() }, {
          required: ["apiVersion", "kind"],
          "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "Value is immutable" }]
        }),
        mode: { ...S.oneOf("Pipeline"), default: "Pipeline" },
        pipeline: S.keyed(
          ["step"],
          S.object({
            step: S.string(),
            functionRef: S.object({ name: S.string() }, { required: ["name"] }),
            input: {
              type: "object",
              "x-kubernetes-embedded-resource": true,
              "x-kubernetes-preserve-unknown-fields": true
            },
            credentials: S.keyed(
              ["name"],
              S.object({ name: S.string(), source: S.oneOf("None", "Secret") }, { required: ["name", "source"] })
            )
          }, { required: ["functionRef", "step"] }),
          { minItems: 1, maxItems: 99 }
        ),
        publish: S.object({
          namespace: S.string({ default: "default" }),
          policy: S.object({ name: S.string({ default: "p" }), retain: S.boolean({ default: false }) }, { default: {} })
        }, { default: {} })
      }, { required: ["compositeTypeRef"] }),
      {
        columns: [
          S.column("XR-KIND", ".spec.compositeTypeRef.kind"),
          S.column("XR-APIVERSION", ".spec.compositeTypeRef.apiVersion")
        ]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        compositeTypeRef: { apiVersion: "a/v1", kind: "XR" },
        pipeline: [{
          step: "one",
          functionRef: { name: "f" },
          input: { apiVersion: "fn/v1", kind: "Input", metadata: { name: "x", unknown: 1 }, any: { thing: [] } }
        }]
      }
    }, {
      spec: {
        compositeTypeRef: { apiVersion: "a/v1", kind: "XR" },
        mode: "Pipeline",
        pipeline: [{
          step: "one",
          functionRef: { name: "f" },
          input: { apiVersion: "fn/v1", kind: "Input", metadata: { name: "x" }, any: { thing: [] } }
        }],
        publish: { namespace: "default", policy: { name: "p", retain: false } }
      },
      cells: ["XR", "a/v1"]
    })
  ],
  invalid: [
    S.refused({ spec: { mode: "Resources" } }),
    S.refused({ spec: { compositeTypeRef: { apiVersion: "a/v1", kind: "X" }, pipeline: [] } }),
    S.refused({
      spec: {
        compositeTypeRef: { apiVersion: "a/v1", kind: "X" },
        pipeline: [{ step: "a", functionRef: { name: "f" } }, { step: "a", functionRef: {} }]
      }
    }),
    S.refused({
      spec: {
        compositeTypeRef: { apiVersion: "a/v1", kind: "X" },
        pipeline: [{ step: "a", functionRef: { name: "f" }, input: { any: 1 } }]
      }
    }),
    S.refused({
      spec: {
        compositeTypeRef: { apiVersion: "a/v1", kind: "X" },
        pipeline: [{
          step: "a",
          functionRef: { name: "f" },
          input: { apiVersion: "a/b/c", kind: "lower case", metadata: { name: "x", labels: { "a b": "c" } } }
        }]
      }
    }),
    S.refused({ spec: { compositeTypeRef: { kind: 5 }, publish: { policy: { retain: "no" } } } })
  ]
}

const contractRef = S.object({
  kind: S.string({ minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$" }),
  name: S.string({ minLength: 1, maxLength: 253 }),
  apiGroup: S.string({ minLength: 1 })
}, { required: ["apiGroup", "kind", "name"] })

/** After Cluster API: two versions of other shapes stored as one, objects that may not be empty, scale. */
const clusterApi: S.Sample = {
  project: "cluster-api",
  definition: S.define(
    {
      group: "clusters.example.com",
      kind: "MachineSet",
      plural: "machinesets",
      shortNames: ["ms"],
      categories: ["capi"]
    },
    S.version(
      "v1beta2",
      S.object({
        clusterName: S.string({ minLength: 1, maxLength: 63 }),
        replicas: S.integer({ format: "int32" }),
        deletion: S.object({ order: S.oneOf("Random", "Newest", "Oldest") }, { minProperties: 1 }),
        taints: S.keyed(
          ["key", "effect"],
          S.object({
            key: S.string({
              pattern: "^(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
            }),
            effect: S.oneOf("NoSchedule", "PreferNoSchedule", "NoExecute"),
            propagation: S.oneOf("Always", "OnInitialization")
          }, { required: ["effect", "key", "propagation"] })
        ),
        template: S.object({ infrastructureRef: contractRef }, { required: ["infrastructureRef"] })
      }, { required: ["clusterName"] }),
      {
        status: S.object({ replicas: S.integer({ format: "int32" }), selector: S.string(), conditions: S.conditions }, {
          minProperties: 1
        }),
        scale: {
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.replicas",
          labelSelectorPath: ".status.selector"
        },
        columns: [
          S.column("Cluster", ".spec.clusterName"),
          S.column("Replicas", ".status.replicas", "integer"),
          S.column("Paused", ".metadata.annotations['clusters\\.example\\.com/paused']", "string", { priority: 10 })
        ],
        required: ["spec"]
      }
    ),
    S.version("v1beta1", S.object({ clusterName: S.string(), replicas: S.integer(), deletePolicy: S.string() }), {
      storage: false,
      status: S.anything,
      more: { deprecated: true }
    })
  ),
  valid: [
    S.taken({
      metadata: { annotations: { "clusters.example.com/paused": "yes" } },
      spec: {
        clusterName: "c",
        replicas: 2,
        taints: [{ key: "a/b", effect: "NoExecute", propagation: "Always" }],
        template: { infrastructureRef: { kind: "M", name: "m", apiGroup: "g" } }
      }
    }, { cells: ["c", null, "yes"] })
  ],
  invalid: [
    S.refused({}),
    S.refused({ spec: { clusterName: "", deletion: {} } }),
    S.refused({ spec: { clusterName: "c", deletion: { order: "Never" }, replicas: "2" } }),
    S.refused({ spec: { clusterName: "c", template: { infrastructureRef: { kind: "1", name: "" } } } }),
    S.refused({ spec: { clusterName: "c", replicas: -1 } }),
    S.refused({
      spec: {
        clusterName: "c",
        taints: [{ key: "a", effect: "NoExecute", propagation: "Always" }, { key: "a", effect: "NoExecute" }]
      }
    })
  ]
}

/** After KEDA: a map of strings for every trigger, references with defaults, fallbacks. */
const keda: S.Sample = {
  project: "keda",
  definition: S.define(
    { group: "scaling.example.com", kind: "ScaledObject", plural: "scaledobjects", shortNames: ["so"] },
    S.version(
      "v1alpha1",
      S.object({
        scaleTargetRef: S.object({ name: S.string(), kind: S.string(), apiVersion: S.string() }, {
          required: ["name"]
        }),
        pollingInterval: S.integer({ format: "int32" }),
        minReplicaCount: S.integer({ format: "int32" }),
        fallback: S.object({
          failureThreshold: S.integer({ format: "int32" }),
          replicas: S.integer({ format: "int32" }),
          behavior: { ...S.oneOf("static", "currentReplicas"), default: "static" }
        }, { required: ["failureThreshold", "replicas"] }),
        triggers: S.list(S.object({
          type: S.string(),
          metadata: S.map(S.string()),
          useCachedMetrics: S.boolean(),
          authenticationRef: S.object({ name: S.string() }, { required: ["name"] })
        }, { required: ["metadata", "type"] }))
      }, { required: ["scaleTargetRef", "triggers"] }),
      {
        columns: [
          S.column("ScaleTargetName", ".spec.scaleTargetRef.name"),
          S.column("Min", ".spec.minReplicaCount", "integer"),
          S.column("Triggers", ".spec.triggers[*].type")
        ],
        required: ["spec"]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        scaleTargetRef: { name: "web" },
        triggers: [{ type: "cron", metadata: { start: "0 6 * * *" } }, { type: "cpu", metadata: {} }],
        fallback: { failureThreshold: 3, replicas: 1 }
      }
    }, {
      spec: {
        scaleTargetRef: { name: "web" },
        triggers: [{ type: "cron", metadata: { start: "0 6 * * *" } }, { type: "cpu", metadata: {} }],
        fallback: { failureThreshold: 3, replicas: 1, behavior: "static" }
      },
      cells: ["web", null, "cron"]
    })
  ],
  invalid: [
    S.refused({ spec: { triggers: [] } }),
    S.refused({ spec: { scaleTargetRef: { name: "a" }, triggers: [{ type: "cpu" }] } }),
    S.refused({ spec: { scaleTargetRef: { name: "a" }, triggers: [{ type: "cpu", metadata: { value: 50 } }] } }),
    S.refused({ spec: { scaleTargetRef: {}, triggers: [{ type: 1, metadata: [], authenticationRef: {} }] } }),
    S.refused({ spec: { scaleTargetRef: { name: "a" }, triggers: [], fallback: { behavior: "zero" } } }),
    S.refused({ spec: { scaleTargetRef: { name: "a" }, triggers: [], pollingInterval: "30s", minReplicaCount: 1.5 } })
  ]
}

export const platforms = [knative, crossplane, clusterApi, keda]
