/**
 * `NamespacedKinds`: more kinds of objects in namespaces: quotas and limits, templates of Pods and what is made of them.
 *
 * A LimitRange and a ResourceQuota change and refuse the Pods of their sequence, and are meant to.
 */
import type { Chance } from "./Chance.ts"
import type { Kind } from "./Kind.ts"
import { condition, count, plainTemplate, replicas, template, templateEdits } from "./Pods.ts"
import type { Edit } from "./Step.ts"

/** One or two amounts, the most of them of what a container may have. */
const amounts = (chance: Chance, ...more: ReadonlyArray<object>): object =>
  chance.pick<object>([
    { cpu: chance.pick<unknown>(["1", "100m", 2, "0"]) },
    { memory: chance.pick(["1Gi", "64Mi", "2000Ki"]) },
    { cpu: chance.pick(["500m", "2"]), memory: chance.pick(["1Gi", "128Mi"]) },
    { storage: chance.pick(["1Gi", "2Gi"]) },
    { "ephemeral-storage": "1Gi" },
    ...more
  ])

const strangeAmounts: ReadonlyArray<object> = [
  { "example.com/gpu": "1" },
  { "hugepages-2Mi": "2Mi" },
  { "requests.cpu": "1" },
  { pods: "1" },
  { bogus: "1" },
  { "a/b/c": "1" },
  { cpu: "-1" }
]

/** Of Pods as a whole: what no container asks for, since 1.20 counts only what all of them ask for. */
const ofPods = { "ephemeral-storage": "1Gi" }

const limit = (chance: Chance) => {
  const type = chance.weighted([
    [5, "Container"],
    [1, "Pod"],
    [2, "PersistentVolumeClaim"],
    [0.3, "example.com/x"],
    [0.3, "Other"]
  ])
  const part = (probability: number, name: string) =>
    chance.maybe(probability, () => ({
      [name]: chance.chance(0.1) ? chance.pick(strangeAmounts) : type === "Pod" ? ofPods : amounts(chance)
    }))
  return {
    type,
    ...part(0.4, "max"),
    ...part(0.3, "min"),
    ...part(0.25, "default"),
    ...part(0.25, "defaultRequest"),
    ...chance.maybe(type === "Pod" ? 0 : 0.1, () => ({
      maxLimitRequestRatio: chance.pick<object>([{ cpu: "2" }, { cpu: "0.5" }, { memory: 1.5 }, { cpu: "10" }])
    }))
  }
}

const limits = (chance: Chance): ReadonlyArray<object> =>
  chance.chance(0.75) ? [limit(chance)] : [limit(chance), limit(chance)]

const hard = (chance: Chance): object =>
  chance.pick<object>([
    { pods: chance.pick<unknown>(["2", "10", 1, "0"]) },
    { "count/configmaps": "2" },
    { "count/deployments.apps": chance.pick(["1", "3"]) },
    { configmaps: "1", secrets: "3" },
    { services: "1", "services.nodeports": "0" },
    { "requests.cpu": "1", "limits.memory": "1Gi" },
    { "requests.storage": "3Gi", persistentvolumeclaims: "2" },
    { "fast.storageclass.storage.k8s.io/requests.storage": "2Gi" },
    { "requests.example.com/gpu": "1" },
    amounts(chance),
    amounts(chance),
    ...(chance.chance(0.1) ? [{ "limits.storage": "1" }, { bogus: "1" }, { pods: "1.5" }, { cpu: "-1" }] : [])
  ])

