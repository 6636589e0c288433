/**
 * `PodWarnings`: warnings about a Pod or Pod template that is valid, but probably a mistake.
 *
 * Source: k8s.io/kubernetes/pkg/api/pod/warnings.go.
 */
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as Remembered from "../../api/Remembered.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as AppArmor from "../server/rules/pods/AppArmor.ts"
import * as PodSystemRules from "../server/rules/pods/PodSystemRules.ts"
import * as AddressWarnings from "./AddressWarnings.ts"
import * as ClaimWarnings from "./ClaimWarnings.ts"
import * as NodeLabelWarnings from "./NodeLabelWarnings.ts"
import * as OverlapWarnings from "./OverlapWarnings.ts"
import * as PortWarnings from "./PortWarnings.ts"

type Warnings = NodeLabelWarnings.Warnings

const noSelector = (object: unknown, path: string): Warnings =>
  at(object, "labelSelector") === undefined
    ? [`${path}.labelSelector: a null labelSelector results in matching no pod`]
    : []

const ofPlacement = (spec: unknown, path: string): Warnings => {
  const nodes = `${path}.affinity.nodeAffinity`
  const [required, preferred] = [
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution"
  ]
  return [
    ...Object.keys(objectAt(spec, "nodeSelector")).flatMap((label) =>
      NodeLabelWarnings.ofLabel(label, (message) => `${path}.nodeSelector[${label}]: ${message}`)
    ),
    ...NodeLabelWarnings.ofTerms(
      arrayAt(spec, "affinity", "nodeAffinity", required!, "nodeSelectorTerms"),
      `${nodes}.${required}.nodeSelectorTerms`
    ),
    ...NodeLabelWarnings.ofPreferences(
      arrayAt(spec, "affinity", "nodeAffinity", preferred!),
      `${nodes}.${preferred}`
    ),
    ...arrayAt(spec, "topologySpreadConstraints").flatMap((constraint, index) => {
      const here = `${path}.topologySpreadConstraints[${index}]`
      const key = stringAt(constraint, "topologyKey")
      return [
        ...NodeLabelWarnings.ofLabel(key, (message) => `${here}.topologyKey: ${key} is ${message}`),
        ...noSelector(constraint, here)
      ]
    })
  ]
}

const ofNeighbours = (spec: unknown, path: string): Warnings =>
  ["podAffinity", "podAntiAffinity"].flatMap((affinity) => [
    ...arrayAt(spec, "affinity", affinity, "requiredDuringSchedulingIgnoredDuringExecution").flatMap((term, index) =>
      noSelector(term, `${path}.affinity.${affinity}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`)
    ),
    ...arrayAt(spec, "affinity", affinity, "preferredDuringSchedulingIgnoredDuringExecution").flatMap((term, index) =>
      noSelector(
        at(term, "podAffinityTerm"),
        `${path}.affinity.${affinity}.preferredDuringSchedulingIgnoredDuringExecution[${index}].podAffinityTerm`
      )
    )
  ])

const annotations: ReadonlyArray<readonly [key: string, message: string]> = [
  [
    "scheduler.alpha.kubernetes.io/critical-pod",
    `non-functional in v1.16+; use the "priorityClassName" field instead`
  ],
  ["security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`],
  ["security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`]
]

const ofAnnotations = (metadata: unknown, path: string): Warnings =>
  annotations.filter(([key]) => at(metadata, "annotations", key) !== undefined).map(([key, message]) =>
    `${path}.annotations[${key}]: ${message}`
  )

const oldVolumes: Parameters<typeof ClaimWarnings.ofSource>[2] = [
  ["scaleIO", "1.16", "1.22"],
  ["flocker", "1.22", "1.25"],
  ["storageos", "1.22", "1.25"],
  ["quobyte", "1.22", "1.25"],
  ["glusterfs", "1.25", "1.26"]
]

const ofVolume = (volume: unknown, path: string): Warnings => [
  ...ClaimWarnings.ofSource(volume, path, [["photonPersistentDisk", "1.11", "1.16"]]),
  ...(at(volume, "gitRepo") === undefined
    ? []
    : [`${path}.gitRepo: deprecated in v1.11, and disabled by default in v1.33+`]),
  ...ClaimWarnings.ofSource(volume, path, oldVolumes),
  ...ClaimWarnings.ofClaimSpec(
    at(volume, "ephemeral", "volumeClaimTemplate", "spec"),
    `${path}.ephemeral.volumeClaimTemplate.spec`
  ),
  ...ClaimWarnings.ofSource(volume, path, [["cephfs", "1.28", "1.31"], ["rbd", "1.28", "1.31"]])
]

/** Items with a duplicate field. */
const repeated = (items: ReadonlyArray<unknown>, field: string, path: string): Warnings => {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const value = stringAt(item, field)
    if (seen.has(value)) return [`${path}[${index}].${field}: duplicate ${field} "${value}"`]
    seen.add(value)
    return []
  })
}

const byteAmounts = ["memory", "ephemeral-storage"]

