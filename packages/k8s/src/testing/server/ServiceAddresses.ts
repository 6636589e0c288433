/**
 * `ServiceAddresses`: the addresses and ports a Service is given.
 *
 * The real server takes them from a pool; here they follow from the uid, so that no pool has to be kept.
 */
import { omit } from "./Immutability.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Strategy } from "./Strategy.ts"

const digits = (uid: string, from: number): number =>
  Number.parseInt(uid.replaceAll("-", "").slice(from, from + 4), 16) || 0

/** An address in 10.96.0.0/12 that is none of the network's own. */
const address = (uid: string): string => {
  const host = digits(uid, 0)
  return `10.${96 + (digits(uid, 4) % 16)}.${host >> 8}.${1 + (host & 0xff) % 254}`
}

const hasAddress = (spec: unknown): boolean => stringAt(spec, "type") !== "ExternalName"

const withAddress = (spec: JsonValue.JsonObject, given: string): JsonValue.JsonObject => {
  const one = stringAt(spec, "clusterIP")
  const all = arrayAt(spec, "clusterIPs")
  // The one and the list of all are one thing; where they are not, the validation says so.
  const ip = one === "" && all.length === 0 ? given : one
  return {
    ...spec,
    ...(ip === "" ? {} : { clusterIP: ip }),
    clusterIPs: all.length === 0 ? [ip] : all,
    ipFamilies: at(spec, "ipFamilies") ?? ["IPv4"],
    ipFamilyPolicy: at(spec, "ipFamilyPolicy") ?? "SingleStack"
  }
}

const withNodePorts = (spec: JsonValue.JsonObject, uid: string): JsonValue.JsonObject =>
  stringAt(spec, "type") === "NodePort" || stringAt(spec, "type") === "LoadBalancer"
    ? {
      ...spec,
      ports: arrayAt(spec, "ports").map((port, index) => ({
        ...objectAt(port),
        nodePort: at(port, "nodePort") ?? 30000 + ((digits(uid, 8) + index) % 2768)
      }))
    }
    : spec

/** A balancer that asks each node for its own Pods asks at a port of its own. */
const withHealthCheck = (spec: JsonValue.JsonObject, uid: string): JsonValue.JsonObject =>
  stringAt(spec, "type") === "LoadBalancer" && stringAt(spec, "externalTrafficPolicy") === "Local"
    ? { ...spec, healthCheckNodePort: at(spec, "healthCheckNodePort") ?? 30000 + (digits(uid, 12) % 2768) }
    : spec

const complete = (service: JsonValue.JsonObject, ip: string, uid: string): JsonValue.JsonObject => {
  const spec = objectAt(service, "spec")
  return hasAddress(spec)
    ? { ...service, spec: withHealthCheck(withNodePorts(withAddress(spec, ip), uid), uid) }
    : service
}

export const prepareCreate: Strategy["prepareCreate"] = (service) => {
  const uid = stringAt(service, "metadata", "uid")
  return complete(service, address(uid), uid)
}

const isExternal = (spec: unknown): boolean =>
  usesNodes(spec) || (stringAt(spec, "type") === "ClusterIP" && arrayAt(spec, "externalIPs").length > 0)

const usesNodes = (spec: unknown): boolean => ["LoadBalancer", "NodePort"].includes(stringAt(spec, "type"))

const isBalancer = (spec: unknown): boolean => stringAt(spec, "type") === "LoadBalancer"

const isChecked = (spec: unknown): boolean => isBalancer(spec) && stringAt(spec, "externalTrafficPolicy") === "Local"

/** What a Service of another type has no use for, by whether a Service has a use for it. */
const ofType: ReadonlyArray<readonly [uses: (spec: unknown) => boolean, ...fields: ReadonlyArray<string>]> = [
  [isChecked, "healthCheckNodePort"],
  [isBalancer, "allocateLoadBalancerNodePorts", "loadBalancerClass"],
  [isExternal, "externalTrafficPolicy"]
]

const nodePortsOf = (spec: unknown): ReadonlyArray<unknown> =>
  arrayAt(spec, "ports").map((port) => at(port, "nodePort")).filter((port) => port !== undefined && port !== 0)

/** The spec without what its new type has no use for, unless the update itself has brought it. */
const dropped = (spec: JsonValue.JsonObject, before: JsonValue.JsonObject): JsonValue.JsonObject => {
  const same = (field: string) => JsonValue.equals(spec[field], before[field])
  const unused = ofType.filter(([uses]) => uses(before) && !uses(spec)).flatMap(([, ...fields]) => fields)
  const addresses = hasAddress(before) && !hasAddress(spec)
    ? [
      ...(same("clusterIP") && same("clusterIPs") ? ["clusterIP", "clusterIPs"] : []),
      "ipFamilies",
      "ipFamilyPolicy"
    ]
    : []
  const left = omit(spec, ...[...unused, ...addresses].filter(same))
  const old = nodePortsOf(before)
  return usesNodes(before) && !usesNodes(spec) && nodePortsOf(spec).every((port) => old.includes(port))
    ? { ...left, ports: arrayAt(left, "ports").map((port) => omit(objectAt(port), "nodePort")) }
    : left
}

/** What was given to the Service and is left out it keeps; another first address is the only one. */
const kept = (spec: JsonValue.JsonObject, before: JsonValue.JsonObject): JsonValue.JsonObject => {
  if (!hasAddress(spec) || !hasAddress(before)) return spec
  const one = stringAt(spec, "clusterIP") || stringAt(before, "clusterIP")
  const given = arrayAt(spec, "clusterIPs")
  const all = given.length === 0 ? arrayAt(before, "clusterIPs") : given
  const moved = one !== stringAt(before, "clusterIP") && JsonValue.equals(all, before["clusterIPs"])
  return { ...spec, ...(one === "" ? {} : { clusterIP: one }), clusterIPs: moved ? [one] : all }
}

export const prepareUpdate: Strategy["prepareUpdate"] = (next, previous) => {
  const { uid } = previous.metadata
  const before = objectAt(previous, "spec")
  const spec = dropped(kept(objectAt(next, "spec"), before), before)
  return complete({ ...next, spec }, address(uid), uid)
}
