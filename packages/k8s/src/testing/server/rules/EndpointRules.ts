/**
 * `EndpointRules`: validates Endpoints, EndpointSlices, and the status of load balancers.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateEndpoints`, `ValidateLoadBalancerStatus`;
 * pkg/apis/discovery/validation/validation.go.
 */
import * as MetadataRules from "../../../api/MetadataRules.ts"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as AddressRules from "./AddressRules.ts"
import {
  type Faults,
  givenLabel,
  givenSubdomain,
  invalids,
  ip,
  isAddress,
  isAddress6,
  label,
  oneOf,
  optional,
  subdomain,
  when
} from "./Checks.ts"
import { immutable } from "./Immutability.ts"
import * as PortRules from "./pods/PortRules.ts"

/** Addresses with a special meaning: unspecified, loopback, link-local and multicast ones. */
const specials: ReadonlyArray<readonly [pattern: RegExp, why: (address: string) => string]> = [
  [/^(?:0+(?:\.0+){3}|[0:]*::[0:]*)$/, (address) => `may not be unspecified (${address})`],
  [/^(?:127\.|::1$)/, () => "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  [/^(?:169\.254\.|fe[89ab][0-9a-f]:)/i, () => "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
  [/^(?:224\.0\.0\.|ff.2:)/i, () => "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"]
]

/** Faults of an address that must be reachable by others. */
export const special = (path: string, address: string): Faults =>
  isAddress(address)
    ? specials.filter(([pattern]) => pattern.test(address)).map(([, why]) =>
      FieldError.invalid(path, address, why(address))
    )
    : [FieldError.invalid(path, address, "must be a valid IP address")]

const appProtocol = (port: unknown, path: string): Faults => {
  const protocol = at(port, "appProtocol")
  return typeof protocol === "string" ? invalids(`${path}.appProtocol`, protocol, Names.labelKey(protocol)) : []
}

const addressFaults = (address: unknown, path: string): Faults => [
  ...ip(`${path}.ip`, stringAt(address, "ip")),
  ...label(address, "hostname", path),
  ...givenSubdomain(address, "nodeName", path),
  ...special(`${path}.ip`, stringAt(address, "ip"))
]

const portFaults = (port: unknown, path: string, named: boolean): Faults => {
  const number = at(port, "port")
  return [
    ...(named && stringAt(port, "name") === ""
      ? [FieldError.required(`${path}.name`, "")]
      : label(port, "name", path)),
    ...PortRules.portNumber(`${path}.port`, typeof number === "number" ? number : 0),
    ...oneOf(port, "protocol", path, PortRules.protocols),
    ...appProtocol(port, path)
  ]
}

const subsetFaults = (subset: unknown, path: string): Faults => {
  const kinds = ["addresses", "notReadyAddresses"]
  const ports = arrayAt(subset, "ports")
  return [
    ...when(
      kinds.every((kind) => arrayAt(subset, kind).length === 0),
      FieldError.required(path, "must specify `addresses` or `notReadyAddresses`")
    ),
    ...kinds.flatMap((kind) =>
      arrayAt(subset, kind).flatMap((address, index) => addressFaults(address, `${path}.${kind}[${index}]`))
    ),
    ...ports.flatMap((port, index) => portFaults(port, `${path}.ports[${index}]`, ports.length > 1))
  ]
}

/** Faults of Endpoints; unchanged subsets are not validated again. */
export const validate: Strategy["validate"] = (object, previous) =>
  previous !== undefined && JsonValue.equals(at(object, "subsets"), at(previous, "subsets"))
    ? []
    : arrayAt(object, "subsets").flatMap((subset, index) => subsetFaults(subset, `subsets[${index}]`))

const addressTypes = ["FQDN", "IPv4", "IPv6"]

const hostName = (path: string, name: string): Faults => {
  if (name === "") return [FieldError.required(path, "")]
  const text = name.replace(/\.$/, "")
  const faults = Names.dnsSubdomain(text)
  if (faults.length > 0) return [FieldError.invalid(path, text, faults.join(","))]
  return when(
    !text.includes("."),
    FieldError.invalid(path, text, "should be a domain with at least two segments separated by dots")
  )
}

const sliceAddress = (type: string, path: string, index: number, address: string): Faults => {
  const here = `${path}[${index}]`
  if (type === "FQDN") return hostName(here, address)
  if (type !== "IPv4" && type !== "IPv6") return []
  // IPv6 addresses must be in canonical form.
  const faults = type === "IPv6" ? AddressRules.address(here, address) : ip(here, address)
  return faults.length > 0 ? faults : [
    ...when(isAddress6(address) !== (type === "IPv6"), FieldError.invalid(path, address, `must be an ${type} address`)),
    ...special(here, address)
  ]
}

const hints: ReadonlyArray<readonly [field: string, rule: (name: string) => ReadonlyArray<string>]> = [
  ["forZones", Names.labelValue],
  ["forNodes", Names.dnsSubdomain]
]

const mostHints = 8

const hintFaults = (endpoint: unknown, path: string): Faults => {
  for (const [field] of hints) {
    const count = arrayAt(endpoint, "hints", field).length
    if (count > mostHints) return [FieldError.tooMany(`${path}.${field}`, count, mostHints)]
  }
  return hints.flatMap(([field, rule]) => {
    const names = arrayAt(endpoint, "hints", field).map((hint) => stringAt(hint, "name"))
    return names.flatMap((name, index) => [
      ...when(names.indexOf(name) < index, FieldError.duplicate(`${path}.${field}[${index}].name`, name)),
      ...invalids(`${path}.${field}[${index}].name`, name, rule(name))
    ])
  })
}

const mostAddresses = 100
const mostEndpoints = 1000
const mostPorts = 20000
const mostLabels = 16

const endpointFaults = (endpoint: unknown, type: string, path: string): Faults => {
  const addresses = arrayAt(endpoint, "addresses").map(String)
  const topology = objectAt(endpoint, "deprecatedTopology")
  return [
    ...when(
      addresses.length === 0,
      FieldError.required(`${path}.addresses`, "must contain at least 1 address")
    ),
    ...when(
      addresses.length > mostAddresses,
      FieldError.tooMany(`${path}.addresses`, addresses.length, mostAddresses)
    ),
    ...addresses.flatMap((address, index) => sliceAddress(type, `${path}.addresses`, index, address)),
    ...givenSubdomain(endpoint, "nodeName", path),
    ...when(
      Object.keys(topology).length > mostLabels,
      FieldError.tooMany(`${path}.deprecatedTopology`, Object.keys(topology).length, mostLabels)
    ),
    ...MetadataRules.validateLabels(topology as Readonly<Record<string, string>>, `${path}.deprecatedTopology`),
    ...givenLabel(endpoint, "hostname", path),
    ...hintFaults(endpoint, `${path}.hints`)
  ]
}

const endpointsFaults = (slice: unknown): Faults => {
  const endpoints = arrayAt(slice, "endpoints")
  return endpoints.length > mostEndpoints
    ? [FieldError.tooMany("endpoints", endpoints.length, mostEndpoints)]
    : endpoints.flatMap((endpoint, index) =>
      endpointFaults(endpoint, stringAt(slice, "addressType"), `endpoints[${index}]`)
    )
}

const slicePorts = (slice: unknown): Faults => {
  const ports = arrayAt(slice, "ports")
  if (ports.length > mostPorts) return [FieldError.tooMany("ports", ports.length, mostPorts)]
  const names = ports.map((port) => stringAt(port, "name"))
  return ports.flatMap((port, index) => [
    ...label(port, "name", `ports[${index}]`),
    ...when(names.indexOf(names[index]!) < index, FieldError.duplicate(`ports[${index}].name`, names[index])),
    ...optional(port, "protocol", `ports[${index}]`, PortRules.protocols),
    ...appProtocol(port, `ports[${index}]`)
  ])
}

/** Faults of an EndpointSlice. */
export const validateSlice: Strategy["validate"] = (slice, previous) => {
  const type = stringAt(slice, "addressType")
  return [
    ...(type === ""
      ? [FieldError.required("addressType", "")]
      : when(!addressTypes.includes(type), FieldError.notSupported("addressType", type, addressTypes))),
    ...slicePorts(slice),
    ...(previous !== undefined && JsonValue.equals(at(slice, "endpoints"), at(previous, "endpoints"))
      ? []
      : endpointsFaults(slice))
  ]
}

export const validateSliceUpdate = immutable("addressType")

/** Faults of load balancer ingress points. `modes` are the allowed values of `ipMode`, if the kind has that field. */
const ingressFaults = (object: unknown, modes: ReadonlyArray<string> | undefined): Faults =>
  arrayAt(object, "status", "loadBalancer", "ingress").flatMap((point, index) => {
    const path = `status.loadBalancer.ingress[${index}]`
    const [address, name] = [stringAt(point, "ip"), stringAt(point, "hostname")]
    const mode = at(point, "ipMode")
    return [
      ...(address === "" ? [] : ip(`${path}.ip`, address)),
      ...(modes === undefined
        ? []
        : mode === undefined
        ? when(address !== "", FieldError.required(`${path}.ipMode`, "must be specified when `ip` is set"))
        : address === ""
        ? [FieldError.forbidden(`${path}.ipMode`, "may not be specified when `ip` is not set")]
        : optional(point, "ipMode", path, modes)),
      ...subdomain(point, "hostname", path),
      ...when(
        name !== "" && isAddress(name),
        FieldError.invalid(`${path}.hostname`, name, "must be a DNS name, not an IP address")
      )
    ]
  })

/** Faults of the status of a Service, which is that of its load balancer. */
export const balancerStatus = (service: unknown, isBalancer: boolean): Faults =>
  !isBalancer && arrayAt(service, "status", "loadBalancer", "ingress").length > 0
    ? [FieldError.forbidden(
      "status.loadBalancer.ingress",
      "may only be used when `spec.type` is 'LoadBalancer'"
    )]
    : ingressFaults(service, ["Proxy", "VIP"])

/** Faults of the status of an Ingress. */
export const ingressStatus = (ingress: unknown): Faults => ingressFaults(ingress, undefined)
