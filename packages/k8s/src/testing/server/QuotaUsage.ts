/**
 * `QuotaUsage`: what an object uses of a ResourceQuota, and which quotas apply to it.
 *
 * Pods, Services and claims use several resources; objects of all other kinds are counted as `count/PLURAL.GROUP`.
 *
 * Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core, k8s.io/apiserver/pkg/quota/v1/generic.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as PodResources from "./PodResources.ts"
import * as Quantity from "../../api/Quantity.ts"

export type Amounts = PodResources.Amounts

/** How quotas apply to the objects of one collection. */
export interface Evaluator {
  /** Whether the objects can use a resource of this name in a quota. */
  readonly concerns: (name: string) => boolean
  readonly usage: (object: KubeObject, now: number) => Amounts
  /** Whether an object is in a scope. No object is in a scope that does not apply to its kind. */
  readonly inScope: (scope: Scope, object: KubeObject) => boolean
  /** What a quota limits, so that the object must specify it, and does not. */
  readonly unspecified: (names: ReadonlyArray<string>, object: KubeObject) => string | undefined
}

/** A scope of a quota; those in `scopes` have the operator `Exists`. */
export interface Scope {
  readonly name: string
  readonly operator: string
  readonly values: ReadonlyArray<string>
}

/** The scopes of a quota. */
export const scopesOf = (quota: KubeObject): ReadonlyArray<Scope> => [
  ...arrayAt(quota, "spec", "scopes").map((name) => ({ name: String(name), operator: "Exists", values: [] })),
  ...arrayAt(quota, "spec", "scopeSelector", "matchExpressions").map((expression) => ({
    name: stringAt(expression, "scopeName"),
    operator: stringAt(expression, "operator"),
    values: arrayAt(expression, "values").map(String)
  }))
]

const one = "1"
const nothing = (): undefined => undefined
const never = (): boolean => false

/** Counts objects, for some kinds also under their plain name. */
const counter = (collection: string, alias?: string): Evaluator => {
  const names = [`count/${collection}`, ...(alias === undefined ? [] : [alias])]
  const usage = Object.fromEntries(names.map((name) => [name, one]))
  return { concerns: (name) => names.includes(name), usage: () => usage, inScope: never, unspecified: nothing }
}

const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/")

