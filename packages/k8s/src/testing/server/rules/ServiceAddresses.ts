/**
 * `ServiceAddresses`: allocates cluster IPs and node ports to Services, from a pool that all Services share.
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

/**
 * The families of a Service. `anyhow`: a headless Service without a selector may have both families, whichever the
 * cluster has.
 */
const families = (spec: JsonValue.JsonObject, anyhow: boolean): JsonValue.JsonObject => {
  const given = arrayAt(spec, "ipFamilies")
  // Validation reports an address in a family that the cluster does not have, unless `ipFamilies` names it.
  const isForeign = [at(spec, "clusterIP"), ...arrayAt(spec, "clusterIPs")].some((ip) => isAddress6(String(ip)))
  const own = given.length > 0 ? given : isForeign ? [] : ["IPv4"]
  const ipFamilyPolicy = at(spec, "ipFamilyPolicy") ?? (anyhow ? "RequireDualStack" : "SingleStack")
  const both = anyhow && own.length === 1 && ipFamilyPolicy !== "SingleStack"
  return { ipFamilies: both ? [...own, own[0] === "IPv4" ? "IPv6" : "IPv4"] : own, ipFamilyPolicy }
}

const withAddress = (spec: JsonValue.JsonObject, given: () => string): JsonValue.JsonObject => {
  const one = stringAt(spec, "clusterIP")
  const all = arrayAt(spec, "clusterIPs")
  // No address can be allocated in a family that the cluster does not have; validation reports that.
  if (one === "" && all.length === 0 && arrayAt(spec, "ipFamilies")[0] === "IPv6") {
    return { ...spec, ...families(spec, false) }
  }
  // `clusterIP` and `clusterIPs` belong together; validation reports if they differ.
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

/** Whether a Service gets node ports. A LoadBalancer can do without. */
const isGivenPorts = (spec: unknown): boolean =>
  usesNodes(spec) && !(isBalancer(spec) && at(spec, "allocateLoadBalancerNodePorts") === false)

const numberAt = (value: unknown, field: string): number => {
  const found = at(value, field)
  return typeof found === "number" ? found : 0
}

const nodePortsOf = (spec: unknown): ReadonlyArray<number> =>
  arrayAt(spec, "ports").map((port) => numberAt(port, "nodePort")).filter((port) => port !== 0)

/** Adds node ports. In a new Service, ports that differ only in protocol share one node port. */
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

/** Adds the health check node port of a LoadBalancer with the policy Local. */
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
  // Validation reports invalid policies.
  const isPolicy = policies.includes(stringAt(spec, "internalTrafficPolicy"))
  if (!hasAddress(spec)) return isPolicy ? { ...service, spec: omit(spec, "internalTrafficPolicy") } : service
  const addressed = withAddress(spec, () => pool.freeAddress(uid))
  return { ...service, spec: withHealthCheck(withNodePorts(addressed, uid, pool, fresh), uid, pool) }
}

export const prepareCreate: Strategy["prepareCreate"] = (service, pool) =>
  complete(service, stringAt(service, "metadata", "uid"), pool, true)

const isExternal = (spec: unknown): boolean =>
  usesNodes(spec) || (stringAt(spec, "type") === "ClusterIP" && arrayAt(spec, "externalIPs").length > 0)

/** Fields that depend on the type of a Service, each with the condition for having them. */
const ofType: ReadonlyArray<readonly [uses: (spec: unknown) => boolean, ...fields: ReadonlyArray<string>]> = [
  [isChecked, "healthCheckNodePort"],
  [isBalancer, "allocateLoadBalancerNodePorts", "loadBalancerClass"],
  [isExternal, "externalTrafficPolicy"]
]

/** The spec without fields that do not apply to its new type, unless the update itself sets them. */
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

/** Ports that omit their node port keep that of the previous port of the same name, unless another port uses it. */
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
 * A Service keeps the allocated addresses that an update omits. A new `clusterIP` replaces all addresses. A client that
 * only knows `clusterIP` means all addresses with it, whatever the new type of the Service is.
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

/**
 * An update that does not name the policy of families keeps that of before. Setting it to SingleStack is enough to
 * release the second family and its address.
 */
const inFamilies = (spec: JsonValue.JsonObject, before: JsonValue.JsonObject): JsonValue.JsonObject => {
  if (!hasAddress(spec)) return spec
  const ipFamilyPolicy = at(spec, "ipFamilyPolicy") ?? at(before, "ipFamilyPolicy")
  if (ipFamilyPolicy === undefined) return spec
  const released = ipFamilyPolicy !== "SingleStack" ?
    [] :
    ["clusterIPs", "ipFamilies"].filter((field) =>
      arrayAt(spec, field).length > 1 && JsonValue.equals(spec[field], before[field])
    )
  return {
    ...spec,
    ipFamilyPolicy,
    ...Object.fromEntries(released.map((field) => [field, arrayAt(spec, field).slice(0, 1)]))
  }
}

export const prepareUpdate: Strategy["prepareUpdate"] = (next, previous, pool) => {
  const before = objectAt(previous, "spec")
  const patched = keptCheck(keptPorts(kept(objectAt(next, "spec"), before), before), before)
  const spec = inFamilies(dropped(patched, before), before)
  // A load balancer is removed asynchronously, but the response does not show that.
  const status = isBalancer(spec) || Object.keys(objectAt(next, "status", "loadBalancer")).length === 0
    ? {}
    : { status: { ...objectAt(next, "status"), loadBalancer: {} } }
  return complete({ ...next, ...status, spec }, previous.metadata.uid, pool, false)
}

const isTaken = "is already allocated"

/** The node ports that are allocated to one Service. */
class Claims {
  readonly #given = new Set<number>()
  readonly #pool: ServicePool
  readonly #dryRun: boolean

  constructor(pool: ServicePool, dryRun: boolean) {
    this.#pool = pool
    this.#dryRun = dryRun
  }

  /** Why a port cannot be allocated. A dry run checks only whether it is taken. */
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

/** The fault of the node ports of a new Service. Ports that differ only in protocol count once. */
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

/** The fault of the node ports of an existing Service. It keeps its ports, and may use each only once per protocol. */
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

/** The first requested address or port that cannot be allocated. */
export const refusal: Strategy["refusal"] = (service, previous, pool, dryRun) => {
  const [spec, before] = [objectAt(service, "spec"), objectAt(previous, "spec")]
  const { name, uid } = service.metadata
  // A dry run allocates no address.
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
