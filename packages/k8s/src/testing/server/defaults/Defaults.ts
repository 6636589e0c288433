/**
 * `Defaults`: what an API server fills in if the body of a built-in kind does not set it.
 *
 * These are the defaults that operators encounter: of Pods and everything with a Pod template, Services, claims and
 * Secrets. They are idempotent, so an object that is read and written back does not change.
 *
 * Source: k8s.io/kubernetes/pkg/apis/GROUP/VERSION/defaults.go; compared with a kube-apiserver.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import type { JsonObject } from "../../../schema/JsonValue.ts"
import * as PodResources from "../PodResources.ts"
import * as Quantity from "../../../api/Quantity.ts"
import * as DeviceRules from "../rules/DeviceRules.ts"
import * as JobRules from "../rules/JobRules.ts"
import * as PolicyRules from "../rules/PolicyRules.ts"
import * as WebhookRules from "../rules/WebhookRules.ts"
import * as WorkloadRules from "../rules/WorkloadRules.ts"
import * as ClusterDefaults from "./ClusterDefaults.ts"
import { edit, fill, type Filled, map } from "./Filling.ts"
import { pullPolicy } from "./PullPolicy.ts"
import * as VolumeDefaults from "./VolumeDefaults.ts"

/** The action of a probe or a lifecycle hook. */
const handler = (action: Filled): Filled => edit(action, "httpGet", (get) => fill(get, { path: "/", scheme: "HTTP" }))

const lifecycle = (value: unknown): Filled =>
  ["postStart", "preStop"].reduce<Filled>(
    (hooks, key) => edit(hooks, key, (hook) => handler(objectAt(hook))),
    objectAt(value)
  )

const probe = (value: unknown): Filled => {
  const filled = fill(value, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 })
  return edit(handler(filled), "grpc", (grpc) => fill(grpc, { service: "" }))
}

/** The requests of a container in a Pod default to its limits; those in a template do not. */
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
  for (const key of ["livenessProbe", "readinessProbe", "startupProbe"]) filled = edit(filled, key, probe)
  filled = edit(filled, "lifecycle", lifecycle)
  filled = map(filled, "ports", (port) => fill(port, { protocol: "TCP" }))
  return map(filled, "env", (entry) =>
    at(entry, "valueFrom", "fieldRef") === undefined ? entry : edit(
      objectAt(entry),
      "valueFrom",
      (from) => edit(objectAt(from), "fieldRef", (ref) => fill(ref, { apiVersion: "v1" }))
    ))
}

const podSpec = (value: unknown): Filled => {
  let spec = fill(value, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler"
  })
  // Two names of one field; the deprecated one is kept in sync.
  const account = stringAt(spec, "serviceAccountName") || stringAt(spec, "serviceAccount")
  if (account !== "") spec = { ...spec, serviceAccountName: account, serviceAccount: account }
  spec = map(spec, "containers", container)
  spec = map(spec, "initContainers", container)
  spec = map(spec, "ephemeralContainers", container)
  return map(spec, "volumes", VolumeDefaults.volume)
}

/** Every Namespace that has a name is labelled with it. */
const labelledNamespace = (metadata: unknown): Filled => {
  const name = stringAt(metadata, "name")
  return name === ""
    ? objectAt(metadata)
    : { ...objectAt(metadata), labels: { ...objectAt(metadata, "labels"), "kubernetes.io/metadata.name": name } }
}

/**
 * The requests of a Pod with Pod-level resources default to what its containers request together, or else to its
 * limits. Huge pages cannot be overcommitted, so their requests equal their limits.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go `defaultPodRequests`.
 */
const podRequests = (spec: Filled): Filled => {
  const limits = objectAt(spec, "resources", "limits")
  if (Object.keys(limits).length === 0) return spec
  const shared = Object.entries(PodResources.ofContainers({ spec }, "requests"))
    .filter(([name]) => PodResources.isPodLevel(name) && !name.startsWith("hugepages-"))
  const limited = Object.entries(limits).filter(([name]) => PodResources.isPodLevel(name))
  const requests = fill(
    fill(at(spec, "resources", "requests"), Object.fromEntries(shared)),
    Object.fromEntries(limited)
  )
  return Object.keys(requests).length === 0
    ? spec
    : { ...spec, resources: { ...objectAt(spec, "resources"), requests } }
}

/** A negative grace period, which means one second, is read as that in a Pod, though not in a template. */
const inSeconds = (spec: Filled): Filled => {
  const period = spec["terminationGracePeriodSeconds"]
  return typeof period === "number" && period < 0 ? { ...spec, terminationGracePeriodSeconds: 1 } : spec
}

