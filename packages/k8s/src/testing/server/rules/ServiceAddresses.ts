/**
 * `ServiceAddresses`: the addresses and ports a Service is given, out of a pool that all Services share.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/service/storage/{alloc,storage}.go.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import { nodePorts, type ServicePool } from "../ServicePool.ts"
import type { Strategy } from "../Strategy.ts"
import { isAddress6 } from "./Checks.ts"
import { omit } from "./Immutability.ts"

const hasAddress = (spec: unknown): boolean => stringAt(spec, "type") !== "ExternalName"

/** Who says himself where a headless Service leads may say so in both families, whatever the cluster has. */
const families = (spec: JsonValue.JsonObject, anyhow: boolean): JsonValue.JsonObject => {
  const given = arrayAt(spec, "ipFamilies")
  // Of an address in a family that the cluster has not the validation says so, as long as nobody has named the family.
  const isForeign = [at(spec, "clusterIP"), ...arrayAt(spec, "clusterIPs")].some((ip) => isAddress6(String(ip)))
  const own = given.length > 0 ? given : isForeign ? [] : ["IPv4"]
  const ipFamilyPolicy = at(spec, "ipFamilyPolicy") ?? (anyhow ? "RequireDualStack" : "SingleStack")
  const both = anyhow && own.length === 1 && ipFamilyPolicy !== "SingleStack"
  return { ipFamilies: both ? [...own, own[0] === "IPv4" ? "IPv6" : "IPv4"] : own, ipFamilyPolicy }
}

const withAddress = (spec: JsonValue.JsonObject, given: () => string): JsonValue.JsonObject => {
  const one = stringAt(spec, "clusterIP")
  const all = arrayAt(spec, "clusterIPs")
  // Nothing can be given in a family that the cluster has not, which the validation says.
  if (one === "" && all.length === 0 && arrayAt(spec, "ipFamilies")[0] === "IPv6") {
    return { ...spec, ...families(spec, false) }
  }
  // The one and the list of all are one thing; where they are not, the validation says so.
  const ip = one === "" && all.length === 0 ? given() : one
  return {
    ...spec,
    ...(ip === "" ? {} : { clusterIP: ip }),
    clusterIPs: all.length === 0 ? [ip] : all,
    ...families(spec, ip === "None" && Object.keys(objectAt(spec, "selector")).length === 0)
  }
}

const usesNodes = (spec: unknown): boolean => ["LoadBalancer", "NodePort"].includes(stringAt(spec, "type"))

const isBalancer = (spec: unknown): boolean => stringAt(spec, "type") === "LoadBalancer"

const isChecked = (spec: unknown): boolean => isBalancer(spec) && stringAt(spec, "externalTrafficPolicy") === "Local"

/** Ports of nodes are given to whoever uses nodes; a balancer may do without. */
const isGivenPorts = (spec: unknown): boolean =>
  usesNodes(spec) && !(isBalancer(spec) && at(spec, "allocateLoadBalancerNodePorts") === false)

const numberAt = (value: unknown, field: string): number => {
  const found = at(value, field)
  return typeof found === "number" ? found : 0
}

const nodePortsOf = (spec: unknown): ReadonlyArray<number> =>
  arrayAt(spec, "ports").map((port) => numberAt(port, "nodePort")).filter((port) => port !== 0)

/** Ports of a new Service: what differs by protocol alone has one port of the nodes. */
const withNodePorts = (spec: JsonValue.JsonObject, uid: string, pool: ServicePool, fresh: boolean) => {
  if (!isGivenPorts(spec)) return spec
  const ports = arrayAt(spec, "ports")
  const own = new Set(nodePortsOf(spec))
  const byPort = new Map<number, number>()
  if (fresh) {
    for (const port of ports.toReversed()) {
      if (numberAt(port, "nodePort") !== 0) byPort.set(numberAt(port, "port"), numberAt(port, "nodePort"))
    }
  }
  const given = (port: unknown): number => {
    const known = byPort.get(numberAt(port, "port"))
    if (known !== undefined) return known
    const free = pool.freePort(uid, own)
    own.add(free)
    if (fresh) byPort.set(numberAt(port, "port"), free)
    return free
  }
  return {
    ...spec,
    ports: ports.map((port) => ({
      ...objectAt(port),
      nodePort: numberAt(port, "nodePort") === 0 ? given(port) : at(port, "nodePort")
    }))
  }
}

