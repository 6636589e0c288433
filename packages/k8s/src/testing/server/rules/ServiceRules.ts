/**
 * `ServiceRules`: validates Services by type, and their updates.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateServiceCreate`, `ValidateServiceUpdate`.
 */
import * as MetadataRules from "../../../api/MetadataRules.ts"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, invalids, ip, oneOf, optional, required, when } from "./Checks.ts"
import * as EndpointRules from "./EndpointRules.ts"
import * as RangeRules from "./RangeRules.ts"
import * as ServiceAddresses from "./ServiceAddresses.ts"
import * as ServiceFamilyRules from "./ServiceFamilyRules.ts"
import * as PortRules from "./pods/PortRules.ts"

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]

const portFaults = (ports: ReadonlyArray<unknown>): Faults => {
  const names = new Set<string>()
  return ports.flatMap((port, index) => {
    const path = `spec.ports[${index}]`
    const name = stringAt(port, "name")
    const number = at(port, "port")
    const repeated = name !== "" && names.has(name)
    names.add(name)
    const protocol = at(port, "appProtocol")
    return [
      ...(name === ""
        ? when(ports.length > 1, FieldError.required(`${path}.name`, ""))
        : invalids(`${path}.name`, name, Names.dnsLabel(name))),
      ...when(repeated, FieldError.duplicate(`${path}.name`, name)),
      ...PortRules.portNumber(`${path}.port`, typeof number === "number" ? number : 0),
      ...oneOf(port, "protocol", path, PortRules.protocols),
      ...PortRules.portOrName(`${path}.targetPort`, at(port, "targetPort") ?? 0),
      ...(typeof protocol === "string" ? invalids(`${path}.appProtocol`, protocol, Names.labelKey(protocol)) : [])
    ]
  })
}

const portFields: GoStruct.Fields = [
  ["name", "\"\""],
  ["protocol", "\"\""],
  ["appProtocol", "null"],
  ["port", "0"],
  ["targetPort", "0"],
  ["nodePort", "0"]
]

/** Ports and node ports must be unique per protocol. */
const repeatedPorts = (ports: ReadonlyArray<unknown>): Faults => {
  const repeats = (field: string) => {
    const seen = new Set<string>()
    return ports.map((port) => {
      const number = at(port, field) ?? 0
      const key = `${stringAt(port, "protocol")}/${String(number)}`
      const repeated = seen.has(key)
      seen.add(key)
      return repeated && (field === "port" || number !== 0)
    })
  }
  const [atNode, inside] = [repeats("nodePort"), repeats("port")]
  return [
    ...ports.flatMap((port, index) =>
      when(atNode[index] === true, FieldError.duplicate(`spec.ports[${index}].nodePort`, at(port, "nodePort")))
    ),
    ...ports.flatMap((port, index) =>
      when(inside[index] === true, {
        ...FieldError.duplicate(`spec.ports[${index}]`, port),
        printed: GoStruct.print({ protocol: at(port, "protocol"), port: at(port, "port") }, portFields)
      })
    )
  ]
}

const isHeadless = (spec: unknown): boolean => stringAt(spec, "clusterIP") === "None"