/** A Pod has more defaults than a template. Others are set by admission. */
const pod = (value: unknown): Filled => {
  const limited = (entry: unknown) => edit(objectAt(entry), "resources", resources)
  const own = inSeconds(podSpec(value))
  let requested = map(map(own, "containers", limited), "initContainers", limited)
  requested = podRequests(requested)
  if (own["hostNetwork"] === true) {
    for (const key of ["containers", "initContainers"]) requested = map(requested, key, VolumeDefaults.hostPorts)
  }
  return fill(requested, { enableServiceLinks: true })
}

/** `podIP` and `podIPs` are made consistent: `podIP` takes precedence. */
const podStatus = (value: unknown): Filled => {
  const status = objectAt(value)
  const one = stringAt(status, "podIP")
  const all = arrayAt(status, "podIPs")
  const first = stringAt(all[0], "ip")
  if (one !== "" && one !== first) return { ...status, podIPs: [{ ip: one }] }
  return first !== "" && one === "" ? { ...status, podIP: first } : status
}

const template = (value: unknown): Filled => ({ ...fill(value, { metadata: {} }), spec: podSpec(at(value, "spec")) })

/** Adds a template with its defaults, whether or not one was sent. */
const templated = (object: Filled): Filled => ({ ...object, template: template(object["template"]) })

const rollingUpdate = (strategy: unknown, amounts: Filled): Filled => {
  const filled = fill(strategy, { type: "RollingUpdate" })
  return filled["type"] === "RollingUpdate"
    ? { ...filled, rollingUpdate: fill(filled["rollingUpdate"], amounts) }
    : filled
}

const deployment = (value: unknown): Filled => {
  const spec = fill(value, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} })
  return templated(
    edit(spec, "strategy", (strategy) => rollingUpdate(strategy, { maxUnavailable: "25%", maxSurge: "25%" }))
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
  // A strategy that sets only its type gets no default amounts.
  spec = edit(
    spec,
    "updateStrategy",
    (strategy) =>
      at(strategy, "type") !== undefined && at(strategy, "rollingUpdate") === undefined
        ? strategy
        : rollingUpdate(strategy, { partition: 0, maxUnavailable: 1 })
  )
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
  return templated(spec)
}

const daemonSet = (value: unknown): Filled => {
  const spec = fill(value, { revisionHistoryLimit: 10, updateStrategy: {} })
  return templated(
    edit(spec, "updateStrategy", (strategy) => rollingUpdate(strategy, { maxUnavailable: 1, maxSurge: 0 }))
  )
}

const maxInt32 = 2 ** 31 - 1

const job = (value: unknown): Filled => {
  const single = at(value, "completions") === undefined && at(value, "parallelism") === undefined
  const spec = fill(value, {
    parallelism: 1,
    completions: single ? 1 : undefined,
    // A Job with a limit per index needs no limit for all of them together.
    backoffLimit: at(value, "backoffLimitPerIndex") === undefined ? 6 : maxInt32,
    manualSelector: false,
    completionMode: "NonIndexed",
    suspend: false,
    podReplacementPolicy: at(value, "podFailurePolicy") === undefined ? "TerminatingOrFailed" : "Failed"
  })
  const policy = at(spec, "podFailurePolicy")
  return templated(policy === undefined ? spec : { ...spec, podFailurePolicy: failurePolicy(policy) })
}

/** The status of a condition in a rule defaults to True. */
const failurePolicy = (policy: unknown): Filled =>
  map(
    objectAt(policy),
    "rules",
    (rule) => map(objectAt(rule), "onPodConditions", (pattern) => fill(pattern, { status: "True" }))
  )

const cronJob = (value: unknown): Filled =>
  edit(
    fill(value, {
      concurrencyPolicy: "Allow",
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: {}
    }),
    "jobTemplate",
    (jobTemplate) =>
      edit(fill(jobTemplate, { metadata: {}, spec: {} }), "spec", (spec) => {
        const policy = at(spec, "podFailurePolicy")
        return templated(
          policy === undefined ? objectAt(spec) : { ...objectAt(spec), podFailurePolicy: failurePolicy(policy) }
        )
      })
  )

const service = (value: unknown): Filled => {
  let spec = fill(value, { sessionAffinity: "None", type: "ClusterIP" })
  if (spec["sessionAffinity"] === "ClientIP") {
    const config = objectAt(spec, "sessionAffinityConfig")
    spec = {
      ...spec,
      sessionAffinityConfig: { ...config, clientIP: fill(config["clientIP"], { timeoutSeconds: 10800 }) }
    }
  } else if (spec["sessionAffinity"] === "None") {
    const { sessionAffinityConfig: _, ...rest } = spec
    spec = rest
  }
  return map(ClusterDefaults.service(spec), "ports", (port) => {
    const target = at(port, "targetPort")
    const filled = fill(port, { protocol: "TCP" })
    return target === undefined || target === "" || target === 0
      ? { ...filled, targetPort: at(port, "port") ?? 0 }
      : filled
  })
}

