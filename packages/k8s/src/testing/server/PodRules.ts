/**
 * `PodRules`: what a Pod must be, what of it may change, and how long it is given to end.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, pkg/registry/core/pod/strategy.go.
 */
import * as FieldError from "../schema/FieldError.ts"
import { omit, specExcept } from "./Immutability.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "./Plain.ts"
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

/** Faults of an update. */
export const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const added = ["containers", "initContainers"].filter((key) =>
    arrayAt(next, "spec", key).length !== arrayAt(previous, "spec", key).length
  )
  return added.length > 0
    ? added.map((key) => FieldError.forbidden(`spec.${key}`, "pod updates may not add or remove containers"))
    : podSpec(next, previous)
}

/** Seconds a Pod is given: what was asked for, else its own; none where no kubelet has it or it is over already. */
export const gracePeriod: NonNullable<Strategy["gracePeriod"]> = (pod, requested) => {
  const own = at(pod, "spec", "terminationGracePeriodSeconds")
  const period = requested ?? (typeof own === "number" ? own : 0)
  const phase = stringAt(pod, "status", "phase")
  if (stringAt(pod, "spec", "nodeName") === "" || phase === "Failed" || phase === "Succeeded") return 0
  return period < 0 ? 1 : period
}

/** Faults of the containers of a Pod spec. */
export const containerFaults = (spec: JsonValue.JsonObject, path: string): ReadonlyArray<FieldError.FieldError> => {
  const containers = arrayAt(spec, "containers")
  if (containers.length === 0) return [FieldError.required(`${path}.containers`, "")]
  const names = new Set<string>()
  return containers.flatMap((container, index) => {
    const here = `${path}.containers[${index}]`
    const name = stringAt(container, "name")
    const repeated = name !== "" && names.has(name)
    names.add(name)
    return [
      ...(name === "" ? [FieldError.required(`${here}.name`, "")] : []),
      ...(repeated ? [FieldError.duplicate(`${here}.name`, name)] : []),
      ...(stringAt(container, "image") === "" ? [FieldError.required(`${here}.image`, "")] : [])
    ]
  })
}

/** Faults of a Pod. */
export const validate: Strategy["validate"] = (pod) => containerFaults(objectAt(pod, "spec"), "spec")
