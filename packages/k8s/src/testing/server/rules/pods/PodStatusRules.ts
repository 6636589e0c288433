/**
 * `PodStatusRules`: validates updates of a Pod's status, by kubelets or anyone else.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidatePodStatusUpdate`,
 * pkg/registry/core/pod/strategy.go `podStatusStrategy`.
 */
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import type * as JsonValue from "../../../../schema/JsonValue.ts"
import type { Strategy } from "../../Strategy.ts"
import * as GoStruct from "../../go/GoStruct.ts"
import { type Faults, invalids, ip, isAddress, isAddress6, when } from "../Checks.ts"
import * as Disabled from "../Disabled.ts"
import { immutableText } from "../Immutability.ts"
import * as PodSecurityRules from "./PodSecurityRules.ts"

/** Conditions that omit their `observedGeneration` keep it. */
const withGenerations = (
  conditions: ReadonlyArray<unknown>,
  before: ReadonlyArray<unknown>
): ReadonlyArray<unknown> => {
  const known = Map.groupBy(before, (condition) => stringAt(condition, "type"))
  return conditions.map((condition) => {
    const old = at(known.get(stringAt(condition, "type"))?.shift(), "observedGeneration")
    return old === undefined || (at(condition, "observedGeneration") ?? 0) !== 0
      ? condition
      : { ...objectAt(condition), observedGeneration: old }
  })
}

const lists = ["containerStatuses", "ephemeralContainerStatuses", "initContainerStatuses"]

/** The health of allocated resources belongs to a feature that is off. */
const withoutHealth = Disabled.dropping(
  ...lists.map((list) => `status.${list}.*.allocatedResourcesStatus`)
)

/** Fields of features that are off; they stay if they were set before. */
const untold = [["extendedResourceClaimStatus"], ["resources", "allocatedResources"]]

const withoutUntold = (object: JsonValue.JsonObject, before: unknown): JsonValue.JsonObject =>
  untold.reduce(
    (kept, fields) =>
      fields.some((field) => at(before, field) !== undefined)
        ? kept
        : Disabled.dropping(...fields.map((field) => `status.${field}`))(kept),
    object
  )

/** The QoS class and the observed generation are kept if a status omits them. */
export const prepareStatus: Strategy["prepareStatus"] = (object, previous) => {
  const before = objectAt(previous, "status")
  const next = withoutUntold(withoutHealth(object), before)
  const after = objectAt(next, "status")
  const kept = ["qosClass", "observedGeneration"].filter((key) => !after[key] && before[key] !== undefined)
  const conditions = arrayAt(after, "conditions")
  return {
    ...next,
    status: {
      ...after,
      ...Object.fromEntries(kept.map((key) => [key, before[key]])),
      ...(conditions.length === 0
        ? {}
        : { conditions: withGenerations(conditions, arrayAt(before, "conditions")) })
    }
  }
}

const numberAt = (value: unknown, ...path: ReadonlyArray<string>): number => {
  const found = at(value, ...path)
  return typeof found === "number" ? found : 0
}

const generation = (holder: unknown, path: string): Faults => {
  const observed = numberAt(holder, "observedGeneration")
  return when(
    observed < 0,
    FieldError.invalid(`${path}.observedGeneration`, observed, "must be a non-negative integer")
  )
}

/** Types of Kubernetes' own conditions, which are valid. */
const known = ["Initialized", "PodScheduled", "Ready"]

const conditionFaults = (pod: unknown): Faults =>
  arrayAt(pod, "status", "conditions").flatMap((condition, index) => {
    const path = `status.conditions[${index}]`
    const type = stringAt(condition, "type")
    return [
      ...generation(condition, path),
      ...(known.includes(type) ? [] : invalids(`${path}.Type`, type, Names.labelKey(type)))
    ]
  })

const nominationFaults = (next: unknown, previous: unknown): Faults => {
  const [name, before] = [next, previous].map((pod) => stringAt(pod, "status", "nominatedNodeName"))
  const path = "status.nominatedNodeName"
  return name === before || name === "" ? [] : [
    ...invalids(path, name, Names.dnsSubdomain(name!)),
    ...when(
      stringAt(previous, "spec", "nodeName") !== "",
      FieldError.forbidden(path, "may not be set on pods that are already bound to a node")
    )
  ]
}

/** At most one address of each family; existing addresses are not validated again. */
const addressFaults = (next: unknown, previous: unknown, field: "hostIPs" | "podIPs"): Faults => {
  const addresses = (pod: unknown) => arrayAt(pod, "status", field).map((address) => stringAt(address, "ip"))
  const [given, kept] = [addresses(next), addresses(previous)]
  const path = `status.${field}`
  const each = given.flatMap((address, index) => kept.includes(address) ? [] : ip(`${path}[${index}]`, address))
  if (given.length < 2) return each
  const unfit = given.findIndex((address) => !isAddress(address))
  const families = new Set(given.map(isAddress6))
  return [
    ...each,
    ...when(
      unfit >= 0,
      FieldError.internalError(path, `failed to check for dual stack with error:invalid IP[${unfit}]: ${given[unfit]}`)
    ),
    ...when(
      given.length > 2 || unfit >= 0 || families.size < 2,
      FieldError.invalidPrinted(
        path,
        GoStruct.print(arrayAt(next, "status", field), [["ip", "\"\"", undefined, "IP"]]),
        "may specify no more than one IP for each IP family"
      )
    )
  ]
}