/** `default` is completed from `max`, and `defaultRequest` from `default`, then from `min`. */
const limitRangeItem = (value: unknown): Filled => {
  const item = objectAt(value)
  if (item["type"] !== "Container") return item
  const byDefault = fill(item["default"], objectAt(item, "max"))
  const request = fill(fill(item["defaultRequest"], byDefault), objectAt(item, "min"))
  return {
    ...item,
    ...(Object.keys(byDefault).length === 0 ? {} : { default: byDefault }),
    ...(Object.keys(request).length === 0 ? {} : { defaultRequest: request })
  }
}

const claimSpec = (value: unknown): Filled => fill(value, { volumeMode: "Filesystem" })

/** `stringData` is write-only and merged into `data`. */
const secret = (object: Filled): Filled => {
  const { stringData, ...rest } = object
  const filled = fill(rest, { type: "Opaque" })
  if (stringData === undefined) return filled
  const encoded = Object.entries(objectAt(stringData)).map(([key, text]) => [
    key,
    Buffer.from(String(text), "utf8").toString("base64")
  ])
  return { ...filled, data: { ...objectAt(filled, "data"), ...Object.fromEntries(encoded) } }
}

/** Applies defaults to the spec, whether or not one was sent. */
const inSpec = (f: (spec: unknown) => Filled) => (object: Filled): Filled => ({ ...object, spec: f(object["spec"]) })

/** The default phase in a status, by kind. */
const phases: Readonly<Record<string, string>> = {
  "/Namespace": "Active",
  "/PersistentVolume": "Pending",
  "/PersistentVolumeClaim": "Pending"
}

const inPhase = (name: string) => (status: unknown): Filled => fill(status, { phase: phases[name] })

const withPhase = (name: string, object: Filled): Filled => ({ ...object, status: inPhase(name)(object["status"]) })

/** The `ipMode` of a load balancer's address defaults to VIP. */
const balancer = (object: Filled): Filled =>
  stringAt(object, "spec", "type") !== "LoadBalancer" ?
    object :
    edit(object, "status", (status) =>
      edit(objectAt(status), "loadBalancer", (own) =>
        map(objectAt(own), "ingress", (point) =>
          stringAt(point, "ip") === "" ? point : fill(point, { ipMode: "VIP" }))))

/** Kinds whose defaults are those of their spec. */
const specs: Readonly<Record<string, (spec: unknown) => Filled>> = {
  "/Pod": pod,
  "/LimitRange": (spec) => map(objectAt(spec), "limits", limitRangeItem),
  "/PersistentVolumeClaim": claimSpec,
  "apps/Deployment": deployment,
  "apps/ReplicaSet": (spec) => templated(fill(spec, { replicas: 1 })),
  "apps/StatefulSet": statefulSet,
  "batch/CronJob": cronJob
}

/** Kinds whose defaults are values of missing fields. */
const fields: Readonly<Record<string, Filled>> = {
  "/Event": {
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: "",
    reportingInstance: ""
  },
  "events.k8s.io/Event": {
    eventTime: null,
    deprecatedSource: {},
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null
  }
}

const byKind: Readonly<Record<string, (object: Filled) => Filled>> = {
  ...ClusterDefaults.byKind,
  ...Object.fromEntries(Object.entries(specs).map(([kind, spec]) => [kind, inSpec(spec)])),
  ...Object.fromEntries(Object.entries(fields).map(([kind, missing]) => [kind, (object) => fill(object, missing)])),
  "/Pod": (object) => edit(inSpec(pod)(object), "status", podStatus),
  "/Namespace": (object) => withPhase("/Namespace", edit(object, "metadata", labelledNamespace)),
  "/PersistentVolume": (object) => withPhase("/PersistentVolume", ClusterDefaults.byKind["/PersistentVolume"]!(object)),
  "/PersistentVolumeClaim": (object) => withPhase("/PersistentVolumeClaim", inSpec(claimSpec)(object)),
  "apps/DaemonSet": (object) => WorkloadRules.counted(inSpec(daemonSet)(object)),
  "batch/Job": (object) => JobRules.withLabels(inSpec(job)(object)),
  "resource.k8s.io/ResourceClaim": inSpec(DeviceRules.claimDefaults),
  "resource.k8s.io/ResourceClaimTemplate": inSpec((spec) => edit(objectAt(spec), "spec", DeviceRules.claimDefaults)),
  "/PodTemplate": templated,
  "/ReplicationController": (object) =>
    ClusterDefaults.controller(
      inSpec((spec) => edit(fill(spec, { replicas: 1 }), "template", template))(object)
    ),
  "/Service": (object) => balancer(inSpec(service)(object)),
  "/Secret": secret,
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": WebhookRules.applyDefaults(true),
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": WebhookRules.applyDefaults(false),
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy": PolicyRules.policyDefaults,
  "admissionregistration.k8s.io/MutatingAdmissionPolicy": PolicyRules.policyDefaults,
  "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": PolicyRules.bindingDefaults,
  "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding": PolicyRules.bindingDefaults,
  "rbac.authorization.k8s.io/RoleBinding": (object) => roleBinding(object),
  "rbac.authorization.k8s.io/ClusterRoleBinding": (object) => roleBinding(object)
}