/** Variables that hide an earlier one of the same name. */
const ofVariables = (variables: ReadonlyArray<unknown>, path: string): Warnings => {
  const seen = new Set<string>()
  return variables.flatMap((variable, index) => {
    const name = stringAt(variable, "name")
    const again = seen.has(name)
    seen.add(name)
    const [value, reference] = [stringAt(variable, "value"), `$(${name})`]
    const hides = at(variable, "valueFrom") !== undefined || value === reference || !value.includes(reference)
    return again && hides
      ? [`${path}[${index}]: hides previous definition of "${name}", which may be dropped when using apply`]
      : []
  })
}

const ofAppArmor = (template: unknown, container: unknown, path: string): Warnings => {
  const profile = AppArmor.profileOfPod(template)
  return AppArmor.speaksFor(template, container) &&
      (profile === undefined || !JsonValue.equals(profile, AppArmor.namedFor(template, container) ?? null))
    ? [AppArmor.warning(path, container)]
    : []
}

const ofContainer = (
  [container, path]: PodSystemRules.Placed,
  pod: unknown,
  metadataPath: string,
  ofTemplate: boolean
): Warnings => {
  const metadata = at(pod, "metadata")
  const name = stringAt(container, "name")
  const annotated = (prefix: string, field: string, why: string): Warnings => {
    const key = `${prefix}/${name}`
    const set = at(metadata, "annotations", key) !== undefined && at(container, "securityContext", field) === undefined
    return set ? [`${metadataPath}.annotations[${key}]: ${why}; use the "${field}" field instead`] : []
  }
  return [
    ...annotated("container.seccomp.security.alpha.kubernetes.io", "seccompProfile", "non-functional in v1.27+"),
    // For a Pod, `PodPreparation` warns about it as it was sent.
    ...(ofTemplate ? ofAppArmor(pod, container, metadataPath) : []),
    ...byteAmounts.flatMap((resource) =>
      ["limits", "requests"].flatMap((part) =>
        ClaimWarnings.ofBytes(`${path}.resources.${part}[${resource}]`, at(container, "resources", part, resource))
      )
    ),
    ...ofVariables(arrayAt(container, "env"), `${path}.env`)
  ]
}

const seccomp = "seccomp.security.alpha.kubernetes.io/pod"

const quietPods = Remembered.faultless<string>()
const quietTemplates = Remembered.faultless<string>()

/** Warnings about a Pod, or about the template at a path. */
const of = (pod: unknown, template: string | undefined): Warnings => {
  const spec = at(pod, "spec")
  return typeof spec !== "object" || spec === null || at(pod, "metadata", "annotations") !== undefined
    ? ofAll(pod, template)
    : (template === undefined ? quietPods : quietTemplates)(spec, () => ofAll(pod, template))
}

const ofAll = (pod: unknown, template: string | undefined): Warnings => {
  const within = template === undefined ? "" : `${template}.`
  const [spec, path] = [at(pod, "spec"), `${within}spec`]
  const [metadata, metadataPath] = [at(pod, "metadata"), `${within}metadata`]
  const containers = PodSystemRules.containersOf(spec, path)
  const [volumes, aliases] = [arrayAt(spec, "volumes"), arrayAt(spec, "hostAliases")]
  const pullSecrets = arrayAt(spec, "imagePullSecrets")
  const grace = at(spec, "terminationGracePeriodSeconds")
  return [
    ...ofPlacement(spec, path),
    ...ofAnnotations(metadata, metadataPath),
    ...volumes.flatMap((volume, index) => ofVolume(volume, `${path}.volumes[${index}]`)),
    ...OverlapWarnings.ofVolumes(volumes),
    ...repeated(aliases, "ip", `${path}.hostAliases`),
    ...repeated(pullSecrets, "name", `${path}.imagePullSecrets`),
    ...pullSecrets.flatMap((secret, index) =>
      stringAt(secret, "name") === "" ? [`${path}.imagePullSecrets[${index}].name: invalid empty name ""`] : []
    ),
    ...byteAmounts.flatMap((resource) =>
      ClaimWarnings.ofBytes(`${path}.overhead[${resource}]`, at(spec, "overhead", resource))
    ),
    ...(at(metadata, "annotations", seccomp) !== undefined &&
        at(spec, "securityContext", "seccompProfile") === undefined
      ? [`${metadataPath}.annotations[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`]
      : []),
    ...containers.flatMap((placed) => ofContainer(placed, pod, metadataPath, template !== undefined)),
    ...PortWarnings.ofContainers(containers),
    ...(typeof grace === "number" && grace < 0
      ? [`${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
    ...ofNeighbours(spec, path),
    ...AddressWarnings.ofAddresses(`${path}.dnsConfig.nameservers`, arrayAt(spec, "dnsConfig", "nameservers")),
    ...aliases.flatMap((alias, index) =>
      AddressWarnings.ofAddress(`${path}.hostAliases[${index}].ip`, stringAt(alias, "ip"))
    )
  ]
}

export const ofPod = (pod: unknown): Warnings => of(pod, undefined)

/** Warnings about the Pod template at a path (`spec.template`). */
export const ofTemplate = (template: unknown, path: string): Warnings => of(template, path)
