/**
 * `Defaults`: what an API server fills in where the body of a built-in kind is silent.
 *
 * These are the defaults operators meet: Pods and everything with a Pod template, Services, claims, Secrets. They are
 * idempotent, so that an object read and written back does not change.
 *
 * Source: k8s.io/kubernetes/pkg/apis/GROUP/VERSION/defaults.go; compared with a kube-apiserver.
 */
import type { JsonObject } from "../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "./Plain.ts"

type Filled = Readonly<Record<string, unknown>>

/** The object, with what it lacks taken from `defaults`. */
const fill = (object: unknown, defaults: Filled): Filled => {
  const own = objectAt(object)
  const missing = Object.entries(defaults).filter(([key, value]) => value !== undefined && own[key] === undefined)
  return missing.length === 0 ? own : { ...own, ...Object.fromEntries(missing) }
}

const map = (object: Filled, key: string, f: (item: unknown) => unknown): Filled =>
  Array.isArray(object[key]) ? { ...object, [key]: (object[key] as ReadonlyArray<unknown>).map(f) } : object

const edit = (object: Filled, key: string, f: (value: unknown) => unknown): Filled =>
  object[key] === undefined ? object : { ...object, [key]: f(object[key]) }

/** `latest`, or no tag at all, is pulled every time. */
const pullPolicy = (image: string): string =>
  /(^|\/)[^/@]+:(?!latest$)[^/@]+$/.test(image) || image.includes("@") ? "IfNotPresent" : "Always"

const probe = (value: unknown): Filled => {
  const filled = fill(value, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 })
  return edit(filled, "httpGet", (get) => fill(get, { path: "/", scheme: "HTTP" }))
}

/** What is limited is requested, too. */
const resources = (value: unknown): Filled => {
  const limits = objectAt(value, "limits")
  return Object.keys(limits).length === 0
    ? objectAt(value)
    : { ...objectAt(value), requests: fill(at(value, "requests"), limits) }
}

const container = (value: unknown): Filled => {
  let filled = fill(value, {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicy(stringAt(value, "image"))
  })
  filled = edit(filled, "resources", resources)
  for (const key of ["livenessProbe", "readinessProbe", "startupProbe"]) filled = edit(filled, key, probe)
  filled = map(filled, "ports", (port) => fill(port, { protocol: "TCP" }))
  return map(filled, "env", (entry) =>
    at(entry, "valueFrom", "fieldRef") === undefined ? entry : edit(
      objectAt(entry),
      "valueFrom",
      (from) => edit(objectAt(from), "fieldRef", (ref) => fill(ref, { apiVersion: "v1" }))
    ))
}

const volume = (value: unknown): Filled => {
  const own = objectAt(value)
  const filled = edit(
    Object.keys(own).length > 1 ? own : { ...own, emptyDir: {} },
    "hostPath",
    (path) => fill(path, { type: "" })
  )
  const source = ["secret", "configMap", "projected", "downwardAPI"].find((key) => filled[key] !== undefined)
  return source === undefined ? filled : edit(filled, source, (content) => fill(content, { defaultMode: 420 }))
}

const podSpec = (value: unknown): Filled => {
  let spec = fill(value, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler"
  })
  // Two names of one field; the old one is kept in step.
  const account = stringAt(spec, "serviceAccountName") || stringAt(spec, "serviceAccount")
  if (account !== "") spec = { ...spec, serviceAccountName: account, serviceAccount: account }
  spec = map(spec, "containers", container)
  spec = map(spec, "initContainers", container)
  return map(spec, "volumes", volume)
}

const tolerationKeys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]

/** A Pod of its own gets what admission adds, beyond what a template gets. */
const pod = (value: unknown): Filled => {
  const spec = fill(podSpec(value), { priority: 0, enableServiceLinks: true, preemptionPolicy: "PreemptLowerPriority" })
  const own = arrayAt(spec, "tolerations")
  const missing = tolerationKeys.filter((key) =>
    !own.some((toleration) =>
      [key, ""].includes(stringAt(toleration, "key")) && ["NoExecute", ""].includes(stringAt(toleration, "effect"))
    )
  )
  return {
    ...spec,
    tolerations: [
      ...own,
      ...missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }))
    ]
  }
}

