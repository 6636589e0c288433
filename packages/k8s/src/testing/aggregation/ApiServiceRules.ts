/**
 * `ApiServiceRules`: validation and defaults of APIServices.
 *
 * Source: k8s.io/kube-aggregator/pkg/apis/apiregistration/validation/validation.go, .../v1/defaults.go and
 * pkg/registry/apiservice/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import * as Names from "../../api/Names.ts"
import { at, objectAt, stringAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as GoBase64 from "../../schema/GoBase64.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import type { Strategy } from "../server/Strategy.ts"
import { named } from "../server/rules/Checks.ts"
import * as ConditionRules from "../server/rules/ConditionRules.ts"
import * as ApiServices from "./ApiServices.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

/** The defaults of a body. */
export const applyDefaults = (service: JsonValue.JsonObject): JsonValue.JsonObject => {
  const spec = objectAt(service, "spec")
  const reference = objectAt(spec, "service")
  return spec["service"] === undefined || reference["port"] !== undefined
    ? service
    : { ...service, spec: { ...spec, service: { ...reference, port: 443 } } }
}

const prepareCreate: Strategy["prepareCreate"] = (service) => ({
  ...service,
  status: at(service, "spec", "service") === undefined
    ? { conditions: [ApiServices.localCondition(stringAt(service, "metadata", "creationTimestamp"))] }
    : {}
})

const priority = (service: unknown, key: string, max: number): Faults => {
  const value = at(service, "spec", key) ?? 0
  return typeof value === "number" && value > 0 && value <= max
    ? []
    : [FieldError.invalid(`spec.${key}`, value, `must be positive and less than ${max}`)]
}

const trustFaults = (spec: unknown): Faults => {
  const bundle = GoBase64.decode(stringAt(spec, "caBundle"))
  const bytes = Result.isSuccess(bundle) ? bundle.success.length : 0
  const insecure = at(spec, "insecureSkipTLSVerify") === true
  if (at(spec, "service") !== undefined) {
    return insecure && bytes > 0
      ? [FieldError.invalid("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present")]
      : []
  }
  return [
    ...(bytes > 0
      ? [FieldError.invalid("spec.caBundle", `${bytes} bytes`, "local APIServices may not have a caBundle")]
      : []),
    ...(insecure
      ? [FieldError.invalid(
        "spec.insecureSkipTLSVerify",
        true,
        "local APIServices may not have insecureSkipTLSVerify"
      )]
      : [])
  ]
}

const serviceFaults = (spec: unknown): Faults => {
  const service = at(spec, "service")
  if (service === undefined) return []
  const port = at(service, "port") ?? 443
  return [
    ...["namespace", "name"].filter((key) => stringAt(service, key) === "").map((key) =>
      FieldError.required(`spec.service.${key}`, "")
    ),
    ...(typeof port === "number" && (port < 1 || port > 65535)
      ? [FieldError.invalid("spec.service.port", port, "port is not valid: must be between 1 and 65535, inclusive")]
      : [])
  ]
}

const validate = (service: KubeObject): Faults => {
  const spec = at(service, "spec")
  const group = ApiServices.groupOf(service)
  const version = ApiServices.versionOf(service)
  const wanted = `${version}.${group}`
  return [
    ...named(service, wanted, `must be \`spec.version+"."+spec.group\`: ${FieldError.quote(wanted)}`),
    ...(group === "" && version !== "v1"
      ? [FieldError.required("spec.group", "only v1 may have an empty group and it better be legacy kube")]
      : []),
    ...(group === "" ? [] : Names.dnsSubdomain(group).map((fault) => FieldError.invalid("spec.group", group, fault))),
    ...Names.dns1035Label(version).map((fault) => FieldError.invalid("spec.version", version, fault)),
    ...priority(service, "groupPriorityMinimum", 20000),
    ...priority(service, "versionPriority", 1000),
    ...serviceFaults(spec),
    ...trustFaults(spec)
  ]
}

/** The strategy of APIServices, in addition to the common table. */
export const strategy: Partial<Strategy> = { prepareCreate, validate, validateStatus: ConditionRules.decided }