/** A balancer that asks each node for its own Pods asks at a port of its own. */
const withHealthCheck = (spec: JsonValue.JsonObject, uid: string, pool: ServicePool): JsonValue.JsonObject =>
  isChecked(spec)
    ? {
      ...spec,
      healthCheckNodePort: at(spec, "healthCheckNodePort") ?? pool.freePort(uid, new Set(nodePortsOf(spec)))
    }
    : spec

const policies = ["Cluster", "Local"]

const complete = (service: JsonValue.JsonObject, uid: string, pool: ServicePool, fresh: boolean) => {
  const spec = objectAt(service, "spec")
  // What is no policy at all is left to the validation.
  const isPolicy = policies.includes(stringAt(spec, "internalTrafficPolicy"))
  if (!hasAddress(spec)) return isPolicy ? { ...service, spec: omit(spec, "internalTrafficPolicy") } : service
  const addressed = withAddress(spec, () => pool.freeAddress(uid))
  return { ...service, spec: withHealthCheck(withNodePorts(addressed, uid, pool, fresh), uid, pool) }
}

export const prepareCreate: Strategy["prepareCreate"] = (service, pool) =>
  complete(service, stringAt(service, "metadata", "uid"), pool, true)

const isExternal = (spec: unknown): boolean =>
  usesNodes(spec) || (stringAt(spec, "type") === "ClusterIP" && arrayAt(spec, "externalIPs").length > 0)

/** What a Service of another type has no use for, by whether a Service has a use for it. */
const ofType: ReadonlyArray<readonly [uses: (spec: unknown) => boolean, ...fields: ReadonlyArray<string>]> = [
  [isChecked, "healthCheckNodePort"],
  [isBalancer, "allocateLoadBalancerNodePorts", "loadBalancerClass"],
  [isExternal, "externalTrafficPolicy"]
]

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

/** The ports with those of the nodes that ports of the same name had, where they are left out and not used by others. */
const keptPorts = (spec: JsonValue.JsonObject, before: JsonValue.JsonObject): JsonValue.JsonObject => {
  if (!isGivenPorts(spec) || !isGivenPorts(before)) return spec
  const [now, then] = [nodePortsOf(spec), nodePortsOf(before)]
  const used = new Set(then.filter((port) => now.includes(port)))
  const byName = new Map(arrayAt(before, "ports").map((port) => [stringAt(port, "name"), numberAt(port, "nodePort")]))
  const ports = arrayAt(spec, "ports").map((port) => {
    const old = byName.get(stringAt(port, "name")) ?? 0
    if (numberAt(port, "nodePort") !== 0 || old === 0 || used.has(old)) return port
    used.add(old)
    return { ...objectAt(port), nodePort: old }
  })
  return { ...spec, ports }
}

const keptCheck = (spec: JsonValue.JsonObject, before: JsonValue.JsonObject): JsonValue.JsonObject =>
  isChecked(spec) && isChecked(before) && numberAt(spec, "healthCheckNodePort") === 0
    ? { ...spec, healthCheckNodePort: before["healthCheckNodePort"] }
    : spec

/**
 * What was given to the Service and is left out it keeps; another first address is the only one. Who knows of one address
 * alone means all by it, whatever the Service is to be.
 */
const kept = (spec: JsonValue.JsonObject, before: JsonValue.JsonObject): JsonValue.JsonObject => {
  const stays = hasAddress(spec) && hasAddress(before)
  const [was, had] = [stringAt(before, "clusterIP"), arrayAt(before, "clusterIPs")]
  const one = stringAt(spec, "clusterIP") || (stays ? was : "")
  const given = arrayAt(spec, "clusterIPs")
  const all = given.length === 0 && (stays || one === was) ? had : given
  const moved = one !== was && JsonValue.equals(all, had)
  const addresses = !moved ? all : one === "" ? [] : [one]
  return {
    ...omit(spec, "clusterIPs"),
    ...(one === "" ? {} : { clusterIP: one }),
    ...(addresses.length === 0 ? {} : { clusterIPs: addresses })
  }
}