const template = (value: unknown): Filled => edit(fill(value, { metadata: {} }), "spec", podSpec)

const rollingUpdate = (strategy: unknown, amounts: Filled): Filled => {
  const filled = fill(strategy, { type: "RollingUpdate" })
  return filled["type"] === "RollingUpdate"
    ? { ...filled, rollingUpdate: fill(filled["rollingUpdate"], amounts) }
    : filled
}

const deployment = (value: unknown): Filled => {
  const spec = fill(value, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} })
  return edit(
    edit(spec, "strategy", (strategy) => rollingUpdate(strategy, { maxUnavailable: "25%", maxSurge: "25%" })),
    "template",
    template
  )
}

const statefulSet = (value: unknown): Filled => {
  let spec = fill(value, {
    replicas: 1,
    podManagementPolicy: "OrderedReady",
    revisionHistoryLimit: 10,
    updateStrategy: {},
    persistentVolumeClaimRetentionPolicy: {}
  })
  spec = edit(spec, "updateStrategy", (strategy) => rollingUpdate(strategy, { partition: 0 }))
  spec = edit(
    spec,
    "persistentVolumeClaimRetentionPolicy",
    (policy) => fill(policy, { whenDeleted: "Retain", whenScaled: "Retain" })
  )
  spec = map(spec, "volumeClaimTemplates", (claim) => ({
    ...fill(claim, { apiVersion: "v1", kind: "PersistentVolumeClaim" }),
    spec: claimSpec(at(claim, "spec")),
    status: { phase: "Pending" }
  }))
  return edit(spec, "template", template)
}

const daemonSet = (value: unknown): Filled => {
  const spec = fill(value, { revisionHistoryLimit: 10, updateStrategy: {} })
  return edit(
    edit(spec, "updateStrategy", (strategy) => rollingUpdate(strategy, { maxUnavailable: 1, maxSurge: 0 })),
    "template",
    template
  )
}

const job = (value: unknown): Filled => {
  const single = at(value, "completions") === undefined && at(value, "parallelism") === undefined
  const spec = fill(value, {
    parallelism: 1,
    completions: single ? 1 : undefined,
    backoffLimit: 6,
    completionMode: "NonIndexed",
    suspend: false,
    podReplacementPolicy: at(value, "podFailurePolicy") === undefined ? "TerminatingOrFailed" : "Failed"
  })
  return edit(spec, "template", template)
}

const cronJob = (value: unknown): Filled =>
  edit(
    fill(value, {
      concurrencyPolicy: "Allow",
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1
    }),
    "jobTemplate",
    (jobTemplate) =>
      edit(fill(jobTemplate, { metadata: {} }), "spec", (spec) => edit(objectAt(spec), "template", template))
  )

const service = (value: unknown): Filled => {
  const spec = fill(value, { sessionAffinity: "None", type: "ClusterIP", internalTrafficPolicy: "Cluster" })
  return map(spec, "ports", (port) => fill(fill(port, { protocol: "TCP" }), { targetPort: at(port, "port") }))
}

const claimSpec = (value: unknown): Filled => fill(value, { volumeMode: "Filesystem" })

/** `stringData` is written to, never read from. */
const secret = (object: Filled): Filled => {
  const { stringData, ...rest } = object
  const filled = fill(rest, { type: "Opaque" })
  if (stringData === undefined) return filled
  const encoded = Object.entries(objectAt(stringData)).map(([key, text]) => [
    key,
    btoa(String.fromCharCode(...new TextEncoder().encode(String(text))))
  ])
  return { ...filled, data: { ...objectAt(filled, "data"), ...Object.fromEntries(encoded) } }
}

const inSpec = (f: (spec: unknown) => Filled) => (object: Filled): Filled => edit(object, "spec", f)

