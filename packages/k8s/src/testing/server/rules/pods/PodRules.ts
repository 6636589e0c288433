/**
 * `PodRules`: validates Pods and their updates, and determines their grace period.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, pkg/registry/core/pod/strategy.go.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as Remembered from "../../../../api/Remembered.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import * as JsonValue from "../../../../schema/JsonValue.ts"
import type { Strategy } from "../../Strategy.ts"
import { omit } from "../Immutability.ts"
import * as ContainerRules from "./ContainerRules.ts"
import * as PodAnnotations from "./PodAnnotations.ts"
import * as PodSpecRules from "./PodSpecRules.ts"

const maxInt32 = 2_147_483_647

const withoutImages = (containers: unknown): unknown =>
  Array.isArray(containers)
    ? containers.map((container) => JsonValue.isObject(container) ? omit(container, "image") : container)
    : containers

const otherwise = "pod updates may not change fields other than `spec.containers[*].image`," +
  "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing " +
  "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

const isGated = (pod: unknown): boolean => arrayAt(pod, "spec", "schedulingGates").length > 0

/** A negative grace period, which old Pods may have, can be changed to 1 second, which it means. */
const periodOf = (spec: JsonValue.JsonObject, previous: JsonValue.JsonObject): unknown => {
  const [after, before] = [spec, previous].map((each) => each["terminationGracePeriodSeconds"])
  return typeof before === "number" && before < 0 && after === 1 ? before : after
}

/** An affinity without its node affinity; null if nothing else is left. */
const withoutNodeAffinity = (affinity: unknown): unknown => {
  const rest = omit(objectAt(affinity), "nodeAffinity")
  return Object.keys(rest).length === 0 ? null : rest
}

/** Everything in a Pod's spec that this update cannot change. */
const fixed = (next: unknown, previous: unknown, gated: boolean): unknown => {
  const spec = objectAt(next, "spec")
  return {
    ...omit(spec, "activeDeadlineSeconds", "tolerations", "schedulingGates", ...(gated ? ["nodeSelector"] : [])),
    terminationGracePeriodSeconds: periodOf(spec, objectAt(previous, "spec")),
    containers: withoutImages(spec["containers"]),
    initContainers: withoutImages(spec["initContainers"]),
    ...(gated ? { affinity: withoutNodeAffinity(spec["affinity"]) } : {})
  }
}

const fixedFaults: Strategy["validateUpdate"] = (next, previous) =>
  JsonValue.equals(fixed(next, previous, isGated(previous)), fixed(previous, previous, isGated(previous)))
    ? []
    : [FieldError.forbidden("spec", otherwise)]

/** Scheduling gates can only be removed. */
const gateFaults: Strategy["validateUpdate"] = (next, previous) => {
  const before = new Set(arrayAt(previous, "spec", "schedulingGates").map((gate) => stringAt(gate, "name")))
  return arrayAt(next, "spec", "schedulingGates").flatMap((gate, index) => {
    const name = stringAt(gate, "name")
    return before.has(name) ? [] : [FieldError.forbidden(
      `spec.schedulingGates[${index}].name`,
      `only deletion is allowed, but found new scheduling gate '${name}'`
    )]
  })
}

/** The node selector of a gated Pod can only become narrower, by additional labels. */
const nodeSelectorFaults: Strategy["validateUpdate"] = (next, previous) => {
  const [after, before] = [next, previous].map((pod) => objectAt(pod, "spec", "nodeSelector")) as [
    JsonValue.JsonObject,
    JsonValue.JsonObject
  ]
  return Object.entries(before).every(([key, value]) => after[key] === value) ? [] : [FieldError.invalid(
    "spec.nodeSelector",
    after,
    "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
  )]
}

const hasOnlyAdditions = (after: unknown, before: unknown): boolean => {
  const [afterTerm, beforeTerm] = [objectAt(after), objectAt(before)]
  const parts = ["matchExpressions", "matchFields"]
  // An empty term matches nothing, so additions would make it match more.
  if (parts.every((part) => arrayAt(beforeTerm, part).length === 0)) {
    return parts.every((part) => arrayAt(afterTerm, part).length === 0)
  }
  return parts.every((part) =>
    arrayAt(beforeTerm, part).every((requirement, index) =>
      JsonValue.equals(requirement, arrayAt(afterTerm, part)[index])
    )
  )
}

/**
 * The node affinity of a gated Pod can only become narrower: the number of terms is fixed, and each can get additional
 * requirements.
 */
