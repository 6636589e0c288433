/**
 * `PodRules`: what a Pod must be, what of it may change, and how long it is given to end.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, pkg/registry/core/pod/strategy.go.
 */
import * as FieldError from "../schema/FieldError.ts"
import { omit, specExcept } from "./Immutability.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "./Plain.ts"
import * as PodSpecRules from "./PodSpecRules.ts"
import type { Strategy } from "./Strategy.ts"

const withoutImages = (containers: unknown): unknown =>
  Array.isArray(containers)
    ? containers.map((container) => JsonValue.isObject(container) ? omit(container, "image") : container)
    : containers

const podSpec = specExcept(
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
  (spec) => ({
    ...omit(spec, "activeDeadlineSeconds", "tolerations"),
    containers: withoutImages(spec["containers"]),
    initContainers: withoutImages(spec["initContainers"])
  })
)

/** A deadline can come, and come closer. */
const deadlineFaults: Strategy["validateUpdate"] = (next, previous) => {
  const path = "spec.activeDeadlineSeconds"
  const [after, before] = [next, previous].map((pod) => at(pod, "spec", "activeDeadlineSeconds"))
  if (typeof before !== "number") return []
  if (typeof after !== "number") {
    return [FieldError.invalid(path, null, "must not update from a positive integer to nil value")]
  }
  return after > before ? [FieldError.invalid(path, after, "must be less than or equal to previous value")] : []
}

/** Tolerations are only added, but for their seconds. */
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
  const added = ["containers", "initContainers"].filter((key) =>
    arrayAt(next, "spec", key).length !== arrayAt(previous, "spec", key).length
  )
  return added.length > 0
    // Where these differ nothing else is looked at.
    ? added.slice(0, 1).map((key) =>
      FieldError.forbidden(`spec.${key}`, "pod updates may not add or remove containers")
    )
    : [...deadlineFaults(next, previous), ...tolerationFaults(next, previous), ...podSpec(next, previous)]
}

/** Seconds a Pod is given: what was asked for, else its own; none where no kubelet has it or it is over already. */
export const gracePeriod: NonNullable<Strategy["gracePeriod"]> = (pod, requested) => {
  const own = at(pod, "spec", "terminationGracePeriodSeconds")
  const period = requested ?? (typeof own === "number" ? own : 0)
  const phase = stringAt(pod, "status", "phase")
  if (stringAt(pod, "spec", "nodeName") === "" || phase === "Failed" || phase === "Succeeded") return 0
  return period < 0 ? 1 : period
}

/** Faults of a Pod. */
export const validate: Strategy["validate"] = (pod) => {
  const spec = objectAt(pod, "spec")
  return [...PodSpecRules.podSpec(spec, "spec"), ...PodSpecRules.imagesOfPod(spec, "spec")]
}