/** The defaults of one part of an object. */
export interface Part {
  readonly fill: (value: unknown) => unknown
  /** Whether a missing part gets defaults, too. */
  readonly always: boolean
}

/** The defaults of a kind whose parts do not depend on each other. */
export interface Parts {
  readonly parts: Readonly<Record<string, Part>>
  /** Default values of missing fields. */
  readonly missing: Filled | undefined
}

/** The same defaults as `apply`, by part; undefined for a kind whose parts depend on each other. */
export const partsOf = (group: string, kind: string): Parts | undefined => {
  const name = `${group}/${kind}`
  const spec = specs[name]
  const missing = fields[name]
  if (spec === undefined && missing === undefined && byKind[name] !== undefined) return undefined
  return {
    parts: {
      ...(spec === undefined ? {} : { spec: { fill: spec, always: true } }),
      ...(name === "/Pod" ? { status: { fill: podStatus, always: false } } : {}),
      ...(phases[name] === undefined ? {} : { status: { fill: inPhase(name), always: true } })
    },
    missing
  }
}

const rbacGroup = "rbac.authorization.k8s.io"

const roleBinding = (object: Filled): Filled => ({
  ...map(
    object,
    "subjects",
    (subject) =>
      ["User", "Group"].includes(stringAt(subject, "kind")) ? fill(subject, { apiGroup: rbacGroup }) : subject
  ),
  roleRef: fill(object["roleRef"], { apiGroup: rbacGroup })
})

/** The object with the defaults of its kind. */
export const apply = (group: string, kind: string, object: JsonObject): JsonObject =>
  byKind[`${group}/${kind}`]?.(object) ?? object

/** Source: k8s.io/kubernetes/pkg/registry/core/pod/strategy.go `applySchedulingGatedCondition`. */
const gated = (pod: JsonObject): JsonObject => ({
  type: "PodScheduled",
  status: "False",
  lastTransitionTime: at(pod, "metadata", "creationTimestamp"),
  reason: "SchedulingGated",
  message: "Scheduling is blocked due to non-empty scheduling gates"
})

const statuses: Readonly<Record<string, (object: JsonObject) => JsonObject>> = {
  pods: (object) => ({
    phase: "Pending",
    ...(arrayAt(object, "spec", "schedulingGates").length === 0 ? {} : { conditions: [gated(object)] }),
    qosClass: qosClass(object)
  }),
  persistentvolumeclaims: () => ({ phase: "Pending" }),
  persistentvolumes: (object) => ({
    phase: "Pending",
    lastPhaseTransitionTime: at(object, "metadata", "creationTimestamp")
  }),
  // A node reports its status when it is created.
  nodes: (object) => objectAt(object, "status"),
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

/** The object with its initial status. */
export const status = (collection: string, object: JsonObject): JsonObject => {
  const initial = statuses[collection]
  return initial === undefined ? object : { ...object, status: initial(object) }
}

/**
 * Guaranteed, Burstable or BestEffort, by the requests and limits of all containers, or by Pod-level resources if the
 * Pod has them, even if they are empty.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/helper/qos/qos.go `ComputePodQOS`.
 */
export const qosClass = (object: unknown): string => {
  const own = at(object, "spec", "resources")
  const containers = own !== undefined
    ? [{ resources: own }]
    : [...arrayAt(object, "spec", "containers"), ...arrayAt(object, "spec", "initContainers")]
  // An amount of 0 counts as none.
  const amount = (entry: unknown, key: string, name: string) => {
    const found = at(entry, "resources", key, name)
    return found === undefined || Quantity.compare(String(found), "0") === 0 ? undefined : found
  }
  const counted = ["cpu", "memory"]
  if (
    containers.every((entry) =>
      counted.every((name) =>
        amount(entry, "requests", name) === undefined && amount(entry, "limits", name) === undefined
      )
    )
  ) return "BestEffort"
  return containers.every((entry) =>
      counted.every((name) => {
        const limit = amount(entry, "limits", name)
        return limit !== undefined && limit === amount(entry, "requests", name)
      })
    )
    ? "Guaranteed"
    : "Burstable"
}