const nodeAffinityFaults: Strategy["validateUpdate"] = (next, previous) => {
  const keys = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"]
  const path = ["spec", ...keys].join(".")
  const [after, before] = [next, previous].map((pod) => arrayAt(pod, "spec", ...keys)) as [
    ReadonlyArray<unknown>,
    ReadonlyArray<unknown>
  ]
  if (before.length > 0 && before.length !== after.length) {
    return [
      FieldError.invalid(path, after, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
    ]
  }
  return before.flatMap((term, index) =>
    hasOnlyAdditions(after[index], term)
      ? []
      : [FieldError.invalid(
        `${path}[${index}]`,
        after[index],
        "only additions are allowed (no mutations or deletions)"
      )]
  )
}

/** A deadline can be set and shortened. `last` ends the validation. */
const deadlineFaults = (next: unknown, previous: unknown) => {
  const path = "spec.activeDeadlineSeconds"
  const [after, before] = [next, previous].map((pod) => at(pod, "spec", "activeDeadlineSeconds"))
  const refused = (detail: string, last: boolean) => ({
    faults: [FieldError.invalid(path, typeof after === "number" ? after : null, detail)],
    last
  })
  if (typeof after !== "number") {
    return typeof before === "number"
      ? refused("must not update from a positive integer to nil value", false)
      : { faults: [], last: false }
  }
  if (after < 0 || after > maxInt32) return refused(`must be between 0 and ${maxInt32}, inclusive`, true)
  return typeof before === "number" && after > before
    ? refused("must be less than or equal to previous value", true)
    : { faults: [], last: false }
}

/** Tolerations can be added, and existing ones can change only their seconds. */
const tolerationFaults: Strategy["validateUpdate"] = (next, previous) => {
  const bare = (toleration: unknown) => omit(objectAt(toleration), "tolerationSeconds")
  const after = arrayAt(next, "spec", "tolerations").map(bare)
  return arrayAt(previous, "spec", "tolerations").every((old) =>
      after.some((toleration) => JsonValue.equals(toleration, bare(old)))
    )
    ? []
    : [FieldError.forbidden(
      "spec.tolerations",
      "existing toleration can not be modified except its tolerationSeconds"
    )]
}

/** Faults of an update. */
export const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const added = ["containers", "initContainers"].find((key) =>
    arrayAt(next, "spec", key).length !== arrayAt(previous, "spec", key).length
  )
  const annotations = PodAnnotations.updateFaults(next, previous)
  // With a different number of containers, nothing else is validated.
  if (added !== undefined) {
    return [...annotations, FieldError.forbidden(`spec.${added}`, "pod updates may not add or remove containers")]
  }
  const deadline = deadlineFaults(next, previous)
  if (deadline.last) return [...annotations, ...deadline.faults]
  return [
    ...annotations,
    ...deadline.faults,
    ...tolerationFaults(next, previous),
    ...gateFaults(next, previous),
    ...(isGated(previous) ? [...nodeSelectorFaults(next, previous), ...nodeAffinityFaults(next, previous)] : []),
    ...fixedFaults(next, previous)
  ]
}

/** The grace period in seconds: the requested one, or else that of the Pod; 0 if it has no node or is finished. */
export const gracePeriod: NonNullable<Strategy["gracePeriod"]> = (pod, requested) => {
  const own = at(pod, "spec", "terminationGracePeriodSeconds")
  const period = requested ?? (typeof own === "number" ? own : 0)
  const phase = stringAt(pod, "status", "phase")
  if (stringAt(pod, "spec", "nodeName") === "" || phase === "Failed" || phase === "Succeeded") return 0
  return period < 0 ? 1 : period
}

/** A projected token requires a service account. */
const tokenFaults = (spec: unknown): ReadonlyArray<FieldError.FieldError> =>
  stringAt(spec, "serviceAccountName") !== "" ?
    [] :
    arrayAt(spec, "volumes").flatMap((volume, index) =>
      arrayAt(volume, "projected", "sources").flatMap((source, place) =>
        at(source, "serviceAccountToken") === undefined ? [] : [FieldError.forbidden(
          `spec.volumes[${index}].projected.sources[${place}].serviceAccountToken`,
          "must not be specified when serviceAccountName is not set"
        )]
      )
    )

/** Fields that a new Pod cannot have. */
const newFaults = (spec: unknown): ReadonlyArray<FieldError.FieldError> => [
  ...(arrayAt(spec, "ephemeralContainers").length === 0
    ? []
    : [FieldError.forbidden("spec.ephemeralContainers", "cannot be set on create")]),
  ...(stringAt(spec, "nodeName") === "" || arrayAt(spec, "schedulingGates").length === 0
    ? []
    : [FieldError.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")])
]

const judged = Remembered.faultless<FieldError.FieldError>()

/** Faults of a Pod. */
export const validate: Strategy["validate"] = (pod, previous) => {
  const spec = objectAt(pod, "spec")
  return [
    ...PodAnnotations.faults(pod, "metadata.annotations"),
    ...PodSpecRules.podSpec(spec, "spec", { isPod: true, name: pod.metadata.name }),
    ...judged(spec, () => [...tokenFaults(spec), ...ContainerRules.imagesOfPod(spec, "spec")]),
    ...(previous === undefined ? [...newFaults(spec), ...PodAnnotations.mismatches(pod, "spec")] : [])
  ]
}