export const prepareUpdate: Strategy["prepareUpdate"] = (next, previous, pool) => {
  const before = objectAt(previous, "spec")
  const patched = keptCheck(keptPorts(kept(objectAt(next, "spec"), before), before), before)
  const spec = dropped(patched, before)
  // A balancer goes in its own time, but whoever asks need not know.
  const status = isBalancer(spec) || Object.keys(objectAt(next, "status", "loadBalancer")).length === 0
    ? {}
    : { status: { ...objectAt(next, "status"), loadBalancer: {} } }
  return complete({ ...next, ...status, spec }, previous.metadata.uid, pool, false)
}

const isTaken = "is already allocated"

/** What a Service is given of the ports that nodes have, one by one. */
class Claims {
  readonly #given = new Set<number>()
  readonly #pool: ServicePool
  readonly #dryRun: boolean

  constructor(pool: ServicePool, dryRun: boolean) {
    this.#pool = pool
    this.#dryRun = dryRun
  }

  /** Why a port cannot be had. A dry run asks no more than whether it is taken. */
  ask(port: number): string | undefined {
    if (!this.#dryRun && (port < nodePorts.lowest || port > nodePorts.highest)) {
      return `provided port is not in the valid range. The range of valid ports is ${nodePorts.lowest}-${nodePorts.highest}`
    }
    if (this.#given.has(port) || this.#pool.isTaken(port)) return `provided port ${isTaken}`
    this.#given.add(port)
    return undefined
  }
}

const refusedPort = (name: string, index: number, port: number, why: string): StatusError.StatusError =>
  StatusError.invalid("Service", "", name, [FieldError.invalid(`spec.ports[${index}].nodePort`, port, why)])

/** A new Service asks for each port once, whatever the protocols. */
const newPorts = (name: string, spec: unknown, claims: Claims): StatusError.StatusError | undefined => {
  const ports = arrayAt(spec, "ports")
  const byPort = new Map<number, number>()
  for (const [index, port] of ports.entries()) {
    const [number, own] = [numberAt(port, "port"), numberAt(port, "nodePort")]
    const known = byPort.get(number)
    const wanted = known ??
      numberAt(
        ports.find((other) => numberAt(other, "port") === number && numberAt(other, "nodePort") !== 0),
        "nodePort"
      )
    if (wanted === 0 || own === 0) continue
    const asked = known === undefined ? wanted : own === known ? undefined : own
    const why = asked === undefined ? undefined : claims.ask(asked)
    if (why !== undefined) return refusedPort(name, index, asked!, why)
    byPort.set(number, wanted)
  }
  return undefined
}

/** A Service keeps the ports that it has, and has none twice in a protocol. */
const otherPorts = (
  name: string,
  spec: unknown,
  before: unknown,
  claims: Claims
): StatusError.StatusError | undefined => {
  const known = new Set(nodePortsOf(before))
  const seen = new Set<string>()
  for (const [index, port] of arrayAt(spec, "ports").entries()) {
    const number = numberAt(port, "nodePort")
    if (number === 0) continue
    const why = known.has(number) ? undefined : claims.ask(number)
    if (why !== undefined) return refusedPort(name, index, number, why)
    known.add(number)
    const told = `{${stringAt(port, "protocol")} ${number}}`
    if (seen.has(told)) return StatusError.plain(`duplicate nodePort: ${told}`)
    seen.add(told)
  }
  return undefined
}

/** What a Service asks for and cannot be given: the first of it. */
export const refusal: Strategy["refusal"] = (service, previous, pool, dryRun) => {
  const [spec, before] = [objectAt(service, "spec"), objectAt(previous, "spec")]
  const { name, uid } = service.metadata
  // A dry run asks for no address.
  const ips = hasAddress(spec) && !dryRun ? arrayAt(spec, "clusterIPs").map(String) : []
  const ip = ips.find((address) => pool.hasAddress(address, uid))
  if (ip !== undefined) {
    const why = `failed to allocate IP ${ip}: provided IP ${isTaken}`
    return StatusError.invalid("Service", "", name, [FieldError.invalid("spec.clusterIPs", ips, why)])
  }
  const claims = new Claims(pool, dryRun)
  const refused = !usesNodes(spec)
    ? undefined
    : previous === undefined
    ? newPorts(name, spec, claims)
    : otherPorts(name, spec, before, claims)
  if (refused !== undefined || !isChecked(spec) || isChecked(before)) return refused
  const port = numberAt(spec, "healthCheckNodePort")
  const why = claims.ask(port)
  return why === undefined
    ? undefined
    : StatusError.internal(`failed to allocate requested HealthCheck NodePort ${port}: ${why}`)
}
