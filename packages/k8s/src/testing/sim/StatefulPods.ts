/**
 * `StatefulPods`: the identity of a StatefulSet's Pods: names, labels, volumes, revisions. Pure.
 *
 * Source: k8s.io/kubernetes/pkg/controller/statefulset/stateful_set_utils.go.
 */
import type { PartialObjectMeta } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import type { StatefulSet } from "../../kinds/apps.v1.ts"
import type { PersistentVolumeClaim, Pod, PodTemplateSpec } from "../../kinds/core.v1.ts"
import { scaled } from "./Numbers.ts"
import * as PodControl from "./PodControl.ts"
import * as PodFacts from "./PodFacts.ts"

export const label = {
  podName: "statefulset.kubernetes.io/pod-name",
  podIndex: "apps.kubernetes.io/pod-index",
  revision: "controller-revision-hash",
  /** On ControllerRevisions. */
  hash: "controller.kubernetes.io/hash"
} as const

/** The first ordinal of the set. */
export const startOf = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0

/** The set and the ordinal in a Pod's name. */
const parse = (name: string): { readonly parent: string; readonly ordinal: number } => {
  const match = /^(.*)-([0-9]+)$/s.exec(name)
  const ordinal = match === null ? -1 : Number(match[2])
  return { parent: match?.[1] ?? "", ordinal: ordinal > 0x7fff_ffff ? -1 : ordinal }
}

export const ordinalOf = (pod: { readonly metadata: PartialObjectMeta }): number =>
  parse(pod.metadata.name ?? "").ordinal

/** Whether the Pod's name is one that the set would generate. */
export const isMember = (set: StatefulSet, pod: Pod): boolean => parse(pod.metadata.name).parent === set.metadata.name

/** Whether the set has a replica with this ordinal. */
export const isWanted = (set: StatefulSet, ordinal: number): boolean =>
  ordinal >= startOf(set) && ordinal < startOf(set) + (set.spec.replicas ?? 1)

/** The claims of a Pod, by volume name. */
export const claimsOf = (
  set: StatefulSet,
  ordinal: number
): ReadonlyArray<{ readonly volume: string; readonly claim: Resource.Input<PersistentVolumeClaim> & Named }> =>
  (set.spec.volumeClaimTemplates ?? []).map((template) => {
    const volume = template.metadata.name ?? ""
    const labels = { ...template.metadata.labels, ...set.spec.selector.matchLabels }
    const { status: _, ...rest } = template
    const metadata = {
      ...template.metadata,
      namespace: set.metadata.namespace,
      name: `${volume}-${set.metadata.name}-${ordinal}`,
      labels
    }
    return { volume, claim: { ...rest, metadata } }
  })

interface Named {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

/** The volumes of a Pod, with those of its claims. */
const withClaims = (set: StatefulSet, ordinal: number, spec: Pod["spec"]): Pod["spec"] => {
  const claims = claimsOf(set, ordinal)
  if (claims.length === 0) return spec
  const names = new Set(claims.map(({ volume }) => volume))
  const volumes = claims.map(({ claim, volume }) => ({
    name: volume,
    persistentVolumeClaim: { claimName: claim.metadata.name }
  }))
  return { ...spec, volumes: [...volumes, ...(spec.volumes ?? []).filter(({ name }) => !names.has(name))] }
}

/** The identity labels of an ordinal. */
const identity = (set: StatefulSet, ordinal: number): Readonly<Record<string, string>> => ({
  [label.podName]: `${set.metadata.name}-${ordinal}`,
  [label.podIndex]: String(ordinal)
})

/** A Pod of the set, with a template and the name of its revision. */
export const make = (
  set: StatefulSet,
  template: PodTemplateSpec,
  revision: string,
  ordinal: number
): Resource.Input<Pod> => {
  const name = `${set.metadata.name}-${ordinal}`
  const labels = { ...template.metadata?.labels, ...identity(set, ordinal), [label.revision]: revision }
  const pod = PodControl.fromTemplate(set, template, { name, labels })
  const { serviceName = "" } = set.spec
  const spec = { ...pod.spec, hostname: name, ...(serviceName === "" ? {} : { subdomain: serviceName }) }
  return { ...pod, spec: withClaims(set, ordinal, spec) }
}

/** The Pod with its correct identity; the same value if it has that already. */
export const identified = (set: StatefulSet, pod: Pod): Pod => {
  const ordinal = ordinalOf(pod)
  const claims = claimsOf(set, ordinal)
  const named = pod.metadata.labels?.[label.podName] === pod.metadata.name
  const stored = claims.every(({ claim, volume }) =>
    pod.spec.volumes?.find(({ name }) => name === volume)?.persistentVolumeClaim?.claimName === claim.metadata.name
  )
  if (named && stored) return pod
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, ...identity(set, ordinal) } },
    spec: stored ? pod.spec : withClaims(set, ordinal, pod.spec)
  }
}

/** The revision from which the Pod was created. */
export const revisionOf = (pod: Pod): string => pod.metadata.labels?.[label.revision] ?? ""

/** Whether a new Pod with this ordinal is created from the current revision rather than the update revision. */
export const keepsCurrent = (set: StatefulSet, ordinal: number): boolean => {
  const { rollingUpdate, type = "RollingUpdate" } = set.spec.updateStrategy ?? {}
  const below = rollingUpdate === undefined
    ? type === "RollingUpdate" ? set.status?.currentReplicas ?? 0 : 0
    : rollingUpdate.partition ?? 0
  return ordinal < startOf(set) + below
}

/** The number of Pods that may be unavailable at once during an update. */
export const maxUnavailable = ({ spec }: StatefulSet): number => {
  const value = spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1
  return Math.max(1, scaled(value, spec.replicas ?? 1, "down"))
}

/** Ready for long enough, and not being deleted. */
export const isAvailable = (set: StatefulSet, pod: Pod, now: number): boolean =>
  pod.metadata.deletionTimestamp === undefined && PodFacts.isAvailable(pod, set.spec.minReadySeconds ?? 0, now)

export const isRunningAndReady = (pod: Pod): boolean => pod.status?.phase === "Running" && PodFacts.isReady(pod)
