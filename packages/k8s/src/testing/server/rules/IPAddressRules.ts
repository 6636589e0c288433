/**
 * `IPAddressRules`: validates IPAddresses: the name is the address in canonical form, and the parent is immutable.
 *
 * Source: k8s.io/kubernetes/pkg/apis/networking/validation/validation.go `ValidateIPAddress`.
 */
import * as Names from "../../../api/Names.ts"
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import * as AddressRules from "./AddressRules.ts"
import { type Faults, invalids, segment } from "./Checks.ts"

const path = "spec.parentRef"

const parentFields: GoStruct.Fields = [
  ["group", "\"\""],
  ["resource", "\"\""],
  ["namespace", "\"\""],
  ["name", "\"\""]
]

const parentFaults = (parent: unknown): Faults => {
  if (parent === undefined) return [FieldError.required(path, "")]
  const [group, namespace] = [stringAt(parent, "group"), stringAt(parent, "namespace")]
  return [
    ...(group === "" ? [] : invalids(`${path}.group`, group, Names.dnsSubdomain(group))),
    ...segment(parent, path, "resource", "name"),
    ...(namespace === "" ? [] : invalids(`${path}.namespace`, namespace, Names.pathSegment(namespace)))
  ]
}

const validate: Strategy["validate"] = (address) => {
  const name = stringAt(address, "metadata", "name")
  return [
    // A missing name is reported elsewhere.
    ...(name === "" ? [] : AddressRules.address("metadata.name", name)),
    ...parentFaults(at(address, "spec", "parentRef"))
  ]
}

const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const [parent, before] = [next, previous].map((address) => at(address, "spec", "parentRef"))
  return JsonValue.equals(parent, before) ? [] : [FieldError.invalidPrinted(
    path,
    parent === undefined ? "null" : GoStruct.print(parent, parentFields),
    "field is immutable"
  )]
}

export const strategy: Partial<Strategy> = { validate, validateUpdate }
