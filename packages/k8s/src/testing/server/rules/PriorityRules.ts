/**
 * `PriorityRules`: validates PriorityClasses. High values and the prefix `system-` are reserved for the system's own
 * classes, which always exist.
 *
 * Source: k8s.io/kubernetes/pkg/apis/scheduling/validation/validation.go and helpers.go,
 * pkg/registry/scheduling/priorityclass/storage.
 */
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import { immutable } from "./Immutability.ts"

/** The highest priority of user-defined classes. */
const highest = 1_000_000_000

/** The system's own classes. */
export const system = [
  {
    name: "system-node-critical",
    value: 2_000_001_000,
    description: "Used for system critical pods that must not be moved from their current node."
  },
  {
    name: "system-cluster-critical",
    value: 2_000_000_000,
    description:
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
  }
] as const

const systemClass = (name: string) => system.find((known) => known.name === name)

const policies = ["PreemptLowerPriority", "Never"]

const reserved = (name: string, value: number, isDefault: boolean): string | undefined => {
  const known = systemClass(name)?.value
  if (known === undefined) return `${name} is not a known system priority class`
  if (value !== known) return `value of ${name} PriorityClass must be ${known}`
  return isDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

/** Applies only to new objects, since the validated fields are immutable. */
const validate: Strategy["validate"] = (object, previous) => {
  if (previous !== undefined) return []
  const name = stringAt(object, "metadata", "name")
  const value = Number(at(object, "value") ?? 0)
  const policy = stringAt(object, "preemptionPolicy")
  const why = name.startsWith("system-") ? reserved(name, value, at(object, "globalDefault") === true) : undefined
  return [
    ...(why === undefined ? [] : [FieldError.forbidden(
      "metadata.name",
      `priority class names with 'system-' prefix are reserved for system use only. error: ${why}`
    )]),
    ...(!name.startsWith("system-") && value > highest
      ? [FieldError.forbidden("value", `maximum allowed value of a user defined priority is ${highest}`)]
      : []),
    ...(policies.includes(policy) ? [] : [
      policy === ""
        ? FieldError.required("preemptionPolicy", "")
        : FieldError.notSupported("preemptionPolicy", policy, policies)
    ])
  ]
}

const validateUpdate: Strategy["validateUpdate"] = (next, previous) => [
  ...(at(next, "value") === at(previous, "value")
    ? []
    : [FieldError.forbidden("value", "may not be changed in an update.")]),
  ...immutable("preemptionPolicy")(next, previous)
]

const stays: Strategy["stays"] = (name) =>
  systemClass(name) === undefined ? undefined : "this is a system priority class and cannot be deleted"

export const strategy: Partial<Strategy> = { generation: "first", validate, validateUpdate, stays }
