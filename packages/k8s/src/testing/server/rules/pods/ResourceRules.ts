/**
 * `ResourceRules`: validates names of resources, and requests and limits of containers and Pods.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateResourceRequirements` and
 * pkg/apis/core/helper/helpers.go.
 */
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import type * as JsonValue from "../../../../schema/JsonValue.ts"
import * as Quantity from "../../../../api/Quantity.ts"
import * as PodResources from "../../PodResources.ts"
import { type Faults, invalids, when } from "../Checks.ts"

const ofContainers: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"])

const counted = [
  "pods",
  "services",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers"
]

/** Resources that must be integers. */
const whole: ReadonlySet<string> = new Set(counted)

const standard: ReadonlySet<string> = new Set([
  ...ofContainers,
  ...counted,
  "storage",
  ...["requests", "limits"].flatMap((kind) => [...ofContainers].map((name) => `${kind}.${name}`)),
  "requests.storage"
])

const isHugePages = (name: string): boolean => name.startsWith("hugepages-")

const isStandard = (name: string): boolean =>
  standard.has(name) || isHugePages(name) || name.startsWith("requests.hugepages-")

/** Whether a quota can limit the resource. */
export const isOfQuota = (name: string): boolean => name !== "storage" && isStandard(name)

const isOfContainers = (name: string): boolean => ofContainers.has(name) || isHugePages(name)

/** Whether the resource is Kubernetes' own rather than an extended one. */
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/")

/** Whether the resource cannot be overcommitted, so requests must equal limits. */
export const isFixed = (name: string): boolean => !isNative(name) || isHugePages(name)

const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith("requests.") && Names.labelKey(`requests.${name}`).length === 0

/** Faults of the name of a resource. */
export const name = (path: string, text: string): Faults => {
  const faults = invalids(path, text, Names.labelKey(text))
  return faults.length > 0 || text.includes("/") || isStandard(text)
    ? faults
    : [FieldError.invalid(path, text, "must be a standard resource type or fully qualified")]
}

/** `name` for a resource that a container can have. */
export const containerName = (path: string, text: string): Faults => [
  ...name(path, text),
  ...(!text.includes("/")
    ? when(!isOfContainers(text), FieldError.invalid(path, text, "must be a standard resource for containers"))
    : when(
      !isNative(text) && !isExtended(text),
      FieldError.invalid(path, text, "doesn't follow extended resource name standard")
    ))
]

/** Faults of a quantity of a resource. */
export const amount = (path: string, resource: string, text: unknown): Faults => [
  ...when(
    Quantity.compare(String(text), "0") < 0,
    FieldError.invalid(path, text, "must be greater than or equal to 0")
  ),
  ...when(
    (whole.has(resource) || (resource !== "" && isExtended(resource))) &&
      Quantity.billionths(String(text)) % 1_000_000_000n !== 0n,
    FieldError.invalid(path, text, "must be an integer")
  )
]

/** Faults of the name of a Pod-level resource. */
const ofPods = (path: string, text: string): Faults => {
  const faults = name(path, text)
  return faults.length > 0 || text === "cpu" || text === "memory" || isHugePages(text)
    ? faults
    : [FieldError.notSupported(path, text, ["cpu", "hugepages-", "memory"])]
}

/** Huge pages must be a multiple of their page size. */
const pages = (path: string, key: string, text: string): Faults => {
  if (!isHugePages(key)) return []
  const size = Quantity.billionths(key.slice("hugepages-".length))
  const whole = size > 0n && size % 1_000_000_000n === 0n && Quantity.billionths(text) % size === 0n
  return when(!whole, FieldError.invalid(path, text, `${text} is not positive integer multiple of ${key}`))
}

const amounts = (
  given: JsonValue.JsonObject,
  path: string,
  nameFaults: (path: string, text: string) => Faults
): Faults =>
  Object.entries(given).flatMap(([key, text]) => [
    ...nameFaults(`${path}[${key}]`, key),
    ...amount(`${path}[${key}]`, key, text),
    ...pages(`${path}[${key}]`, key, String(text))
  ])