const podNames: ReadonlySet<string> = new Set([
  "count/pods",
  "pods",
  ...["cpu", "memory", "ephemeral-storage"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`])
])

/** Requests and limits by their names in quotas. */
const computed = (requests: Amounts, limits: Amounts): Amounts => {
  const out: Record<string, string> = { pods: one }
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const [request, limit] = [requests[name], limits[name]]
    if (request !== undefined) out[name] = out[`requests.${name}`] = request
    if (limit !== undefined) out[`limits.${name}`] = limit
  }
  for (const [name, request] of Object.entries(requests)) {
    if (name.startsWith("hugepages-")) out[name] = request
    if (name.startsWith("hugepages-") || (!isNative(name) && !name.startsWith("requests."))) {
      out[`requests.${name}`] = request
    }
  }
  return out
}

/** A Pod that has finished, or should have been removed long ago, uses only its count. */
const isOver = (pod: KubeObject, now: number): boolean => {
  const { deletionGracePeriodSeconds, deletionTimestamp } = pod.metadata
  return ["Failed", "Succeeded"].includes(stringAt(pod, "status", "phase")) ||
    (deletionTimestamp !== undefined && deletionGracePeriodSeconds !== undefined &&
      now > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000)
}

/** Whether a Pod is in the scope Terminating, that is, has an active deadline. */
export const isTerminating = (pod: unknown): boolean => {
  const deadline = at(pod, "spec", "activeDeadlineSeconds")
  return typeof deadline === "number" && deadline >= 0
}

const containersOf = (pod: unknown): ReadonlyArray<unknown> => [
  ...arrayAt(pod, "spec", "containers"),
  ...arrayAt(pod, "spec", "initContainers")
]

const isBestEffort = (pod: unknown): boolean =>
  !PodResources.isPodLevelSet(pod) && containersOf(pod).every((container) => {
    const { limits, requests } = PodResources.ofContainer(container)
    return ["cpu", "memory"].every((name) =>
      [requests[name], limits[name]].every((amount) => amount === undefined || Quantity.compare(amount, "0") === 0)
    )
  })

const affinityTerms = (pod: unknown): ReadonlyArray<unknown> =>
  ["podAffinity", "podAntiAffinity"].map((kind) => objectAt(pod, "spec", "affinity", kind)).flatMap((affinity) => [
    ...arrayAt(affinity, "requiredDuringSchedulingIgnoredDuringExecution"),
    ...arrayAt(affinity, "preferredDuringSchedulingIgnoredDuringExecution").map((term) => at(term, "podAffinityTerm"))
  ])

const isSelected = ({ name, operator, values }: Scope, value: string): boolean => {
  const selector = Selector.fromObject({ matchExpressions: [{ key: name, operator, values }] })
  return selector !== undefined && Selector.matchesLabels(selector, value === "" ? {} : { [name]: value })
}

const podScope: Evaluator["inScope"] = (scope, pod) => {
  switch (scope.name) {
    case "Terminating":
      return isTerminating(pod)
    case "NotTerminating":
      return !isTerminating(pod)
    case "BestEffort":
      return isBestEffort(pod)
    case "NotBestEffort":
      return !isBestEffort(pod)
    case "PriorityClass":
      return isSelected(scope, stringAt(pod, "spec", "priorityClassName"))
    case "CrossNamespacePodAffinity":
      return affinityTerms(pod).some((term) =>
        arrayAt(term, "namespaces").length > 0 || at(term, "namespaceSelector") !== undefined
      )
    default:
      return false
  }
}

const required = ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`])

const unspecifiedByPod: Evaluator["unspecified"] = (names, pod) => {
  if (PodResources.isPodLevelSet(pod)) return undefined
  const missing = new Map<string, Set<string>>()
  for (const container of containersOf(pod)) {
    const { limits, requests } = PodResources.ofContainer(container)
    const own = computed(requests, limits)
    for (const name of names.filter((name) => required.includes(name) && own[name] === undefined)) {
      missing.set(name, (missing.get(name) ?? new Set()).add(stringAt(container, "name")))
    }
  }
  return missing.size === 0
    ? undefined
    : `must specify ${[...missing].sort().map(([name, of]) => `${name} for: ${[...of].sort().join(",")}`).join("; ")}`
}

const pods: Evaluator = {
  concerns: (name) =>
    podNames.has(name) || /^(?:requests\.)?hugepages-/.test(name) || (!isNative(name) && name.startsWith("requests.")),
  usage: (pod, now) => ({
    "count/pods": one,
    ...(isOver(pod, now) ? {} : computed(PodResources.requests(pod), PodResources.limits(pod)))
  }),
  inScope: podScope,
  unspecified: unspecifiedByPod
}

const services: Evaluator = {
  ...counter("services"),
  concerns: (name) => ["count/services", "services", "services.nodeports", "services.loadbalancers"].includes(name),
  usage: (service) => {
    const type = stringAt(service, "spec", "type")
    const ports = arrayAt(service, "spec", "ports")
    const balanced = type === "LoadBalancer"
    const allocated = balanced && at(service, "spec", "allocateLoadBalancerNodePorts") === false
      ? ports.filter((port) => at(port, "nodePort") !== undefined)
      : type === "NodePort" || balanced
      ? ports
      : []
    return {
      "count/services": one,
      services: one,
      "services.loadbalancers": balanced ? one : "0",
      "services.nodeports": String(allocated.length)
    }
  }
}

const classSuffix = ".storageclass.storage.k8s.io/"

const claims: Evaluator = {
  ...counter("persistentvolumeclaims"),
  concerns: (name) => {
    const plain = name.slice(name.lastIndexOf(classSuffix) < 0 ? 0 : name.lastIndexOf(classSuffix) + classSuffix.length)
    return name === "count/persistentvolumeclaims" || plain === "persistentvolumeclaims" || plain === "requests.storage"
  },
  usage: (claim) => {
    const ofClass = stringAt(claim, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class") ||
      stringAt(claim, "spec", "storageClassName")
    const sizes = [
      at(claim, "spec", "resources", "requests", "storage"),
      at(claim, "status", "allocatedResources", "storage")
    ]
      .filter((size) => size !== undefined).map(String)
    const size = sizes.length === 0 ? undefined : sizes.reduce((a, b) => Quantity.compare(a, b) < 0 ? b : a)
    const both = (name: string, amount: string): Amounts => ({
      [name]: amount,
      ...(ofClass === "" ? {} : { [`${ofClass}${classSuffix}${name}`]: amount })
    })
    return {
      "count/persistentvolumeclaims": one,
      ...both("persistentvolumeclaims", one),
      ...(size === undefined ? {} : both("requests.storage", size))
    }
  },
  inScope: (scope, claim) =>
    scope.name === "VolumeAttributesClass" && isSelected(scope, stringAt(claim, "spec", "volumeAttributesClassName"))
}

const special: Readonly<Record<string, Evaluator>> = { pods, services, persistentvolumeclaims: claims }

const aliases = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"]

const counters = new Map<string, Evaluator>()

/** The evaluator of a collection. */
export const evaluatorOf = (collection: string): Evaluator => {
  let found = special[collection] ?? counters.get(collection)
  if (found === undefined) {
    found = counter(collection, aliases.includes(collection) ? collection : undefined)
    counters.set(collection, found)
  }
  return found
}

/** The collection that uses a resource of this name in a quota; undefined if the name is unknown. */
export const collectionOf = (name: string): string | undefined =>
  name.startsWith("count/")
    ? name.slice("count/".length)
    : aliases.includes(name)
    ? name
    : Object.entries(special).find(([, { concerns }]) => concerns(name))?.[0]

/** The quantities in a field of an object, by name. */
export const amountsAt = (value: unknown, ...path: ReadonlyArray<string>): Amounts =>
  Object.fromEntries(Object.entries(objectAt(value, ...path)).map(([name, amount]) => [name, String(amount)]))

/** Whether a quota applies to an object. */
export const covers = (evaluator: Evaluator, quota: KubeObject, hard: Amounts, object: KubeObject): boolean =>
  Object.keys(hard).some(evaluator.concerns) && scopesOf(quota).every((scope) => evaluator.inScope(scope, object))
