/**
 * `ServiceRules`: the addresses and ports a Service is given.
 *
 * The real server takes them from a pool; here they follow from the uid, so that no pool has to be kept.
 */
import * as FieldError from "../schema/FieldError.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import * as MetadataRules from "../../api/MetadataRules.ts"
import * as Names from "../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as PortRules from "./PortRules.ts"
import type { Strategy } from "./Strategy.ts"

const digits = (uid: string, from: number): number =>
  Number.parseInt(uid.replaceAll("-", "").slice(from, from + 4), 16) || 0

/** An address in 10.96.0.0/12 that is none of the network's own. */
const address = (uid: string): string => {
  const host = digits(uid, 0)
  return `10.${96 + (digits(uid, 4) % 16)}.${host >> 8}.${1 + (host & 0xff) % 254}`
}

const hasAddress = (spec: unknown): boolean => stringAt(spec, "type") !== "ExternalName"

const withAddress = (spec: JsonValue.JsonObject, ip: string): JsonValue.JsonObject => ({
  ...spec,
  clusterIP: ip,
  clusterIPs: [ip],
  ipFamilies: at(spec, "ipFamilies") ?? ["IPv4"],
  ipFamilyPolicy: at(spec, "ipFamilyPolicy") ?? "SingleStack"
})

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

const prepareCreate: Strategy["prepareCreate"] = (service) => {
  const uid = stringAt(service, "metadata", "uid")
  return complete(service, stringAt(service, "spec", "clusterIP") || address(uid), uid)
}

/** A PUT that leaves out what was given to the Service keeps it. */
const prepareUpdate: Strategy["prepareUpdate"] = (next, previous) => {
  const { uid } = previous.metadata
  const kept = stringAt(next, "spec", "clusterIP") || stringAt(previous, "spec", "clusterIP") || address(uid)
  return complete(next, kept, uid)
}

const portFaults = (ports: ReadonlyArray<unknown>): ReadonlyArray<FieldError.FieldError> => {
  const names = new Set<string>()
  const pairs = new Set<string>()
  return ports.flatMap((port, index) => {
    const path = `spec.ports[${index}]`
    const name = stringAt(port, "name")
    const protocol = stringAt(port, "protocol")
    const number = at(port, "port")
    const repeated = name !== "" && names.has(name)
    names.add(name)
    const pair = `${String(number)}/${protocol}`
    const taken = pairs.has(pair)
    pairs.add(pair)
    const faults = [
      ...(name === ""
        ? ports.length > 1 ? [FieldError.required(`${path}.name`, "")] : []
        : Names.dnsLabel(name).map((fault) => FieldError.invalid(`${path}.name`, name, fault))),
      ...(repeated ? [FieldError.duplicate(`${path}.name`, name)] : []),
      ...PortRules.portOrName(`${path}.port`, typeof number === "number" ? number : 0),
      ...(protocol === ""
        ? [FieldError.required(`${path}.protocol`, "")]
        : PortRules.protocols.includes(protocol)
        ? []
        : [FieldError.notSupported(`${path}.protocol`, protocol, PortRules.protocols)]),
      ...PortRules.portOrName(`${path}.targetPort`, at(port, "targetPort") ?? 0),
      ...nodePortFaults(port, path)
    ]
    return taken ? [...faults, FieldError.duplicate(path, { port: number, protocol })] : faults
  })
}

const lowestNodePort = 30000
const highestNodePort = 32767

const nodePortFaults = (port: unknown, path: string): ReadonlyArray<FieldError.FieldError> => {
  const number = at(port, "nodePort")
  return typeof number === "number" && (number < lowestNodePort || number > highestNodePort)
    ? [FieldError.invalid(
      `${path}.nodePort`,
      number,
      `provided port is not in the valid range. The range of valid ports is ${lowestNodePort}-${highestNodePort}`
    )]
    : []
}

const isAddress = (text: string): boolean =>
  text === "" || text === "None" || /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text) ||
  /^[0-9a-f:]*:[0-9a-f:.]*$/i.test(text)

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]

const validate: Strategy["validate"] = (service) => {
  const spec = objectAt(service, "spec")
  const ports = arrayAt(spec, "ports")
  const headless = stringAt(spec, "clusterIP") === "None"
  const affinity = stringAt(spec, "sessionAffinity")
  const type = stringAt(spec, "type")
  return [
    ...(ports.length === 0 && !headless && hasAddress(spec) ? [FieldError.required("spec.ports", "")] : []),
    ...portFaults(ports),
    ...(isAddress(stringAt(spec, "clusterIP"))
      ? []
      : [FieldError.invalid(
        "spec.clusterIPs[0]",
        stringAt(spec, "clusterIP"),
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
      )]),
    ...MetadataRules.validateLabels(objectAt(spec, "selector") as Readonly<Record<string, string>>, "spec.selector"),
    ...(["ClientIP", "None"].includes(affinity)
      ? []
      : [FieldError.notSupported("spec.sessionAffinity", affinity, ["ClientIP", "None"])]),
    ...(types.includes(type) ? [] : [FieldError.notSupported("spec.type", type, types)])
  ]
}

const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const before = stringAt(previous, "spec", "clusterIP")
  const after = stringAt(next, "spec", "clusterIP")
  const stays = hasAddress(at(previous, "spec")) && hasAddress(at(next, "spec"))
  return stays && before !== "" && after !== before
    ? [FieldError.invalid("spec.clusterIPs[0]", [after], "may not change once set")]
    : []
}

export const strategy: Partial<Strategy> = { prepareCreate, prepareUpdate, validate, validateUpdate }