const byKind: Readonly<Record<string, (object: Filled) => Filled>> = {
  "/Pod": inSpec(pod),
  "/PodTemplate": (object) => edit(object, "template", template),
  "/ReplicationController": inSpec((spec) => edit(fill(spec, { replicas: 1 }), "template", template)),
  "/Service": inSpec(service),
  "/Secret": secret,
  "/Event": (object) =>
    fill(object, {
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: "",
      reportingInstance: ""
    }),
  "events.k8s.io/Event": (object) =>
    fill(object, {
      eventTime: null,
      deprecatedSource: {},
      deprecatedFirstTimestamp: null,
      deprecatedLastTimestamp: null
    }),
  "/PersistentVolumeClaim": inSpec(claimSpec),
  "/PersistentVolume": inSpec((spec) =>
    fill(spec, { persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" })
  ),
  "apps/Deployment": inSpec(deployment),
  "apps/ReplicaSet": inSpec((spec) => edit(fill(spec, { replicas: 1 }), "template", template)),
  "apps/StatefulSet": inSpec(statefulSet),
  "apps/DaemonSet": inSpec(daemonSet),
  "batch/Job": inSpec(job),
  "batch/CronJob": inSpec(cronJob),
  "rbac.authorization.k8s.io/RoleBinding": (object) => roleBinding(object),
  "rbac.authorization.k8s.io/ClusterRoleBinding": (object) => roleBinding(object),
  "autoscaling/HorizontalPodAutoscaler": inSpec((spec) => fill(spec, { minReplicas: 1 }))
}

const rbacGroup = "rbac.authorization.k8s.io"

const roleBinding = (object: Filled): Filled =>
  edit(
    map(object, "subjects", (subject) =>
      stringAt(subject, "kind") === "ServiceAccount" ? subject : fill(subject, { apiGroup: rbacGroup })),
    "roleRef",
    (ref) =>
      fill(ref, { apiGroup: rbacGroup })
  )

/** The object with the defaults of its kind. */
export const apply = (group: string, kind: string, object: JsonObject): JsonObject =>
  byKind[`${group}/${kind}`]?.(object) ?? object

const statuses: Readonly<Record<string, (object: JsonObject) => JsonObject>> = {
  pods: (object) => ({ phase: "Pending", qosClass: qosClass(object) }),
  persistentvolumeclaims: () => ({ phase: "Pending" }),
  persistentvolumes: () => ({ phase: "Pending" }),
  nodes: () => ({}),
  services: () => ({ loadBalancer: {} }),
  "ingresses.networking.k8s.io": () => ({ loadBalancer: {} }),
  "deployments.apps": () => ({}),
  "replicasets.apps": () => ({ replicas: 0 }),
  "statefulsets.apps": () => ({ replicas: 0, availableReplicas: 0 }),
  "daemonsets.apps": () => ({
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0
  }),
  "jobs.batch": () => ({}),
  "cronjobs.batch": () => ({}),
  "poddisruptionbudgets.policy": () => ({
    disruptionsAllowed: 0,
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0
  })
}

/** The status a new object has. */
export const status = (collection: string, object: JsonObject): JsonObject => {
  const initial = statuses[collection]
  return initial === undefined ? object : { ...object, status: initial(object) }
}

/** Guaranteed, Burstable or BestEffort, by the requests and limits of all containers. */
const qosClass = (object: JsonObject): string => {
  const containers = [...arrayAt(object, "spec", "containers"), ...arrayAt(object, "spec", "initContainers")]
  const amounts = (entry: unknown, key: string) => objectAt(entry, "resources", key)
  const counted = ["cpu", "memory"]
  if (
    containers.every((entry) =>
      counted.every((name) =>
        amounts(entry, "requests")[name] === undefined && amounts(entry, "limits")[name] === undefined
      )
    )
  ) return "BestEffort"
  return containers.every((entry) =>
      counted.every((name) =>
        amounts(entry, "limits")[name] !== undefined &&
        amounts(entry, "limits")[name] === amounts(entry, "requests")[name]
      )
    )
    ? "Guaranteed"
    : "Burstable"
}
