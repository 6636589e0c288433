/**
 * `IngressRules`: validates Ingresses and IngressClasses.
 *
 * Source: k8s.io/kubernetes/pkg/apis/networking/validation/validation.go.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import {
  domainPath,
  type Faults,
  invalids,
  isAddress,
  oneOfGiven,
  required,
  segment,
  subdomain,
  when
} from "./Checks.ts"
import * as EndpointRules from "./EndpointRules.ts"
import { immutableText } from "./Immutability.ts"
import * as PortRules from "./pods/PortRules.ts"

const part = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const wildcardFormat = `\\*\\.${part}(\\.${part})*`

const wildcard = (name: string): ReadonlyArray<string> => [
  ...Names.longName(name, 253),
  ...(new RegExp(`^${wildcardFormat}$`).test(name) ? [] : [
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower " +
    "case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used " +
    `for validation is '${wildcardFormat}')`
  ])
]

const host = (name: string): ReadonlyArray<string> => name.includes("*") ? wildcard(name) : Names.dnsSubdomain(name)

const reference = (value: unknown, path: string): Faults => {
  const group = at(value, "apiGroup")
  return [
    ...(typeof group === "string" ? invalids(`${path}.apiGroup`, group, Names.dnsSubdomain(group)) : []),
    ...segment(value, path, "kind", "name")
  ]
}

const servicePort = (service: unknown, path: string): Faults => {
  const name = stringAt(service, "port", "name")
  const number = at(service, "port", "number") ?? 0
  return name !== "" && number !== 0
    ? [FieldError.invalid(path, "", "cannot set both port name & port number")]
    : name !== ""
    ? invalids(`${path}.service.port.name`, name, PortRules.portName(name))
    : number !== 0
    ? PortRules.portNumber(`${path}.service.port.number`, Number(number))
    : [FieldError.required(path, "port name or number is required")]
}

const backend = (value: unknown, path: string): Faults => {
  const [resource, service] = [at(value, "resource"), at(value, "service")]
  if (resource !== undefined && service !== undefined) {
    return [FieldError.invalid(path, "", "cannot set both resource and service backends")]
  }
  if (resource !== undefined) return reference(resource, `${path}.resource`)
  if (service === undefined) return [FieldError.invalid(path, "", "resource or service backend is required")]
  const name = stringAt(service, "name")
  return [
    ...(name === ""
      ? required(service, `${path}.service`, "name")
      : invalids(`${path}.service.name`, name, Names.dns1035Label(name))),
    ...servicePort(service, path)
  ]
}

const within = ["//", "/./", "/../", "%2f", "%2F"]
const endings = ["/..", "/."]

const pathFaults = (value: unknown, path: string): Faults => {
  const text = stringAt(value, "path")
  const type = stringAt(value, "pathType")
  if (at(value, "pathType") === undefined) {
    return [FieldError.required(`${path}.pathType`, "pathType must be specified")]
  }
  const refused = (wrong: boolean, why: string) => when(wrong, FieldError.invalid(`${path}.path`, text, why))
  const absolute = refused(!text.startsWith("/"), "must be an absolute path")
  return [
    ...(type === "Exact" || type === "Prefix"
      ? [
        ...absolute,
        ...within.flatMap((sequence) => refused(text.includes(sequence), `must not contain '${sequence}'`)),
        ...endings.flatMap((ending) => refused(text.endsWith(ending), `cannot end with '${ending}'`))
      ]
      : type === "ImplementationSpecific"
      ? text === "" ? [] : absolute
      : oneOfGiven(value, "pathType", path, ["Exact", "ImplementationSpecific", "Prefix"])),
    ...backend(at(value, "backend"), `${path}.backend`)
  ]
}

const ruleFaults = (rule: unknown, path: string): Faults => {
  const name = stringAt(rule, "host")
  const http = at(rule, "http")
  const paths = arrayAt(http, "paths")
  return [
    ...(name === "" ? [] : [
      ...when(isAddress(name), FieldError.invalid(`${path}.host`, name, "must be a DNS name, not an IP address")),
      ...invalids(`${path}.host`, name, host(name))
    ]),
    ...when(http !== undefined && paths.length === 0, FieldError.required(`${path}.http.paths`, "")),
    ...paths.flatMap((value, index) => pathFaults(value, `${path}.http.paths[${index}]`))
  ]
}

const tlsFaults = (tls: unknown, path: string): Faults => [
  ...arrayAt(tls, "hosts").map(String).flatMap((name, index) => invalids(`${path}.hosts[${index}]`, name, host(name))),
  ...subdomain(tls, "secretName", path)
]

const classAnnotation = "kubernetes.io/ingress.class"

const validate: Strategy["validate"] = (ingress, previous) => {
  const spec = objectAt(ingress, "spec")
  const rules = arrayAt(spec, "rules")
  const main = at(spec, "defaultBackend")
  const name = at(spec, "ingressClassName")
  const annotated = ingress.metadata.annotations?.[classAnnotation]
  return [
    ...when(
      rules.length === 0 && main === undefined,
      FieldError.invalid("spec", at(spec, "rules") ?? null, "either `defaultBackend` or `rules` must be specified")
    ),
    ...(main === undefined ? [] : backend(main, "spec.defaultBackend")),
    ...rules.flatMap((rule, index) => ruleFaults(rule, `spec.rules[${index}]`)),
    ...arrayAt(spec, "tls").flatMap((tls, index) => tlsFaults(tls, `spec.tls[${index}]`)),
    ...(typeof name === "string" ? invalids("spec.ingressClassName", name, Names.dnsSubdomain(name)) : []),
    ...when(
      previous === undefined && annotated !== undefined && name !== undefined && annotated !== name,
      FieldError.invalid(
        `annotations.${classAnnotation}`,
        annotated,
        "must match `ingressClassName` when both are specified"
      )
    )
  ]
}

const longestController = 250

const parameterFaults = (parameters: unknown): Faults => {
  const path = "spec.parameters"
  const scope = stringAt(parameters, "scope")
  const namespace = at(parameters, "namespace")
  return parameters === undefined ? [] : [
    ...reference(parameters, path),
    ...(at(parameters, "scope") === undefined
      ? [FieldError.required(`${path}.scope`, "")]
      : scope === "Namespace"
      ? typeof namespace === "string"
        ? invalids(`${path}.namespace`, namespace, Names.dnsLabel(namespace))
        : [FieldError.required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'")]
      : scope === "Cluster"
      ? when(
        namespace !== undefined,
        FieldError.forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'")
      )
      : oneOfGiven(parameters, "scope", path, ["Cluster", "Namespace"]))
  ]
}

const validateClass: Strategy["validate"] = (object) => {
  const controller = stringAt(object, "spec", "controller")
  return [
    ...when(
      Names.byteLength(controller) > longestController,
      FieldError.tooLong("spec.controller", longestController)
    ),
    ...domainPath("spec.controller", controller),
    ...parameterFaults(at(object, "spec", "parameters"))
  ]
}

export const ingress: Partial<Strategy> = {
  generation: true,
  validate,
  validateStatus: (object) => EndpointRules.ingressStatus(object)
}

export const ingressClass: Partial<Strategy> = {
  generation: true,
  validate: validateClass,
  validateUpdate: immutableText("spec.controller")
}
