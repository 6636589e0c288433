/**
 * `LimitRanger`: gives containers the default requests and limits in the LimitRanges of their namespace, and refuses
 * Pods and claims that violate these.
 *
 * Source: k8s.io/kubernetes/plugin/pkg/admission/limitranger/admission.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as Admission from "../Admission.ts"
import * as PodResources from "../server/PodResources.ts"
import * as Quantity from "../../api/Quantity.ts"

type Amounts = PodResources.Amounts

const annotation = "kubernetes.io/limit-ranger"

const limitsOf = (range: KubeObject): ReadonlyArray<unknown> => arrayAt(range, "spec", "limits")

const entries = (limit: unknown, key: string): ReadonlyArray<readonly [name: string, amount: string]> =>
  Object.entries(objectAt(limit, key)).map(([name, amount]) => [name, String(amount)] as const).sort(([a], [b]) =>
    a < b ? -1 : 1
  )

/** The default requests and limits of containers. */
const defaultsOf = (range: KubeObject): { readonly requests: Amounts; readonly limits: Amounts } => {
  const containers = limitsOf(range).filter((limit) => stringAt(limit, "type") === "Container")
  const all = (key: string) => Object.fromEntries(containers.flatMap((limit) => entries(limit, key)))
  return { requests: all("defaultRequest"), limits: all("default") }
}

const missing = (own: Amounts, defaults: Amounts): Amounts =>
  Object.fromEntries(Object.entries(defaults).filter(([name]) => !(name in own)))

/** A container with its defaults, and the text of the annotation about them. */
const completed = (
  container: unknown,
  defaults: ReturnType<typeof defaultsOf>,
  what: string
): readonly [container: unknown, said: ReadonlyArray<string>] => {
  const own = PodResources.ofContainer(container)
  const [limits, requests] = [missing(own.limits, defaults.limits), missing(own.requests, defaults.requests)]
  const said = (added: Amounts, key: string) =>
    Object.keys(added).length === 0
      ? []
      : [`${Object.keys(added).sort().join(", ")} ${key} for ${what} ${stringAt(container, "name")}`]
  const texts = [...said(requests, "request"), ...said(limits, "limit")]
  if (texts.length === 0) return [container, texts]
  const amounts = { limits: { ...own.limits, ...limits }, requests: { ...own.requests, ...requests } }
  const given = Object.fromEntries(Object.entries(amounts).filter(([, all]) => Object.keys(all).length > 0))
  return [{ ...objectAt(container), resources: { ...objectAt(container, "resources"), ...given } }, texts]
}

const withDefaults = (pod: KubeObject, range: KubeObject): KubeObject => {
  const defaults = defaultsOf(range)
  const spec = objectAt(pod, "spec")
  const containers = arrayAt(spec, "containers").map((entry) => completed(entry, defaults, "container"))
  const initial = arrayAt(spec, "initContainers").map((entry) => completed(entry, defaults, "init container"))
  const said = [...containers, ...initial].flatMap(([, texts]) => texts)
  if (said.length === 0) return pod
  const text = `LimitRanger plugin set: ${said.join("; ")}`
  return asObject({
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [annotation]: text } },
    spec: {
      ...spec,
      containers: containers.map(([container]) => container),
      ...(initial.length === 0 ? {} : { initContainers: initial.map(([container]) => container) })
    }
  })
}

type Check = (type: string, name: string, enforced: string, requests: Amounts, limits: Amounts) => string | undefined

const usage = (bound: string, type: string, name: string, enforced: string, rest: string): string =>
  `${bound} ${name} usage per ${type} is ${enforced}${rest}`

const atLeast: Check = (type, name, enforced, requests, limits) => {
  const [request, limit] = [requests[name], limits[name]]
  const told = (rest: string) => usage("minimum", type, name, enforced, rest)
  if (request === undefined) return told(".  No request is specified")
  if (Quantity.compare(request, enforced) < 0) return told(`, but request is ${request}`)
  return limit !== undefined && Quantity.compare(limit, enforced) < 0 ? told(`, but limit is ${limit}`) : undefined
}