/** Those that 1.20 knows. */
const scopes = ["Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "Other"]

const expression = (chance: Chance) => ({
  scopeName: chance.pick(scopes),
  operator: chance.pick(["Exists", "Exists", "In", "NotIn", "DoesNotExist", "Other"]),
  ...chance.maybe(0.4, () => ({ values: chance.pick([["x"], ["x", "y"], []]) }))
})

const quota = (chance: Chance) => ({
  ...chance.maybe(0.9, () => ({ hard: hard(chance) })),
  ...chance.maybe(0.2, () => ({ scopes: chance.some(scopes, 0.3) })),
  ...chance.maybe(0.15, () => ({
    scopeSelector: {
      matchExpressions: chance.chance(0.7) ? [expression(chance)] : [expression(chance), expression(chance)]
    }
  }))
})

const addresses = (chance: Chance, type: string): ReadonlyArray<string> =>
  chance.pick<ReadonlyArray<string>>(
    type === "IPv4"
      ? [["10.0.0.1"], ["10.0.0.1", "10.0.0.2"], ["x"], ["2001:db8::1"], []]
      : type === "IPv6"
      ? [["2001:db8::1"], ["10.0.0.1"], ["x"]]
      : [["a.b.c"], ["A"], ["10.0.0.1"]]
  )

const endpoint = (chance: Chance, type: string) => ({
  addresses: addresses(chance, type),
  ...chance.maybe(0.5, () => ({ conditions: { ready: chance.chance(0.5) } })),
  ...chance.maybe(0.2, () => ({ hostname: chance.pick(["a", "A"]) })),
  ...chance.maybe(0.2, () => ({ targetRef: { kind: "Pod", name: "a", namespace: "{{ns}}" } }))
})

const slicePort = (chance: Chance) => ({
  ...chance.maybe(0.6, () => ({ name: chance.pick(["http", "", "A_b", "a"]) })),
  ...chance.maybe(0.8, () => ({ port: chance.pick([80, 8080, 0, 65536]) })),
  ...chance.maybe(0.3, () => ({ protocol: chance.pick(["TCP", "UDP", "Other"]) })),
  ...chance.maybe(0.2, () => ({ appProtocol: chance.pick(["http", "example.com/x", "a b"]) }))
})

const slice = (chance: Chance) => {
  const addressType = chance.weighted([[6, "IPv4"], [2, "IPv6"], [2, "FQDN"], [0.5, "Other"], [0.3, ""]])
  return {
    addressType,
    endpoints: chance.pick<ReadonlyArray<object>>([
      [],
      [endpoint(chance, addressType)],
      [endpoint(chance, addressType), endpoint(chance, addressType)]
    ]),
    ...chance.maybe(0.7, () => ({
      ports: chance.chance(0.6) ? [slicePort(chance)] : [slicePort(chance), slicePort(chance)]
    }))
  }
}

const schedules = ["*/5 * * * *", "0 0 * * *", "@hourly", "@every 1h", "* * * *", "61 * * * *", "x", "0 0 31 2 *", ""]

const cronJob = (chance: Chance) => ({
  schedule: chance.chance(0.7) ? "*/5 * * * *" : chance.pick(schedules),
  jobTemplate: {
    ...chance.maybe(0.2, () => ({ metadata: { labels: { app: "x" } } })),
    spec: {
      template: {
        ...template(chance),
        spec: { ...template(chance).spec, restartPolicy: chance.pick(["Never", "OnFailure", "Never", "Always"]) }
      },
      ...chance.maybe(0.2, () => ({ backoffLimit: chance.pick([0, 3, -1]) })),
      ...chance.maybe(0.1, () => ({ parallelism: 2, completions: 3 })),
      ...chance.maybe(0.05, () => ({ selector: { matchLabels: { app: "x" } } })),
      ...chance.maybe(0.05, () => ({ manualSelector: chance.chance(0.5) })),
      ...chance.maybe(0.1, () => ({ ttlSecondsAfterFinished: chance.pick([0, -1]) }))
    }
  },
  ...chance.maybe(0.3, () => ({ concurrencyPolicy: chance.pick(["Allow", "Forbid", "Replace", "Other"]) })),
  ...chance.maybe(0.2, () => ({ suspend: chance.chance(0.5) })),
  ...chance.maybe(0.2, () => ({ startingDeadlineSeconds: chance.pick([0, 10, -1]) })),
  ...chance.maybe(0.2, () => ({ successfulJobsHistoryLimit: chance.pick([0, 3, -1]) })),
  ...chance.maybe(0.1, () => ({ failedJobsHistoryLimit: chance.pick([0, 3, -1]) }))
})

const revision = (chance: Chance): unknown =>
  chance.weighted<unknown>([
    [6, { spec: { replicas: 1 } }],
    [2, { apiVersion: "v1", kind: "Pod", metadata: { name: "x" } }],
    [1, {}],
    [0.3, null]
  ])

export const namespacedKinds: ReadonlyArray<Kind> = [
  {
    apiVersion: "v1",
    kind: "LimitRange",
    plural: "limitranges",
    namespaced: true,
    weight: 1.5,
    content: (chance) => ({ spec: { limits: limits(chance) } }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "limits"], value: limits(chance) },
        { path: ["spec", "limits", "0", "max"], value: chance.pick([ofPods, { storage: "2Gi" }]) },
        { path: ["spec", "limits", "0", "type"], value: chance.pick(["PersistentVolumeClaim", "Other"]) }
      ])
  },
  {
    apiVersion: "v1",
    kind: "ResourceQuota",
    plural: "resourcequotas",
    namespaced: true,
    weight: 1.5,
    content: (chance) => ({ spec: quota(chance) }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "hard"], value: hard(chance) },
        { path: ["spec", "hard", "pods"], value: chance.pick<unknown>(["3", 5, "x"]) },
        { path: ["spec", "scopes"], value: chance.some(scopes, 0.3) },
        { path: ["spec", "scopeSelector"], value: { matchExpressions: [expression(chance)] } }
      ]),
    status: (chance) =>
      chance.pick<Edit>([
        { path: ["status"], value: { hard: hard(chance), ...chance.maybe(0.5, () => ({ used: hard(chance) })) } },
        { path: ["status", "used"], value: hard(chance) },
        { path: ["status", "hard"], value: hard(chance) }
      ])
  },
  {
    apiVersion: "v1",
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    namespaced: true,
    weight: 2,
    content: (chance) => ({
      spec: {
        template: template(chance),
        ...chance.maybe(0.7, () => ({ selector: chance.pick<object>([{ app: "x" }, { app: "x" }, { app: "y" }, {}]) })),
        ...replicas(chance),
        ...chance.maybe(0.2, () => ({ minReadySeconds: chance.pick([0, 5, -1]) }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "replicas"], value: chance.pick([1, 2, -1]) },
        { path: ["spec", "selector"], value: chance.pick([{ app: "y" }, {}, { tier: "front" }]) },
        { path: ["spec", "template"] },
        { path: ["spec", "template", "spec", "restartPolicy"], value: "Never" },
        templateEdits(chance)
      ]),
    status: (chance) =>
      chance.pick<Edit>([
        count(chance, "replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas", "observedGeneration"),
        { path: ["status", "conditions"], value: [condition(chance)] },
        { path: ["status", "replicas"], value: -1 }
      ]),
    scale: true,
    fields: ["status.replicas"]
  },
  {
    apiVersion: "v1",
    kind: "PodTemplate",
    plural: "podtemplates",
    namespaced: true,
    weight: 1,
    content: (chance) => chance.maybe(0.95, () => ({ template: template(chance) })),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["template", "spec", "containers", "0", "image"], value: `app:${chance.int(4)}` },
        { path: ["template", "metadata", "labels", "app"], value: chance.pick(["x", "y", "a b"]) },
        { path: ["template", "spec", "restartPolicy"], value: chance.pick(["Never", "Other"]) },
        { path: ["template"] }
      ])
  },
  {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    plural: "controllerrevisions",
    namespaced: true,
    weight: 1,
    content: (chance) => ({
      ...chance.maybe(0.95, () => ({ data: revision(chance) })),
      ...chance.maybe(0.9, () => ({ revision: chance.pick([1, 2, 0, -1]) }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["revision"], value: chance.pick([1, 2, 3, -1]) },
        { path: ["data"], value: revision(chance) },
        { path: ["data", "spec"], value: { replicas: 2 } }
      ])
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    plural: "cronjobs",
    namespaced: true,
    weight: 2,
    content: (chance) => ({ spec: cronJob(chance) }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "schedule"], value: chance.pick(schedules) },
        { path: ["spec", "suspend"], value: chance.chance(0.5) },
        { path: ["spec", "concurrencyPolicy"], value: chance.pick(["Forbid", "Other"]) },
        { path: ["spec", "jobTemplate", "spec", "template"], value: plainTemplate(chance) },
        { path: ["spec", "jobTemplate", "spec", "template", "spec", "containers", "0", "image"], value: "app:5" }
      ]),
    status: (chance) =>
      chance.pick<Edit>([
        { path: ["status", "lastScheduleTime"], value: "2020-01-01T00:00:00Z" },
        { path: ["status", "active"], value: [{ kind: "Job", name: "j", namespace: "{{ns}}" }] }
      ])
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    plural: "endpointslices",
    namespaced: true,
    weight: 1.5,
    content: slice,
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["endpoints"], value: [endpoint(chance, "IPv4")] },
        { path: ["ports"], value: [slicePort(chance)] },
        { path: ["addressType"], value: chance.pick(["IPv4", "IPv6"]) },
        { path: ["endpoints", "0", "conditions", "ready"], value: chance.chance(0.5) }
      ])
  }
]
