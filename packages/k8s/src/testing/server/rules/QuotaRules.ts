/**
 * `QuotaRules`: validates ResourceQuotas and LimitRanges.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateResourceQuota`, `ValidateLimitRange`.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import * as Quantity from "../../../api/Quantity.ts"
import { type Faults, invalids, when } from "./Checks.ts"
import * as ResourceRules from "./pods/ResourceRules.ts"

const amounts = (given: JsonValue.JsonObject, path: string): Faults =>
  Object.entries(given).flatMap(([name, amount]) => [
    ...ResourceRules.name(`${path}[${name}]`, name),
    ...when(
      !name.includes("/") && !ResourceRules.isOfQuota(name),
      FieldError.invalid(`${path}[${name}]`, name, "must be a standard resource for quota")
    ),
    ...ResourceRules.amount(`${path}[${name}]`, name, amount)
  ])

const ofPods = ["pods"]
const ofRunning = [...ofPods, "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"]
const ofClaims = ["persistentvolumeclaims", "requests.storage"]

/** The resources to which each scope applies. */
const scopes: Readonly<Record<string, ReadonlyArray<string>>> = {
  Terminating: ofRunning,
  NotTerminating: ofRunning,
  NotBestEffort: ofRunning,
  PriorityClass: ofRunning,
  CrossNamespacePodAffinity: ofRunning,
  BestEffort: ofPods,
  VolumeAttributesClass: ofClaims
}

const contradictions = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]]

const unfit = (spec: unknown, scope: string): ReadonlyArray<string> => {
  const valid = scopes[scope]
  return valid === undefined ?
    [] :
    Object.keys(objectAt(spec, "hard")).filter((name) => ResourceRules.isOfQuota(name) && !valid.includes(name))
}

const conflicts = (given: ReadonlyArray<string>, value: unknown, path: string): Faults =>
  contradictions.flatMap((pair) =>
    when(pair.every((scope) => given.includes(scope)), FieldError.invalid(path, value, "conflicting scopes"))
  )

const scopeFaults = (spec: unknown): Faults => {
  const given = arrayAt(spec, "scopes").map(String)
  const refused = (why: string) => FieldError.invalid("spec.scopes", given, why)
  return [
    ...given.flatMap((scope) => [
      ...when(!Object.hasOwn(scopes, scope), refused("unsupported scope")),
      ...unfit(spec, scope).map(() => refused("unsupported scope applied to resource"))
    ]),
    ...conflicts(given, given, "spec.scopes")
  ]
}

const existing = ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"]

const operatorFaults = (requirement: unknown, path: string): Faults => {
  const operator = stringAt(requirement, "operator")
  const values = arrayAt(requirement, "values")
  switch (operator) {
    case "In":
    case "NotIn":
      return when(
        values.length === 0,
        FieldError.required(
          `${path}.values`,
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        )
      )
    case "Exists":
    case "DoesNotExist":
      return when(
        values.length > 0,
        FieldError.invalid(
          `${path}.values`,
          values,
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        )
      )
    default:
      return [FieldError.invalid(`${path}.operator`, operator, "not a valid selector operator")]
  }
}

const selectorFields: GoStruct.Fields = [
  ["matchExpressions", "null", [["scopeName", "\"\""], ["operator", "\"\""], ["values", "null"]]]
]

const selectorFaults = (spec: unknown): Faults => {
  const path = "spec.scopeSelector.matchExpressions"
  const requirements = arrayAt(spec, "scopeSelector", "matchExpressions")
  const names = requirements.map((requirement) => stringAt(requirement, "scopeName"))
  return [
    ...requirements.flatMap((requirement, index) => {
      const scope = names[index]!
      const operator = stringAt(requirement, "operator")
      return [
        ...when(
          !Object.hasOwn(scopes, scope),
          FieldError.invalid(`${path}.scopeName`, scope, "unsupported scope")
        ),
        ...unfit(spec, scope).map(() =>
          FieldError.invalidPrinted(
            path,
            GoStruct.print(at(spec, "scopeSelector"), selectorFields),
            "unsupported scope applied to resource"
          )
        ),
        ...when(
          existing.includes(scope) && operator !== "Exists",
          FieldError.invalid(
            `${path}.operator`,
            operator,
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
              "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or " +
              "ResourceQuotaScopeCrossNamespacePodAffinity"
          )
        ),
        ...operatorFaults(requirement, path)
      ]
    }),
    ...conflicts(names, at(spec, "scopes") ?? null, path)
  ]
}

const statusFaults: Strategy["validateStatus"] = (quota) =>
  ["hard", "used"].flatMap((part) => amounts(objectAt(quota, "status", part), `status.${part}`))

export const quota: Partial<Strategy> = {
  validate: (object) => {
    const spec = objectAt(object, "spec")
    return [...amounts(objectAt(spec, "hard"), "spec.hard"), ...scopeFaults(spec), ...selectorFaults(spec)]
  },
  validateUpdate: (next, previous) => {
    const [after, before] = [next, previous].map((object) => [...new Set(arrayAt(object, "spec", "scopes"))].sort())
    return when(
      !JsonValue.equals(after, before),
      FieldError.invalid("spec.scopes", at(next, "spec", "scopes") ?? null, "field is immutable")
    )
  },
  validateStatus: statusFaults
}

const types = ["Pod", "Container", "PersistentVolumeClaim"]

