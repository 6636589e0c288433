/**
 * `PodPreparation`: changes a new Pod before it is validated.
 *
 * Keys in `matchLabelKeys` and the like become requirements of the selectors beside them (not in templates), and an
 * AppArmor profile in an annotation becomes the field of its container.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod/strategy.go (`PrepareForCreate`).
 */
import { arrayAt, at, objectAt } from "../../../../api/Plain.ts"
import * as JsonValue from "../../../../schema/JsonValue.ts"
import { edit, type Filled, map } from "../../defaults/Filling.ts"
import * as AppArmor from "./AppArmor.ts"

type Labels = Readonly<Record<string, unknown>>

const requirements = (term: unknown, field: string, operator: string, labels: Labels) =>
  arrayAt(term, field).map(String).filter((key) => labels[key] !== undefined).map((key) => ({
    key,
    operator,
    values: [labels[key]]
  }))

/** A missing selector matches nothing, so it gets no requirements. */
const narrowed = (labels: Labels) => (term: unknown): unknown => {
  const selector = at(term, "labelSelector")
  if (selector === undefined) return term
  const more = [
    ...requirements(term, "matchLabelKeys", "In", labels),
    ...requirements(term, "mismatchLabelKeys", "NotIn", labels)
  ]
  return more.length === 0 ? term : {
    ...objectAt(term),
    labelSelector: {
      ...objectAt(selector),
      matchExpressions: [...arrayAt(selector, "matchExpressions"), ...more]
    }
  }
}

const required = "requiredDuringSchedulingIgnoredDuringExecution"
const preferred = "preferredDuringSchedulingIgnoredDuringExecution"

const withAffinity = (spec: Filled, labels: Labels): Filled => {
  const term = narrowed(labels)
  const ofKind = (affinity: unknown) =>
    map(
      map(objectAt(affinity), required, term),
      preferred,
      (preference) => edit(objectAt(preference), "podAffinityTerm", term)
    )
  return edit(
    spec,
    "affinity",
    (affinity) => edit(edit(objectAt(affinity), "podAffinity", ofKind), "podAntiAffinity", ofKind)
  )
}

const kinds = ["initContainers", "containers", "ephemeralContainers"]

const withProfiles = (pod: unknown, spec: Filled): Filled =>
  AppArmor.isAnnotated(pod)
    ? kinds.reduce((filled, kind) =>
      map(filled, kind, (container) => {
        const profile = AppArmor.namedFor(pod, container)
        return profile === undefined || JsonValue.equals(profile, AppArmor.profileOfPod(pod) ?? null)
          ? container
          : {
            ...objectAt(container),
            securityContext: { ...objectAt(container, "securityContext"), appArmorProfile: profile }
          }
      }), spec)
    : spec

/** Whether any term has such keys; most do not. */
const namesKeys = (spec: unknown): boolean =>
  [
    ...arrayAt(spec, "topologySpreadConstraints"),
    ...["podAffinity", "podAntiAffinity"].flatMap((kind) => [
      ...arrayAt(spec, "affinity", kind, required),
      ...arrayAt(spec, "affinity", kind, preferred).map((preference) => at(preference, "podAffinityTerm"))
    ])
  ].some((term) => arrayAt(term, "matchLabelKeys").length + arrayAt(term, "mismatchLabelKeys").length > 0)

/** A Pod as it is validated and stored; the same object if nothing changes. */
export const prepareCreate = (pod: JsonValue.JsonObject): JsonValue.JsonObject => {
  const spec = objectAt(pod, "spec")
  const labels = objectAt(pod, "metadata", "labels")
  const narrow = (spec: Filled) => map(withAffinity(spec, labels), "topologySpreadConstraints", narrowed(labels))
  const prepared = withProfiles(pod, namesKeys(spec) ? narrow(spec) : spec)
  return prepared === spec ? pod : { ...pod, spec: prepared as JsonValue.JsonObject }
}

/** Warnings about a Pod as it was sent. */
export const warnings = (pod: unknown): ReadonlyArray<string> =>
  AppArmor.isAnnotated(pod)
    ? kinds.flatMap((kind) => arrayAt(pod, "spec", kind)).filter((container) => {
      if (!AppArmor.speaksFor(pod, container)) return false
      const profile = AppArmor.namedFor(pod, container)
      return profile === undefined || !JsonValue.equals(profile, AppArmor.profileOfPod(pod) ?? null)
    }).map((container) => AppArmor.warning("metadata", container))
    : []