const typeFaults = (spec: unknown): Faults => {
  const type = stringAt(spec, "type")
  if (type === "LoadBalancer" || type === "NodePort") {
    return when(
      isHeadless(spec),
      FieldError.invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`)
    )
  }
  if (type !== "ExternalName") return []
  const name = stringAt(spec, "externalName").replace(/\.$/, "")
  const why = "may not be set for ExternalName services"
  return [
    ...when(
      arrayAt(spec, "clusterIPs").length > 0 || stringAt(spec, "clusterIP") !== "",
      FieldError.forbidden("spec.clusterIPs", why)
    ),
    ...when(arrayAt(spec, "ipFamilies").length > 0, FieldError.forbidden("spec.ipFamilies", why)),
    ...when(at(spec, "ipFamilyPolicy") !== undefined, FieldError.forbidden("spec.ipFamilyPolicy", why)),
    ...(name === ""
      ? [FieldError.required("spec.externalName", "")]
      : invalids("spec.externalName", name, Names.dnsSubdomain(name)))
  ]
}

const longestAffinity = 86400

const affinityFaults = (spec: unknown): Faults => {
  const affinity = stringAt(spec, "sessionAffinity")
  const config = at(spec, "sessionAffinityConfig")
  const path = "spec.sessionAffinityConfig"
  const seconds = at(config, "clientIP", "timeoutSeconds")
  return [
    ...oneOf(spec, "sessionAffinity", "spec", ["ClientIP", "None"]),
    ...(affinity === "ClientIP"
      ? when(
        typeof seconds === "number" && (seconds <= 0 || seconds > longestAffinity),
        FieldError.invalid(
          `${path}.clientIP.timeoutSeconds`,
          seconds,
          `must be greater than 0 and less than ${longestAffinity}`
        )
      )
      : affinity === "None"
      ? when(config !== undefined, FieldError.forbidden(path, "must not be set when session affinity is None"))
      : [])
  ]
}

const sourceFaults = (spec: unknown): Faults => {
  const ranges = arrayAt(spec, "loadBalancerSourceRanges").map((range) => String(range).trim())
  const path = "spec.LoadBalancerSourceRanges"
  return ranges.length === 0 ? [] : [
    ...when(
      stringAt(spec, "type") !== "LoadBalancer",
      FieldError.forbidden(path, "may only be used when `type` is 'LoadBalancer'")
    ),
    ...ranges.flatMap((range, index) => RangeRules.faults(`${path}[${index}]`, range))
  ]
}

const isBalancer = (spec: unknown): boolean => stringAt(spec, "type") === "LoadBalancer"

const ofBalancers = (spec: unknown, field: string): Faults =>
  when(
    !isBalancer(spec) && at(spec, field) !== undefined,
    FieldError.forbidden(`spec.${field}`, "may only be used when `type` is 'LoadBalancer'")
  )

const classFaults = (spec: unknown): Faults => {
  const name = at(spec, "loadBalancerClass")
  return isBalancer(spec) && typeof name === "string"
    ? invalids("spec.loadBalancerClass", name, Names.labelKey(name))
    : ofBalancers(spec, "loadBalancerClass")
}

const balancerFaults = (spec: unknown): Faults => [
  ...ofBalancers(spec, "allocateLoadBalancerNodePorts"),
  ...classFaults(spec)
]

const isExternal = (spec: unknown): boolean =>
  ["LoadBalancer", "NodePort"].includes(stringAt(spec, "type")) ||
  (stringAt(spec, "type") === "ClusterIP" && arrayAt(spec, "externalIPs").length > 0)

const needsHealthCheck = (spec: unknown): boolean =>
  isBalancer(spec) && stringAt(spec, "externalTrafficPolicy") === "Local"

const trafficFaults = (spec: unknown): Faults => {
  const policy = stringAt(spec, "externalTrafficPolicy")
  const check = at(spec, "healthCheckNodePort") ?? 0
  return [
    ...(isExternal(spec)
      ? oneOf(spec, "externalTrafficPolicy", "spec", ["Cluster", "Local"])
      : when(
        policy !== "",
        FieldError.invalid("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
      )),
    ...(needsHealthCheck(spec)
      ? typeof check === "number" && check !== 0
        ? PortRules.portNumber("spec.healthCheckNodePort", check)
        : [FieldError.required("spec.healthCheckNodePort", "")]
      : when(
        check !== 0,
        FieldError.invalid(
          "spec.healthCheckNodePort",
          check,
          "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
      )),
    ...(at(spec, "internalTrafficPolicy") !== undefined
      ? optional(spec, "internalTrafficPolicy", "spec", ["Cluster", "Local"])
      : ["ClusterIP", "LoadBalancer", "NodePort"].includes(stringAt(spec, "type"))
      ? required(spec, "spec", "internalTrafficPolicy")
      : []),
    ...optional(spec, "trafficDistribution", "spec", ["PreferClose", "PreferSameZone", "PreferSameNode"])
  ]
}

/**
 * Faults of addresses, which are allocated before anything else is validated: with such faults, no others are reported.
 */
const addressFaults = (spec: unknown): Faults => {
  if (stringAt(spec, "type") === "ExternalName") return []
  const faults = ServiceFamilyRules.faults(spec)
  return faults.length > 0 ? faults : ServiceFamilyRules.demands(spec)
}

const validate: Strategy["validate"] = (service) => {
  const spec = objectAt(service, "spec")
  const ports = arrayAt(spec, "ports")
  const type = stringAt(spec, "type")
  const addresses = addressFaults(spec)
  if (addresses.length > 0) return addresses
  return [
    ...when(
      ports.length === 0 && !isHeadless(spec) && type !== "ExternalName",
      FieldError.required("spec.ports", "")
    ),
    ...typeFaults(spec),
    ...portFaults(ports),
    ...MetadataRules.validateLabels(objectAt(spec, "selector") as Readonly<Record<string, string>>, "spec.selector"),
    ...affinityFaults(spec),
    ...arrayAt(spec, "externalIPs").map(String).flatMap((address, index) => {
      const faults = ip(`spec.externalIPs[${index}]`, address)
      return faults.length > 0 ? faults : EndpointRules.special(`spec.externalIPs[${index}]`, address)
    }),
    ...oneOf(spec, "type", "spec", types),
    ...(type === "ClusterIP"
      ? ports.flatMap((port, index) =>
        when(
          (at(port, "nodePort") ?? 0) !== 0,
          FieldError.forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")
        )
      )
      : []),
    ...repeatedPorts(ports),
    ...sourceFaults(spec),
    ...balancerFaults(spec),
    ...trafficFaults(spec)
  ]
}

const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const [spec, before] = [objectAt(next, "spec"), objectAt(previous, "spec")]
  const [name, old] = [spec, before].map((each) => at(each, "loadBalancerClass"))
  if (addressFaults(spec).length > 0) return []
  return [
    ...ServiceFamilyRules.updateFaults(spec, before),
    ...when(
      [spec, before].every(isBalancer) && name !== old,
      FieldError.invalid("spec.loadBalancerClass", name ?? null, "may not change once set")
    ),
    // The class of an update is validated both here and with the rest.
    ...classFaults(spec),
    ...when(
      needsHealthCheck(spec) && needsHealthCheck(before) &&
        at(spec, "healthCheckNodePort") !== at(before, "healthCheckNodePort"),
      FieldError.forbidden("spec.healthCheckNodePort", "field is immutable")
    )
  ]
}

export const strategy: Partial<Strategy> = {
  prepareCreate: ServiceAddresses.prepareCreate,
  prepareUpdate: ServiceAddresses.prepareUpdate,
  // Addresses are checked first; their faults are reported together with the others.
  refusal: (service, ...rest) =>
    addressFaults(objectAt(service, "spec")).length > 0 ? undefined : ServiceAddresses.refusal(service, ...rest),
  validate,
  validateUpdate,
  validateStatus: (service) =>
    EndpointRules.balancerStatus(service, stringAt(service, "spec", "type") === "LoadBalancer")
}
