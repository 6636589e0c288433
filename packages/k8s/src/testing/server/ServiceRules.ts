/**
 * `ServiceRules`: the addresses and ports a Service is given.
 *
 * The real server takes them from a pool; here they follow from the uid, so that no pool has to be kept.
 */
import * as FieldError from "../schema/FieldError.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "./Plain.ts"
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

const complete = (service: JsonValue.JsonObject, ip: string, uid: string): JsonValue.JsonObject => {
  const spec = objectAt(service, "spec")
  return hasAddress(spec) ? { ...service, spec: withNodePorts(withAddress(spec, ip), uid) } : service
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

const validate: Strategy["validate"] = (service) => {
  const ports = arrayAt(service, "spec", "ports")
  const headless = stringAt(service, "spec", "clusterIP") === "None"
  return ports.length === 0 && !headless && hasAddress(at(service, "spec"))
    ? [FieldError.required("spec.ports", "")]
    : ports.flatMap((port, index) =>
      ports.length > 1 && stringAt(port, "name") === "" ? [FieldError.required(`spec.ports[${index}].name`, "")] : []
    )
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
