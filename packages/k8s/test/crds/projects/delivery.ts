/** Continuous delivery and pipelines. */
import * as S from "../Sample.ts"

const source = S.object({
  repoURL: S.string(),
  path: S.string(),
  targetRevision: S.string(),
  helm: S.object({
    valueFiles: S.list(S.string()),
    valuesObject: S.anything,
    parameters: S.list(S.object({ name: S.string(), value: S.string(), forceString: S.boolean() }))
  }),
  directory: S.object({ recurse: S.boolean(), jsonnet: S.object({ libs: S.list(S.string()) }) })
}, { required: ["repoURL"] })

/** After Argo CD: no status subresource, an operation beside the spec, sources of many kinds. */
const argoCd: S.Sample = {
  project: "argo-cd",
  definition: S.define(
    { group: "delivery.example.com", kind: "Application", plural: "applications", shortNames: ["app", "apps"] },
    {
      name: "v1alpha1",
      served: true,
      storage: true,
      additionalPrinterColumns: [
        S.column("Sync Status", ".status.sync.status"),
        S.column("Health Status", ".status.health.status"),
        S.column("Revision", ".status.sync.revision", "string", { priority: 10 })
      ],
      schema: {
        openAPIV3Schema: S.object({
          apiVersion: S.string(),
          kind: S.string(),
          metadata: { type: "object" },
          spec: S.object({
            project: S.string(),
            source,
            sources: S.list(source),
            destination: S.object({ server: S.string(), namespace: S.string(), name: S.string() }),
            syncPolicy: S.object({
              automated: S.object({ prune: S.boolean(), selfHeal: S.boolean() }),
              retry: S.object({
                limit: S.integer({ format: "int64" }),
                backoff: S.object({ duration: S.string(), factor: S.integer({ format: "int64" }) })
              }),
              syncOptions: S.list(S.string())
            }),
            ignoreDifferences: S.list(
              S.object({ kind: S.string(), group: S.string(), jsonPointers: S.list(S.string()) }, {
                required: ["kind"]
              })
            )
          }, { required: ["destination", "project"] }),
          operation: S.object({ sync: S.object({ revision: S.string(), prune: S.boolean() }) }),
          status: S.object({
            sync: S.object({ status: S.string(), revision: S.string() }, { required: ["status"] }),
            health: S.object({ status: S.string() })
          })
        }, { required: ["metadata", "spec"] })
      }
    }
  ),
  valid: [
    S.taken({
      spec: {
        project: "default",
        destination: { namespace: "x" },
        source: { repoURL: "https://git", helm: { valuesObject: { a: { b: [1, 2.5, "x", null] } } } }
      },
      status: { sync: { status: "Synced", revision: "abc" } }
    }, { cells: ["Synced", null, "abc"] })
  ],
  invalid: [
    S.refused({ spec: { project: "a" } }),
    S.refused({ spec: { project: "a", destination: {}, source: {} } }),
    S.refused({ spec: { project: 1, destination: {}, sources: [{ repoURL: "x", helm: { valueFiles: "x" } }] } }),
    S.refused({
      spec: { project: "a", destination: {}, syncPolicy: { retry: { limit: "5", backoff: { factor: 1.5 } } } }
    }),
    S.refused({ spec: { project: "a", destination: {} }, status: { sync: {} } }),
    S.refused({ spec: { project: "a", destination: {}, ignoreDifferences: [{ group: "apps" }] } })
  ]
}

const canaryStep = S.object({
  setWeight: S.integer({ format: "int32" }),
  pause: S.object({ duration: S.intOrString }),
  experiment: S.anything
})

/** After Argo Rollouts: one of two strategies, numbers or percentages, a scale subresource with a selector. */
const argoRollouts: S.Sample = {
  project: "argo-rollouts",
  definition: S.define(
    { group: "rollouts.example.com", kind: "Rollout", plural: "rollouts", shortNames: ["ro"] },
    S.version(
      "v1alpha1",
      S.object({
        replicas: S.integer({ format: "int32", nullable: true }),
        selector: S.object({ matchLabels: S.map(S.string()) }),
        strategy: S.object({
          canary: S.object({ maxSurge: S.intOrString, maxUnavailable: S.intOrString, steps: S.list(canaryStep) }),
          blueGreen: S.object({ activeService: S.string(), previewService: S.string() }, {
            required: ["activeService"]
          })
        }, { oneOf: [{ required: ["canary"] }, { required: ["blueGreen"] }] }),
        template: S.object({
          metadata: S.object({ labels: S.map(S.string()), annotations: S.map(S.string()) }),
          spec: S.anything
        })
      }),
      {
        status: S.object({
          replicas: S.integer({ format: "int32" }),
          selector: S.string(),
          HPAReplicas: S.integer({ format: "int32" }),
          phase: S.string()
        }),
        scale: {
          specReplicasPath: ".spec.replicas",
          statusReplicasPath: ".status.HPAReplicas",
          labelSelectorPath: ".status.selector"
        },
        columns: [
          S.column("Desired", ".spec.replicas", "integer", { description: "wanted" }),
          S.column("Current", ".status.replicas", "integer")
        ]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        replicas: 3,
        strategy: {
          canary: { maxSurge: "25%", maxUnavailable: 1, steps: [{ setWeight: 20 }, { pause: { duration: "1h" } }] }
        },
        template: { metadata: { labels: { a: "b" }, name: "dropped" }, spec: { containers: [{ name: "c" }] } }
      }
    }, {
      spec: {
        replicas: 3,
        strategy: {
          canary: { maxSurge: "25%", maxUnavailable: 1, steps: [{ setWeight: 20 }, { pause: { duration: "1h" } }] }
        },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c" }] } }
      },
      cells: [3, null]
    })
  ],
  invalid: [
    S.refused({ spec: { replicas: null, strategy: { blueGreen: { activeService: "a" } } } }),
    S.refused({ spec: { strategy: {} } }),
    S.refused({ spec: { strategy: { canary: {}, blueGreen: { activeService: "a" } } } }),
    S.refused({ spec: { strategy: { canary: { maxSurge: 1.5 } } } }),
    S.refused({ spec: { strategy: { canary: { maxSurge: true, steps: [{ pause: { duration: [] } }] } } } }),
    S.refused({ spec: { strategy: { blueGreen: {} } } }),
    S.refused({ spec: { replicas: "3", template: { metadata: { labels: { a: 1 } } } } })
  ]
}

