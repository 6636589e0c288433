/**
 * `ClusterDefaults`: defaults of kinds for networks, storage, nodes and the like (see `Defaults`).
 *
 * Source: k8s.io/kubernetes/pkg/apis/GROUP/VERSION/defaults.go; compared with a kube-apiserver.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as AutoscalerConversion from "../AutoscalerConversion.ts"
import { edit, fill, type Filled, map } from "./Filling.ts"
import * as VolumeDefaults from "./VolumeDefaults.ts"

type Default = (object: Filled) => Filled

const tcp = (port: unknown): Filled => fill(port, { protocol: "TCP" })

const rules = (spec: Filled, key: string): Filled => map(spec, key, (rule) => map(objectAt(rule), "ports", tcp))

const networkPolicy = (value: unknown): Filled => {
  const spec = rules(rules(objectAt(value), "ingress"), "egress")
  const types = arrayAt(spec, "egress").length > 0 ? ["Ingress", "Egress"] : ["Ingress"]
  return fill(spec, { policyTypes: types })
}

/** `podCIDR` and `podCIDRs` are made consistent: `podCIDR` takes precedence. `allocatable` defaults to `capacity`. */
const node: Default = (object) => {
  const network = stringAt(object, "spec", "podCIDR")
  const all = arrayAt(object, "spec", "podCIDRs")
  const podCIDRs = network !== "" && network !== all[0] ? [network] : all
  const filled = podCIDRs.length === 0
    ? object
    : edit(object, "spec", (spec) => ({ ...objectAt(spec), podCIDR: podCIDRs[0], podCIDRs }))
  return edit(filled, "status", (status) => fill(status, { allocatable: at(status, "capacity") }))
}

const labelsOf = (template: unknown): Filled | undefined => {
  const labels = objectAt(template, "metadata", "labels")
  return Object.keys(labels).length === 0 ? undefined : labels
}

/** Selector and labels default to the labels of the template. */
const replicationController: Default = (object) => {
  const labels = labelsOf(at(object, "spec", "template"))
  const own = objectAt(object, "metadata", "labels")
  const named = Object.keys(own).length > 0 || labels === undefined
    ? object
    : edit(object, "metadata", (metadata) => ({ ...objectAt(metadata), labels }))
  return edit(named, "spec", (spec) => fill(spec, { selector: labels }))
}

/** Whether a Service is reachable from outside the cluster. */
const isExternal = (spec: Filled): boolean =>
  ["NodePort", "LoadBalancer"].includes(stringAt(spec, "type")) || arrayAt(spec, "externalIPs").length > 0

/** Defaults of a Service that depend on its type, which is set by now. */
export const service = (spec: Filled): Filled => {
  const external = stringAt(spec, "type") === "ExternalName"
  return fill(spec, {
    internalTrafficPolicy: external ? undefined : "Cluster",
    externalTrafficPolicy: !external && isExternal(spec) ? "Cluster" : undefined,
    allocateLoadBalancerNodePorts: stringAt(spec, "type") === "LoadBalancer" ? true : undefined
  })
}

const utilization = [{
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } }
}]

const percent = { type: "Percent", value: 100, periodSeconds: 15 }
const scaleUp = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, percent]
}
const scaleDown = { selectPolicy: "Max", policies: [percent] }

/** A behavior that sets any field gets defaults for the others. */
const behavior = (value: unknown): Filled => ({
  scaleUp: fill(at(value, "scaleUp"), scaleUp),
  scaleDown: fill(at(value, "scaleDown"), scaleDown)
})

/** Without metrics, the target is 80 % CPU utilization. */
const autoscaler: Default = (object) => {
  const spec = fill(object["spec"], { minReplicas: 1 })
  if (stringAt(object, "apiVersion") !== "autoscaling/v1") {
    const filled = fill(spec, { metrics: utilization })
    const said = filled["behavior"]
    return { ...object, spec: said === undefined ? filled : { ...filled, behavior: behavior(said) } }
  }
  const others = AutoscalerConversion.otherMetrics(object)
  return { ...object, spec: others === undefined ? fill(spec, { targetCPUUtilizationPercentage: 80 }) : spec }
}

const priorityLevel: Default = (object) =>
  edit(
    edit(object, "spec", (spec) =>
      edit(objectAt(spec), "exempt", (exempt) =>
        fill(exempt, { nominalConcurrencyShares: 0, lendablePercent: 0 }))),
    "spec",
    (spec) =>
      edit(objectAt(spec), "limited", (limited) =>
        edit(fill(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 }), "limitResponse", (response) =>
          edit(objectAt(response), "queuing", (queuing) =>
            fill(queuing, { queues: 64, handSize: 8, queueLengthLimit: 50 }))))
  )

const inSpec = (f: (spec: unknown) => Filled): Default => (object) => ({ ...object, spec: f(object["spec"]) })

/** Defaults by group and kind. */
export const byKind: Readonly<Record<string, Default>> = {
  "/Node": node,
  "/Endpoints": (object) => map(object, "subsets", (subset) => map(objectAt(subset), "ports", tcp)),
  "/PersistentVolume": inSpec(VolumeDefaults.persistentVolume),
  "discovery.k8s.io/EndpointSlice": (object) =>
    map(object, "ports", (port) => fill(port, { name: "", protocol: "TCP" })),
  "networking.k8s.io/NetworkPolicy": inSpec(networkPolicy),
  "networking.k8s.io/IngressClass": (object) =>
    edit(
      object,
      "spec",
      (spec) => edit(objectAt(spec), "parameters", (parameters) => fill(parameters, { scope: "Cluster" }))
    ),
  "storage.k8s.io/StorageClass": (object) => fill(object, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
  "storage.k8s.io/CSIDriver": inSpec((spec) =>
    fill(spec, {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: "ReadWriteOnceWithFSType",
      volumeLifecycleModes: ["Persistent"],
      requiresRepublish: false,
      seLinuxMount: false
    })
  ),
  "scheduling.k8s.io/PriorityClass": (object) => fill(object, { preemptionPolicy: "PreemptLowerPriority" }),
  "autoscaling/HorizontalPodAutoscaler": autoscaler,
  "flowcontrol.apiserver.k8s.io/FlowSchema": inSpec((spec) => fill(spec, { matchingPrecedence: 1000 })),
  "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration": priorityLevel
}

/** The defaults of a ReplicationController, whose template has its defaults already. */
export const controller = replicationController