const atMost: Check = (type, name, enforced, requests, limits) => {
  const [request, limit] = [requests[name], limits[name]]
  const told = (rest: string) => usage("maximum", type, name, enforced, rest)
  if (limit === undefined) return told(".  No limit is specified")
  if (Quantity.compare(limit, enforced) > 0) return told(`, but limit is ${limit}`)
  return request !== undefined && Quantity.compare(request, enforced) > 0
    ? told(`, but request is ${request}`)
    : undefined
}

const requestAtMost: Check = (type, name, enforced, requests) => {
  const request = requests[name]
  const told = (rest: string) => usage("maximum", type, name, enforced, rest)
  if (request === undefined) return told(".  No request is specified")
  return Quantity.compare(request, enforced) > 0 ? told(`, but request is ${request}`) : undefined
}

const ratio: Check = (type, name, enforced, requests, limits) => {
  const [request, limit] = [Quantity.billionths(requests[name] ?? "0"), Quantity.billionths(limits[name] ?? "0")]
  const head = `${name} max limit to request ratio per ${type} is ${enforced}, but`
  if (request === 0n) return `${head} no request is specified or request is 0`
  if (limit === 0n) return `${head} no limit is specified or limit is 0`
  const observed = Number(limit) / Number(request)
  return observed * 1000 > Number(Quantity.billionths(enforced)) / 1_000_000
    ? `${head} provided ratio is ${observed.toFixed(6)}`
    : undefined
}

interface Limited {
  readonly requests: Amounts
  readonly limits: Amounts
}

const faultsOf = (
  limit: unknown,
  subject: Limited,
  checks: Readonly<Record<string, Check>>
): ReadonlyArray<string> =>
  Object.entries(checks).flatMap(([key, check]) =>
    entries(limit, key).flatMap(([name, enforced]) =>
      check(stringAt(limit, "type"), name, enforced, subject.requests, subject.limits) ?? []
    )
  )

const podChecks = { min: atLeast, max: atMost, maxLimitRequestRatio: ratio }
const claimChecks = { min: atLeast, max: requestAtMost }

const faults = (range: KubeObject, kind: string, object: KubeObject): ReadonlyArray<string> =>
  limitsOf(range).flatMap((limit) => {
    const type = stringAt(limit, "type")
    if (kind === "PersistentVolumeClaim") {
      const requests = PodResources.ofContainer(at(object, "spec")).requests
      return type === kind ? faultsOf(limit, { requests, limits: {} }, claimChecks) : []
    }
    const containers = [...arrayAt(object, "spec", "containers"), ...arrayAt(object, "spec", "initContainers")]
    const subjects: ReadonlyArray<Limited> = type === "Container"
      ? containers.map(PodResources.ofContainer)
      : type === "Pod"
      ? [{ requests: PodResources.requests(object), limits: PodResources.limits(object) }]
      : []
    return subjects.flatMap((subject) => faultsOf(limit, subject, podChecks))
  })

const concerns = ({ oldObject, operation, resource, subresource }: Admission.Attributes): boolean =>
  oldObject?.metadata.deletionTimestamp === undefined && (
    resource.collection === "pods"
      ? (subresource === "" && operation === "CREATE") || (subresource === "resize" && operation === "UPDATE")
      : resource.collection === "persistentvolumeclaims" && subresource === "" &&
        (operation === "CREATE" || operation === "UPDATE")
  )

export const plugin = ({ storage }: Admission.Server): Admission.Plugin => {
  const ranges = (namespace: string): ReadonlyArray<KubeObject> => {
    const { get, keys } = storage.list("limitranges", namespace)
    return keys.map(get)
  }
  return {
    name: "LimitRanger",
    handles: (attributes) => concerns(attributes) && storage.count("limitranges", attributes.namespace) > 0,
    mutate: ({ kind, namespace }, object) =>
      Effect.succeed(kind.kind === "Pod" ? ranges(namespace).reduce(withDefaults, object) : object),
    validate: (attributes) => {
      for (const range of ranges(attributes.namespace)) {
        const found = faults(range, attributes.kind.kind, attributes.object!)
        if (found.length > 0) return Effect.fail(Admission.forbidden(attributes, FieldError.aggregateTexts(found)))
      }
      return Effect.void
    }
  }
}