/** Two amounts of which one must not exceed the other: the field and the amount in the fault, and its message. */
interface Order {
  readonly low: string
  readonly high: string
  readonly told: string
  readonly printed: string
  readonly why: (low: string, high: string) => string
}

const orders: ReadonlyArray<Order> = [
  {
    low: "min",
    high: "max",
    told: "min",
    printed: "min",
    why: (a, b) => `min value ${a} is greater than max value ${b}`
  },
  {
    low: "min",
    high: "defaultRequest",
    told: "defaultRequest",
    printed: "defaultRequest",
    why: (a, b) => `min value ${a} is greater than default request value ${b}`
  },
  {
    low: "defaultRequest",
    high: "max",
    told: "defaultRequest",
    printed: "defaultRequest",
    why: (a, b) => `default request value ${a} is greater than max value ${b}`
  },
  {
    low: "defaultRequest",
    high: "default",
    told: "defaultRequest",
    printed: "defaultRequest",
    why: (a, b) => `default request value ${a} is greater than default limit value ${b}`
  },
  {
    low: "min",
    high: "default",
    told: "default",
    printed: "min",
    why: (a, b) => `min value ${a} is greater than default value ${b}`
  },
  {
    low: "default",
    high: "max",
    told: "default",
    printed: "max",
    why: (a, b) => `default value ${a} is greater than max value ${b}`
  }
]

const ratioFaults = (item: unknown, name: string, path: string): Faults => {
  const [ratio, min, max] = ["maxLimitRequestRatio", "min", "max"].map((part) => at(item, part, name))
  if (ratio === undefined) return []
  const here = `${path}.maxLimitRequestRatio[${name}]`
  const [of, least, most] = [ratio, min ?? "0", max ?? "0"].map((amount) =>
    Number(Quantity.billionths(String(amount)))
  ) as [
    number,
    number,
    number
  ]
  return [
    ...when(of < 1e9, FieldError.invalid(here, ratio, `ratio ${String(ratio)} is less than 1`)),
    ...when(
      min !== undefined && max !== undefined && of / 1e9 > most / least,
      FieldError.invalid(
        here,
        ratio,
        `ratio ${String(ratio)} is greater than max/min = ${(most / least).toFixed(6)}`
      )
    )
  ]
}

/** For a resource that cannot be overcommitted, the default limit must equal the default request. */
const fixedFaults = (item: unknown, name: string, path: string): Faults => {
  const [limit, request] = [at(item, "default", name), at(item, "defaultRequest", name)]
  return !ResourceRules.isFixed(name) || limit === undefined || request === undefined ||
      Quantity.compare(String(limit), String(request)) === 0
    ? []
    : [FieldError.invalid(
      `${path}.defaultRequest[${name}]`,
      request,
      `default value ${String(limit)} must equal to defaultRequest value ${String(request)} in ${name}`
    )]
}

const parts = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"]

const itemFaults = (item: unknown, path: string): Faults => {
  const type = stringAt(item, "type")
  const ofPod = type === "Pod"
  const nameFaults = ofPod || type === "Container" ? ResourceRules.containerName : ResourceRules.name
  const judged = parts.filter((part) => !ofPod || !part.startsWith("default"))
  const named = (part: string): Faults =>
    Object.keys(objectAt(item, part)).flatMap((name) => nameFaults(`${path}.${part}[${name}]`, name))
  const names = [...new Set(judged.flatMap((part) => Object.keys(objectAt(item, part))))]
  return [
    ...judged.slice(0, -1).flatMap(named),
    ...(ofPod
      ? ["default", "defaultRequest"].filter((part) => Object.keys(objectAt(item, part)).length > 0).map((part) =>
        FieldError.forbidden(`${path}.${part}`, "may not be specified when `type` is 'Pod'")
      )
      : []),
    ...when(
      type === "PersistentVolumeClaim" && at(item, "min", "storage") === undefined &&
        at(item, "max", "storage") === undefined,
      FieldError.required(
        `${path}.limits`,
        "either minimum or maximum storage value is required, but neither was provided"
      )
    ),
    ...named("maxLimitRequestRatio"),
    ...names.flatMap((name) => [
      ...orders.filter(({ high, low }) => judged.includes(high) && judged.includes(low)).flatMap((order) => {
        const [low, high] = [order.low, order.high].map((part) => at(item, part, name))
        return low === undefined || high === undefined || Quantity.compare(String(low), String(high)) <= 0
          ? []
          : [FieldError.invalid(
            `${path}.${order.told}[${name}]`,
            at(item, order.printed, name),
            order.why(String(low), String(high))
          )]
      }),
      ...ratioFaults(item, name, path),
      ...(ofPod ? [] : fixedFaults(item, name, path))
    ])
  ]
}

const typeFaults = (type: string, path: string): Faults => {
  const faults = invalids(path, type, Names.labelKey(type))
  return faults.length > 0 ? faults : when(
    !type.includes("/") && !types.includes(type),
    FieldError.invalid(path, type, "must be a standard limit type or fully qualified")
  )
}

export const limitRange: Partial<Strategy> = {
  validate: (object) => {
    const limits = arrayAt(object, "spec", "limits")
    const given = limits.map((item) => stringAt(item, "type"))
    return limits.flatMap((item, index) => {
      const path = `spec.limits[${index}]`
      return [
        ...typeFaults(given[index]!, `${path}.type`),
        ...when(given.indexOf(given[index]!) < index, FieldError.duplicate(`${path}.type`, given[index])),
        ...itemFaults(item, path)
      ]
    })
  }
}