const requestFaults = (requests: JsonValue.JsonObject, limits: JsonValue.JsonObject, path: string): Faults =>
  Object.entries(requests).flatMap(([key, text]) => {
    const limit = limits[key]
    const fixed = isFixed(key)
    const order = limit === undefined ? 0 : Quantity.compare(String(text), String(limit))
    const refused = (words: string) => [
      FieldError.invalid(`${path}.requests`, text, `must be ${words} ${key} limit of ${String(limit)}`)
    ]
    return limit === undefined
      ? when(fixed, FieldError.required(`${path}.limits`, "Limit must be set for non overcommitable resources"))
      : fixed && order !== 0
      ? refused("equal to")
      : order > 0
      ? refused("less than or equal to")
      : []
  })

const claimFaults = (resources: unknown, path: string, claims: ReadonlyArray<string>): Faults => {
  const seen = new Set<string>()
  return arrayAt(resources, "claims").flatMap((claim, index) => {
    const here = `${path}.claims[${index}]`
    const own = stringAt(claim, "name")
    const request = stringAt(claim, "request")
    if (own === "") return [FieldError.required(here, "")]
    const key = request === "" ? own : `${own}/${request}`
    const repeated = seen.has(own) ? own : seen.has(key) ? key : undefined
    seen.add(key)
    const which = claims.length === 0 ? " which is empty" : `: ${claims.toSorted().join(", ")}`
    return [
      ...(request === "" ? [] : invalids(`${here}.request`, request, Names.dnsLabel(request))),
      ...(repeated === undefined ? [] : [FieldError.duplicate(here, repeated)]),
      ...when(!claims.includes(own), {
        ...FieldError.notFound(here, own),
        detail: `must be one of the names in pod.spec.resourceClaims${which}`
      })
    ]
  })
}

const requirements = (
  resources: unknown,
  path: string,
  nameFaults: (path: string, text: string) => Faults
): Faults => {
  const [limits, requests] = [objectAt(resources, "limits"), objectAt(resources, "requests")]
  const all = [...Object.keys(limits), ...Object.keys(requests)]
  return [
    ...amounts(limits, `${path}.limits`, nameFaults),
    ...amounts(requests, `${path}.requests`, nameFaults),
    ...requestFaults(requests, limits, path),
    ...when(
      all.some(isHugePages) && !all.includes("cpu") && !all.includes("memory"),
      FieldError.forbidden(path, "HugePages require cpu or memory")
    )
  ]
}

/** Faults of the resources of a container. `claims` are those of the Pod. */
export const ofContainer = (resources: unknown, path: string, claims: ReadonlyArray<string>): Faults => [
  ...requirements(resources, path, containerName),
  ...claimFaults(resources, path, claims)
]

/** The requests of all containers together, and the limits of each, must not exceed those of the Pod. */
const shares = (spec: unknown, path: string): Faults => {
  const whole = (key: "requests" | "limits"): JsonValue.JsonObject => objectAt(spec, "resources", key)
  const together = (key: "requests" | "limits", isJudged: (name: string) => boolean): Faults =>
    Object.entries(PodResources.ofContainers({ spec }, key)).flatMap(([name, sum]) => {
      const most = whole(key)[name]
      return most === undefined || !isJudged(name) || Quantity.compare(sum, String(most)) <= 0
        ? []
        : [FieldError.invalid(
          `${path}.${key}[${name}]`,
          most,
          `must be greater than or equal to aggregate container ${key} of ${sum}`
        )]
    })
  const each = arrayAt(spec, "containers").flatMap((container, index) =>
    Object.entries(PodResources.ofContainer(container).limits).flatMap(([name, limit]) => {
      const most = whole("limits")[name]
      return most === undefined || Quantity.compare(limit, String(most)) <= 0
        ? []
        : [FieldError.invalid(
          `${path}.containers[${index}][${name}].limits`,
          limit,
          `must be less than or equal to pod limits of ${String(most)}`
        )]
    })
  )
  // Huge pages cannot be overcommitted, so their limits are added up like requests.
  return [...together("requests", () => true), ...together("limits", isHugePages), ...each]
}

/** Faults of Pod-level resources. */
export const ofPod = (spec: unknown, path: string): Faults => {
  const resources = at(spec, "resources")
  if (resources === undefined) return []
  if (stringAt(spec, "os", "name") === "windows") {
    return [FieldError.forbidden(path, "may not be set for a windows pod")]
  }
  return [
    ...when(
      arrayAt(resources, "claims").length > 0,
      FieldError.forbidden(`${path}.claims`, "claims may not be set for Resources at pod-level")
    ),
    ...requirements(resources, path, ofPods),
    ...shares(spec, path)
  ]
}
