/**
 * `NetworkPolicyRules`: validates NetworkPolicies.
 *
 * Source: k8s.io/kubernetes/pkg/apis/networking/validation/validation.go `ValidateNetworkPolicySpec`.
 */
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import { type Faults, optional, when } from "./Checks.ts"
import * as LabelSelectorRules from "./LabelSelectorRules.ts"
import * as RangeRules from "./RangeRules.ts"
import * as PortRules from "./pods/PortRules.ts"

const endFaults = (port: unknown, path: string): Faults => {
  const [first, last] = [at(port, "port"), at(port, "endPort")]
  const here = `${path}.endPort`
  if (typeof last !== "number") return []
  if (typeof first === "string") {
    return [FieldError.invalid(here, last, "may not be specified when `port` is non-numeric")]
  }
  if (typeof first !== "number") {
    return [FieldError.invalid(here, last, "may not be specified when `port` is not specified")]
  }
  return [
    ...when(last < first, FieldError.invalid(here, first, "must be greater than or equal to `port`")),
    ...PortRules.portNumber(here, last)
  ]
}

const portFaults = (port: unknown, path: string): Faults => {
  const value = at(port, "port")
  const [own, end] = [value === undefined ? [] : PortRules.portOrName(`${path}.port`, value), endFaults(port, path)]
  return [
    ...optional(port, "protocol", path, ["TCP", "UDP", "SCTP"]),
    ...(typeof value === "string" ? [...end, ...own] : [...own, ...end])
  ]
}

const blockFaults = (block: unknown, path: string): Faults => {
  const text = stringAt(block, "cidr")
  if (text === "") return [FieldError.required(`${path}.cidr`, "")]
  const outer = RangeRules.parse(text)
  if (outer === undefined) return RangeRules.faults(`${path}.cidr`, text)
  return arrayAt(block, "except").map(String).flatMap((except, index) => {
    const here = `${path}.except[${index}]`
    const inner = RangeRules.parse(except)
    return inner === undefined
      ? RangeRules.faults(here, except)
      : when(
        !RangeRules.isStrictlyWithin(inner, outer),
        FieldError.invalid(here, except, "must be a strict subset of `cidr`")
      )
  })
}

const peerFaults = (peer: unknown, path: string): Faults => {
  const given = ["podSelector", "namespaceSelector", "ipBlock"].filter((kind) => at(peer, kind) !== undefined)
  return [
    ...LabelSelectorRules.validate(at(peer, "podSelector"), `${path}.podSelector`),
    ...LabelSelectorRules.validate(at(peer, "namespaceSelector"), `${path}.namespaceSelector`),
    ...(given.includes("ipBlock") ? blockFaults(at(peer, "ipBlock"), `${path}.ipBlock`) : []),
    ...(given.length === 0
      ? [FieldError.required(path, "must specify a peer")]
      : when(
        given.length > 1 && given.includes("ipBlock"),
        FieldError.forbidden(path, "may not specify both ipBlock and another peer")
      ))
  ]
}

const ruleFaults = (spec: unknown, direction: "ingress" | "egress", peers: "from" | "to"): Faults =>
  arrayAt(spec, direction).flatMap((rule, place) => {
    const path = `spec.${direction}[${place}]`
    return [
      ...arrayAt(rule, "ports").flatMap((port, index) => portFaults(port, `${path}.ports[${index}]`)),
      ...arrayAt(rule, peers).flatMap((peer, index) => peerFaults(peer, `${path}.${peers}[${index}]`))
    ]
  })

const types = ["Ingress", "Egress"]

/** Faults of a NetworkPolicy. */
export const validate: Strategy["validate"] = (policy) => {
  const spec = objectAt(policy, "spec")
  const given = arrayAt(spec, "policyTypes").map(String)
  return [
    ...LabelSelectorRules.validate(at(spec, "podSelector"), "spec.podSelector"),
    ...ruleFaults(spec, "ingress", "from"),
    ...ruleFaults(spec, "egress", "to"),
    ...(given.length > types.length
      ? [FieldError.invalid("spec.policyTypes", given, "may not specify more than two policyTypes")]
      : given.flatMap((type, index) =>
        when(!types.includes(type), FieldError.notSupported(`spec.policyTypes[${index}]`, type, types))
      ))
  ]
}
