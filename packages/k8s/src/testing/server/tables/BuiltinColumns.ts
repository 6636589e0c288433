/**
 * `BuiltinColumns`: the tables of the built-in kinds that people usually list; other kinds have Name and Created At.
 *
 * Source: k8s.io/kubernetes/pkg/printers/internalversion/printers.go, release 1.35; compared with a kube-apiserver.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import { age, type Column, nameColumn, orNone } from "../../../api/PrinterColumns.ts"
import type { Served } from "../Registry.ts"
import * as ClusterColumns from "./ClusterColumns.ts"
import { ageColumn, created, field, integer, named, number, plain, text, type Value } from "./ColumnParts.ts"
import * as PodColumns from "./PodColumns.ts"

const joined = (values: ReadonlyArray<unknown>, key: string): string =>
  values.map((value) => stringAt(value, key)).join(",")

const pairs = (labels: Readonly<Record<string, unknown>>): string =>
  orNone(Object.keys(labels).sort().map((key) => `${key}=${String(labels[key])}`).join(","))

const selector = (...path: ReadonlyArray<string>): Value => (object) => {
  const own = at(object, ...path) as Selector.LabelSelectorObject | undefined
  return orNone(Selector.formatLabels(Selector.fromObject(own) ?? []))
}

/** Wide columns of everything with a Pod template. */
const containers = (...path: ReadonlyArray<string>): ReadonlyArray<Column> => [
  text("Containers", (object) => joined(arrayAt(object, ...path, "spec", "containers"), "name"), 1),
  text("Images", (object) => joined(arrayAt(object, ...path, "spec", "containers"), "image"), 1)
]

const template = containers("spec", "template")
const specSelector = text("Selector", selector("spec", "selector"), 1)

const fraction = (ready: Value, desired: Value): Value => (object, now) =>
  `${String(ready(object, now))}/${String(desired(object, now))}`

/** How long something took, or has been running. */
const duration = (from: string, to: string, now: number): string =>
  from === "" ? "" : age(from, to === "" ? now : Date.parse(to))

const jobStatus: Value = (job) => {
  const has = (type: string) =>
    arrayAt(job, "status", "conditions").some((entry) =>
      stringAt(entry, "type") === type && stringAt(entry, "status") === "True"
    )
  if (has("Complete")) return "Complete"
  if (has("Failed")) return "Failed"
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating"
  if (has("Suspended")) return "Suspended"
  if (has("FailureTarget")) return "FailureTarget"
  return has("SuccessCriteriaMet") ? "SuccessCriteriaMet" : "Running"
}