const hostFaults = (pod: unknown): Faults => {
  const first = at(arrayAt(pod, "status", "hostIPs")[0], "ip")
  return when(
    first !== undefined && first !== stringAt(pod, "status", "hostIP"),
    FieldError.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
  )
}

/** Whether an exit code matches one of a container's restart rules. */
const isRuled = (container: unknown, code: number): boolean =>
  arrayAt(container, "restartPolicyRules").some((rule) => {
    const listed = arrayAt(rule, "exitCodes", "values").includes(code)
    const operator = stringAt(rule, "exitCodes", "operator")
    return stringAt(rule, "action") === "Restart" && (operator === "In" ? listed : operator === "NotIn" && !listed)
  })

const restarts = (spec: unknown, container: unknown, code: number): boolean => {
  const own = stringAt(container, "restartPolicy")
  const policy = own === "" ? stringAt(spec, "restartPolicy") : own
  return own !== "" && isRuled(container, code) || (policy === "OnFailure" ? code !== 0 : policy !== "Never")
}

/** A terminated container stays terminated, unless it may be restarted; an ephemeral one never is. */
const transitionFaults = (
  next: unknown,
  previous: unknown,
  field: string,
  containers?: "containers" | "initContainers"
): Faults => {
  const spec = at(previous, "spec")
  const may = (status: unknown): boolean => {
    const name = stringAt(status, "name")
    const container = containers === undefined
      ? undefined
      : arrayAt(spec, containers).find((each) => stringAt(each, "name") === name)
    return container !== undefined && restarts(spec, container, numberAt(status, "state", "terminated", "exitCode"))
  }
  return arrayAt(previous, "status", field).flatMap((status, index) => {
    if (at(status, "state", "terminated") === undefined) return []
    const now = arrayAt(next, "status", field).find((each) => stringAt(each, "name") === stringAt(status, "name"))
    return when(
      now !== undefined && at(now, "state", "terminated") === undefined && !may(status),
      FieldError.forbidden(`status.${field}[${index}].state`, "may not be transitioned to non-terminated state")
    )
  })
}

const claimFaults = (pod: unknown): Faults => {
  const claims = arrayAt(pod, "spec", "resourceClaims").map((claim) => stringAt(claim, "name"))
  const statuses = arrayAt(pod, "status", "resourceClaimStatuses")
  const told = statuses.map((status) => stringAt(status, "name"))
  return told.flatMap((name, index) => {
    const path = `status.resourceClaimStatuses[${index}].name`
    const claim = at(statuses[index], "resourceClaimName")
    return [
      ...when(
        !claims.includes(name),
        FieldError.invalid(path, name, "must match the name of an entry in `spec.resourceClaims`")
      ),
      ...when(told.indexOf(name) < index, FieldError.duplicate(path, name)),
      ...(typeof claim === "string" ? invalids(path, claim, Names.dnsSubdomain(claim)) : [])
    ]
  })
}

/** The user of a container must be reported in the form of the Pod's operating system. */
const userFaults = (pod: unknown, list: string): Faults => {
  const system = stringAt(pod, "spec", "os", "name") || "linux"
  return arrayAt(pod, "status", list).flatMap((status, index) => {
    const user = at(status, "user", "linux")
    const path = `status.${list}[${index}].user.linux`
    if (user === undefined) return []
    if (system !== "linux") return [FieldError.forbidden(path, "cannot be set for a windows pod")]
    return [
      ...PodSecurityRules.id(`${path}.uid`, at(user, "uid")),
      ...PodSecurityRules.id(`${path}.gid`, at(user, "gid")),
      ...arrayAt(user, "supplementalGroups").flatMap((id, group) =>
        PodSecurityRules.id(`${path}.supplementalGroups[${group}]`, id)
      )
    ]
  })
}

/** Faults of a status. */
export const validateStatus: Strategy["validateStatus"] = (next, previous) => [
  ...conditionFaults(next),
  ...nominationFaults(next, previous),
  ...generation(at(next, "status"), "status"),
  ...immutableText("status.qosClass")(next, previous),
  ...transitionFaults(next, previous, "containerStatuses", "containers"),
  ...transitionFaults(next, previous, "initContainerStatuses", "initContainers"),
  ...transitionFaults(next, previous, "ephemeralContainerStatuses"),
  ...claimFaults(next),
  ...addressFaults(next, previous, "podIPs"),
  ...hostFaults(next),
  ...addressFaults(next, previous, "hostIPs"),
  ...["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"].flatMap((list) =>
    userFaults(next, list)
  )
]