const reference = S.object({
  kind: S.oneOf("HelmRepository", "GitRepository", "Bucket"),
  name: S.string({ minLength: 1, maxLength: 253 }),
  namespace: S.string({ minLength: 1, maxLength: 63 })
}, { required: ["kind", "name"] })

/** After Flux: durations by pattern, a status that is there from the start, a rule between fields. */
const flux: S.Sample = {
  project: "flux",
  definition: S.define(
    { group: "flux.example.com", kind: "HelmRelease", plural: "helmreleases", shortNames: ["hr"] },
    S.version(
      "v2",
      S.object({
        interval: S.string({ pattern: "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" }),
        suspend: S.boolean(),
        maxHistory: S.integer(),
        chart: S.object({
          spec: S.object({
            chart: S.string(),
            version: S.string({ default: "*" }),
            sourceRef: reference,
            reconcileStrategy: { ...S.oneOf("ChartVersion", "Revision"), default: "ChartVersion" }
          }, { required: ["chart", "sourceRef"] })
        }, { required: ["spec"] }),
        chartRef: S.object({ name: S.string(), kind: S.oneOf("OCIRepository", "HelmChart") }, {
          required: ["kind", "name"]
        }),
        values: { "x-kubernetes-preserve-unknown-fields": true },
        dependsOn: S.list(S.object({ name: S.string(), namespace: S.string() }, { required: ["name"] }))
      }, {
        required: ["interval"],
        "x-kubernetes-validations": [{
          rule: "has(self.chart) != has(self.chartRef)",
          message: "either chart or chartRef must be set"
        }]
      }),
      {
        status: S.object({ observedGeneration: S.integer({ format: "int64" }), conditions: S.conditions }, {
          default: { observedGeneration: -1 }
        }),
        columns: [
          S.column("Ready", ".status.conditions[?(@.type==\"Ready\")].status"),
          S.column("Status", ".status.conditions[?(@.type==\"Ready\")].message")
        ]
      }
    )
  ),
  valid: [
    S.taken({
      spec: {
        interval: "1h30m",
        chart: { spec: { chart: "nginx", sourceRef: { kind: "HelmRepository", name: "r" } } },
        values: { image: { tag: 1 }, "with.dots": [null] }
      }
    }, {
      spec: {
        interval: "1h30m",
        chart: {
          spec: {
            chart: "nginx",
            sourceRef: { kind: "HelmRepository", name: "r" },
            version: "*",
            reconcileStrategy: "ChartVersion"
          }
        },
        values: { image: { tag: 1 }, "with.dots": [null] }
      },
      cells: [null, null]
    })
  ],
  invalid: [
    S.refused({ spec: { interval: "soon", chartRef: { name: "x", kind: "HelmChart" } } }),
    S.refused({ spec: { interval: "1m", chart: {} } }),
    S.refused({ spec: { interval: "1m", chart: { spec: { chart: "a", sourceRef: { kind: "Folder", name: "" } } } } }),
    S.refused({ spec: { interval: "1m", chartRef: { kind: "HelmChart" }, dependsOn: [{}, { name: 1 }] } }),
    S.refused({
      spec: { interval: 60, suspend: "false", maxHistory: 1.2, chartRef: { name: "x", kind: "HelmChart" } }
    }),
    S.refusedSince(25, { spec: { interval: "1m" } }),
    S.refusedSince(25, {
      spec: {
        interval: "1m",
        chart: { spec: { chart: "a", sourceRef: { kind: "Bucket", name: "b" } } },
        chartRef: { name: "x", kind: "HelmChart" }
      }
    })
  ]
}

/** After Tekton: everything is preserved, and a webhook converts between two versions. */
const tekton: S.Sample = {
  project: "tekton",
  definition: S.define(
    {
      group: "pipelines.example.com",
      kind: "Task",
      plural: "tasks",
      categories: ["pipelines", "pipelines-all"],
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { service: { name: "converter", namespace: "default", path: "/convert" } }
        }
      }
    },
    S.version("v1", { type: "object", "x-kubernetes-preserve-unknown-fields": true }, { status: S.anything }),
    {
      name: "v1beta1",
      served: true,
      storage: false,
      subresources: { status: {} },
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
    }
  ),
  valid: [
    S.taken({ spec: { steps: [{ name: "a", script: "#!/bin/sh\necho\n" }], params: [{ name: "p", default: ["x"] }] } }),
    S.taken({ spec: {} }),
    S.taken({})
  ],
  invalid: [
    S.refused({ spec: [] }),
    S.refused({ spec: "x" }),
    S.refused({ spec: 1 }),
    S.refused({ spec: true }),
    S.refused({ spec: {}, metadata: { labels: { "a b": "c" } } })
  ]
}

export const delivery = [argoCd, argoRollouts, flux, tekton]