const jobCompletions: Value = (job) => {
  const succeeded = Number(at(job, "status", "succeeded") ?? 0)
  const completions = at(job, "spec", "completions")
  if (completions !== undefined) return `${succeeded}/${String(completions)}`
  const parallelism = Number(at(job, "spec", "parallelism") ?? 0)
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

const servicePorts: Value = (service) =>
  orNone(
    arrayAt(service, "spec", "ports").map((port) => {
      const node = at(port, "nodePort")
      return `${String(at(port, "port"))}${typeof node === "number" && node > 0 ? `:${node}` : ""}/${
        stringAt(port, "protocol")
      }`
    }).join(",")
  )

/** The addresses of a load balancer. */
const balancerAddresses = (object: KubeObject): string =>
  [
    ...new Set(
      arrayAt(object, "status", "loadBalancer", "ingress")
        .map((entry) => stringAt(entry, "ip") || stringAt(entry, "hostname"))
        .filter((address) => address !== "")
    )
  ].sort().join(",")

const externalAddress: Value = (service) => {
  const external = arrayAt(service, "spec", "externalIPs").join(",")
  switch (stringAt(service, "spec", "type")) {
    case "ExternalName":
      return stringAt(service, "spec", "externalName")
    case "LoadBalancer":
      return [balancerAddresses(service), external].filter((part) => part !== "").join(",") || "<pending>"
    case "":
      return "<unknown>"
    default:
      return orNone(external)
  }
}

const suspended: Value = (object) => {
  const value = at(object, "spec", "suspend")
  return value === undefined ? "<unset>" : value === true ? "True" : "False"
}

const eventObject = (event: KubeObject): string => {
  const kind = stringAt(event, "involvedObject", "kind") || stringAt(event, "regarding", "kind")
  const name = stringAt(event, "involvedObject", "name") || stringAt(event, "regarding", "name")
  return name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`
}

const either = (...names: ReadonlyArray<string>) => (event: KubeObject): string => {
  for (const name of names) if (stringAt(event, name) !== "") return stringAt(event, name)
  return ""
}

const firstSeen = either("firstTimestamp", "deprecatedFirstTimestamp", "eventTime")

/** When an event was last seen; for one in a series, when the series was last observed. */
const lastSeen = (event: KubeObject): string =>
  at(event, "series") !== undefined
    ? stringAt(event, "series", "lastObservedTime")
    : either("lastTimestamp", "deprecatedLastTimestamp")(event) || firstSeen(event)

const seen = (from: string, now: number): string => from === "" ? "<unknown>" : age(from, now)

const eventCount: Value = (event) =>
  at(event, "series") !== undefined
    ? number("series", "count")(event, 0)
    : Number(at(event, "count") ?? at(event, "deprecatedCount") ?? 0) || 1

const eventSource: Value = (event) => {
  const source = at(event, "source") ?? at(event, "deprecatedSource")
  const component = stringAt(source, "component") || either("reportingComponent", "reportingController")(event)
  const instance = stringAt(source, "host") || stringAt(event, "reportingInstance")
  return instance === "" ? component : `${component}, ${instance}`
}

const events: ReadonlyArray<Column> = [
  text("Last Seen", (event, now) => seen(lastSeen(event), now)),
  text("Type", plain("type")),
  text("Reason", plain("reason")),
  text("Object", eventObject),
  text(
    "Subobject",
    (event) => stringAt(event, "involvedObject", "fieldPath") || stringAt(event, "regarding", "fieldPath"),
    1
  ),
  text("Source", eventSource, 1),
  text("Message", (event) => either("message", "note")(event).trim()),
  text("First Seen", (event, now) => seen(firstSeen(event), now), 1),
  text("Count", eventCount, 1),
  { ...nameColumn, priority: 1 }
]

const nodeStatus: Value = (node) => {
  const ready = arrayAt(node, "status", "conditions").find((entry) => stringAt(entry, "type") === "Ready")
  const base = ready === undefined ? "Unknown" : stringAt(ready, "status") === "True" ? "Ready" : "NotReady"
  return at(node, "spec", "unschedulable") === true ? `${base},SchedulingDisabled` : base
}

/** The prefix of role labels. A role may also be the value of another label. */
const rolePrefix = "node-role.kubernetes.io/"

const roles: Value = (node) =>
  orNone(
    [
      ...new Set(
        Object.entries(node.metadata.labels ?? {}).map(([key, value]) =>
          key.startsWith(rolePrefix) ? key.slice(rolePrefix.length) : key === "kubernetes.io/role" ? value : ""
        ).filter((role) => role !== "")
      )
    ].sort().join(",")
  )

const orUnknown = (...path: ReadonlyArray<string>): Value => (object) => stringAt(object, ...path) || "<unknown>"

const nodeAddress = (type: string): Value => (node) => {
  const found = arrayAt(node, "status", "addresses").find((entry) => stringAt(entry, "type") === type)
  return found === undefined ? "<none>" : stringAt(found, "address")
}

const subjects = (kind: string): Value => (binding) =>
  arrayAt(binding, "subjects").filter((subject) => stringAt(subject, "kind") === kind)
    .map((subject) =>
      kind === "ServiceAccount"
        ? `${stringAt(subject, "namespace")}/${stringAt(subject, "name")}`
        : stringAt(subject, "name")
    ).join(", ")

const binding = named(
  text("Role", (object) => `${stringAt(object, "roleRef", "kind")}/${stringAt(object, "roleRef", "name")}`),
  ageColumn,
  text("Users", subjects("User"), 1),
  text("Groups", subjects("Group"), 1),
  text("ServiceAccounts", subjects("ServiceAccount"), 1)
)

/** Access modes in the order in which they are printed. */
const modes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"]
] as const

const accessModes = (...path: ReadonlyArray<string>) => (object: KubeObject): string => {
  const given = arrayAt(object, ...path)
  return modes.flatMap(([mode, short]) => given.includes(mode) ? [short] : []).join(",")
}

/** The value for a claim that is bound. */
const bound = (value: (claim: KubeObject) => string): Value => (claim) =>
  stringAt(claim, "spec", "volumeName") === "" ? "" : value(claim)

const capacity = (...path: ReadonlyArray<string>) => (object: KubeObject): string =>
  stringAt(object, ...path, "storage")

const phase: Value = (object) =>
  object.metadata.deletionTimestamp === undefined ? stringAt(object, "status", "phase") : "Terminating"

const orNA = (...path: ReadonlyArray<string>): Value => (object) => String(at(object, ...path) ?? "N/A")

const replicated = (name: string): ReadonlyArray<Column> => [
  integer("Desired", number("spec", "replicas")),
  integer("Current", number("status", "replicas")),
  integer("Ready", number("status", "readyReplicas")),
  ageColumn,
  ...template,
  name === "ReplicationController"
    ? text("Selector", (object) => pairs(objectAt(object, "spec", "selector")), 1)
    : specSelector
]

const dataCount = (...keys: ReadonlyArray<string>): Value => (object) =>
  keys.reduce((sum, key) => sum + Object.keys(objectAt(object, key)).length, 0)

/** At most three strings, and how many more there are. */
const several = (items: ReadonlyArray<string>, none: string): string =>
  items.length === 0
    ? none
    : items.length > 3
    ? `${items.slice(0, 3).join(",")} + ${items.length - 3} more...`
    : items.join(",")

const hostPort = (host: string, port: unknown): string => `${host.includes(":") ? `[${host}]` : host}:${String(port)}`

const endpoints: Value = (object) =>
  several(
    arrayAt(object, "subsets").flatMap((subset) => {
      const addresses = arrayAt(subset, "addresses").map((address) => stringAt(address, "ip"))
      const ports = arrayAt(subset, "ports")
      return ports.length === 0
        ? addresses
        : ports.flatMap((port) => addresses.map((address) => hostPort(address, at(port, "port"))))
    }),
    arrayAt(object, "subsets").length === 0 ? "<none>" : ""
  )

const slicePorts: Value = (object) =>
  several(
    arrayAt(object, "ports").map((port) => String(at(port, "port") ?? at(port, "name") ?? "*")),
    "<unset>"
  )

const quota = (chosen: (name: string) => boolean): Value => (object) => {
  const used = objectAt(object, "status", "used")
  return Object.entries(objectAt(object, "status", "hard")).sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, hard]) => (chosen(name) ? [`${name}: ${String(used[name] ?? "0")}/${String(hard)}`] : []))
    .join(", ")
}

const hosts: Value = (ingress) => {
  const rules = arrayAt(ingress, "spec", "rules")
  const named = rules.map((rule) => stringAt(rule, "host"))
  const shown = named.slice(0, 3).filter((host) => host !== "").join(",")
  return shown === "" ? "*" : rules.length > 3 ? `${shown} + ${rules.length - 3} more...` : shown
}

const tables: Readonly<Record<string, ReadonlyArray<Column>>> = {
  pods: PodColumns.columns,
  events,
  namespaces: named(text("Status", plain("status", "phase")), ageColumn),
  configmaps: named(text("Data", dataCount("data", "binaryData")), ageColumn),
  secrets: named(text("Type", plain("type")), text("Data", dataCount("data")), ageColumn),
  serviceaccounts: named(ageColumn),
  endpoints: named(text("Endpoints", endpoints), ageColumn),
  podtemplates: named(
    ...containers("template").map((entry) => ({ ...entry, priority: 0 })),
    text("Pod Labels", (object) => pairs(objectAt(object, "template", "metadata", "labels")))
  ),
  resourcequotas: named(
    text("Request", quota((name) => !name.startsWith("limits."))),
    text("Limit", quota((name) => name.startsWith("limits."))),
    ageColumn
  ),
  services: named(
    text("Type", plain("spec", "type")),
    text("Cluster-IP", field("spec", "clusterIP")),
    text("External-IP", externalAddress),
    text("Port(s)", servicePorts),
    ageColumn,
    text("Selector", (object) => pairs(objectAt(object, "spec", "selector")), 1)
  ),
  nodes: named(
    text("Status", nodeStatus),
    text("Roles", roles),
    ageColumn,
    text("Version", plain("status", "nodeInfo", "kubeletVersion")),
    text("Internal-IP", nodeAddress("InternalIP"), 1),
    text("External-IP", nodeAddress("ExternalIP"), 1),
    text("OS-Image", orUnknown("status", "nodeInfo", "osImage"), 1),
    text("Kernel-Version", orUnknown("status", "nodeInfo", "kernelVersion"), 1),
    text("Container-Runtime", orUnknown("status", "nodeInfo", "containerRuntimeVersion"), 1)
  ),
  persistentvolumeclaims: named(
    text("Status", phase),
    text("Volume", plain("spec", "volumeName")),
    text("Capacity", bound((claim) => capacity("status", "capacity")(claim) || "0")),
    text("Access Modes", bound(accessModes("status", "accessModes"))),
    text("StorageClass", plain("spec", "storageClassName")),
    text("VolumeAttributesClass", (object) => at(object, "spec", "volumeAttributesClassName") ?? "<unset>"),
    ageColumn,
    text("VolumeMode", plain("spec", "volumeMode"), 1)
  ),
  persistentvolumes: named(
    text("Capacity", (object) => capacity("spec", "capacity")(object) || "0"),
    text("Access Modes", accessModes("spec", "accessModes")),
    text("Reclaim Policy", plain("spec", "persistentVolumeReclaimPolicy")),
    text("Status", phase),
    text("Claim", (object) => {
      const claim = at(object, "spec", "claimRef")
      return claim === undefined ? "" : `${stringAt(claim, "namespace")}/${stringAt(claim, "name")}`
    }),
    text("StorageClass", plain("spec", "storageClassName")),
    text("VolumeAttributesClass", (object) => at(object, "spec", "volumeAttributesClassName") ?? "<unset>"),
    text("Reason", plain("status", "reason")),
    ageColumn,
    text("VolumeMode", plain("spec", "volumeMode"), 1)
  ),
  replicationcontrollers: named(...replicated("ReplicationController")),
  "replicasets.apps": named(...replicated("ReplicaSet")),
  "deployments.apps": named(
    text("Ready", fraction(number("status", "readyReplicas"), number("spec", "replicas"))),
    text("Up-to-date", number("status", "updatedReplicas")),
    text("Available", number("status", "availableReplicas")),
    ageColumn,
    ...template,
    text("Selector", (object) => at(object, "spec") === undefined ? "" : selector("spec", "selector")(object, 0), 1)
  ),
  "statefulsets.apps": named(
    text("Ready", fraction(number("status", "readyReplicas"), number("spec", "replicas"))),
    ageColumn,
    ...template
  ),
  "daemonsets.apps": named(
    integer("Desired", number("status", "desiredNumberScheduled")),
    integer("Current", number("status", "currentNumberScheduled")),
    integer("Ready", number("status", "numberReady")),
    integer("Up-to-date", number("status", "updatedNumberScheduled")),
    integer("Available", number("status", "numberAvailable")),
    text("Node Selector", (object) => pairs(objectAt(object, "spec", "template", "spec", "nodeSelector"))),
    ageColumn,
    ...template,
    specSelector
  ),
  "jobs.batch": named(
    text("Status", jobStatus),
    text("Completions", jobCompletions),
    text(
      "Duration",
      (job, now) => duration(stringAt(job, "status", "startTime"), stringAt(job, "status", "completionTime"), now)
    ),
    ageColumn,
    ...template,
    specSelector
  ),
  "cronjobs.batch": named(
    text("Schedule", plain("spec", "schedule")),
    text("Timezone", field("spec", "timeZone")),
    { ...text("Suspend", suspended), type: "boolean" },
    integer("Active", (object) => arrayAt(object, "status", "active").length),
    text("Last Schedule", (object, now) => {
      const last = stringAt(object, "status", "lastScheduleTime")
      return last === "" ? "<none>" : age(last, now)
    }),
    ageColumn,
    ...containers("spec", "jobTemplate", "spec", "template"),
    text("Selector", selector("spec", "jobTemplate", "spec", "selector"), 1)
  ),
  "ingresses.networking.k8s.io": named(
    text("Class", field("spec", "ingressClassName")),
    text("Hosts", hosts),
    text("Address", balancerAddresses),
    text("Ports", (object) => (arrayAt(object, "spec", "tls").length > 0 ? "80, 443" : "80")),
    ageColumn
  ),
  "endpointslices.discovery.k8s.io": named(
    text("AddressType", plain("addressType")),
    text("Ports", slicePorts),
    text("Endpoints", (object) =>
      several(
        arrayAt(object, "endpoints").flatMap((endpoint) => arrayAt(endpoint, "addresses").map(String)),
        "<unset>"
      )),
    ageColumn
  ),
  "leases.coordination.k8s.io": named(text("Holder", plain("spec", "holderIdentity")), ageColumn),
  "poddisruptionbudgets.policy": named(
    text("Min Available", orNA("spec", "minAvailable")),
    text("Max Unavailable", orNA("spec", "maxUnavailable")),
    integer("Allowed Disruptions", number("status", "disruptionsAllowed")),
    ageColumn
  ),
  "networkpolicies.networking.k8s.io": named(text("Pod-Selector", selector("spec", "podSelector")), ageColumn),
  "rolebindings.rbac.authorization.k8s.io": binding,
  "clusterrolebindings.rbac.authorization.k8s.io": binding,
  "controllerrevisions.apps": named(
    text("Controller", (object) => {
      const owner = object.metadata.ownerReferences?.find((reference) => reference.controller === true)
      if (owner === undefined) return "<none>"
      const [group, version] = owner.apiVersion.split("/")
      return `${owner.kind}${version === undefined ? "" : `.${group}`}`.toLowerCase() + `/${owner.name}`
    }),
    text("Revision", (object) => at(object, "revision") ?? 0),
    ageColumn
  ),
  "horizontalpodautoscalers.autoscaling": named(
    text(
      "Reference",
      (object) =>
        `${stringAt(object, "spec", "scaleTargetRef", "kind")}/${stringAt(object, "spec", "scaleTargetRef", "name")}`
    ),
    text("Targets", (object) => targets(object) || "<none>"),
    text("MinPods", (object) => String(at(object, "spec", "minReplicas") ?? "<unset>")),
    text("MaxPods", number("spec", "maxReplicas")),
    text("Replicas", number("status", "currentReplicas")),
    ageColumn
  )
}

const mostTargets = 2

const percent = (value: unknown, otherwise: string): string => value === undefined ? otherwise : `${String(value)}%`

/** One metric as `current/target`, both from the field that the target sets. */
const target = (kind: string, source: unknown, current: unknown): string => {
  const wanted = at(source, "target")
  const average = at(wanted, "averageValue")
  const amount = (field: string): string =>
    `${String(current === undefined ? "<unknown>" : at(current, field) ?? "0")}/${String(at(wanted, field) ?? "0")}`
  switch (kind) {
    case "resource":
    case "containerResource": {
      const [now, then] = [at(current, "averageUtilization"), at(wanted, "averageUtilization")]
      return `${stringAt(source, "name")}: ${
        average !== undefined ? amount("averageValue") : `${percent(now, "<unknown>")}/${percent(then, "<auto>")}`
      }`
    }
    case "pods":
      return amount("averageValue")
    default:
      return average === undefined
        ? amount("value")
        : `${String(at(current, "averageValue") ?? "<unknown>")}/${String(average)} (avg)`
  }
}

/** The first metrics as `current/target`, those of resources with their names, and how many more there are. */
const targets = (autoscaler: KubeObject): string => {
  const statuses = arrayAt(autoscaler, "status", "currentMetrics")
  const own = arrayAt(autoscaler, "spec", "metrics").map((metric, index) => {
    const [kind = "", source] = Object.entries(objectAt(metric)).find(([, value]) => typeof value === "object") ?? []
    return target(kind, source, at(statuses[index], kind, "current"))
  })
  const cpu = at(autoscaler, "spec", "targetCPUUtilizationPercentage")
  const processor = at(autoscaler, "status", "currentCPUUtilizationPercentage")
  const all = [
    ...own,
    ...(cpu === undefined
      ? []
      : [`cpu: ${processor === undefined ? "<unknown>" : `${String(processor)}%`}/${String(cpu)}%`])
  ]
  const told = all.slice(0, mostTargets).join(", ")
  return all.length > mostTargets ? `${told} + ${all.length - mostTargets} more...` : told
}

/** The columns of a kind without its own. Such a table starts without a list of rows. */
export const unprinted = named(created)

/** The columns of a kind; Name and Created At if it has none of its own. */
export const columnsOf = ({ collection }: Served): ReadonlyArray<Column> =>
  tables[collection] ?? ClusterColumns.tables[collection] ?? unprinted
