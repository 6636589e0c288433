/**
 * `WebhookRules`: defaults and validation of MutatingWebhookConfigurations and ValidatingWebhookConfigurations.
 *
 * The parts that policies share (rules, match conditions) are exported.
 *
 * Source: k8s.io/kubernetes/pkg/apis/admissionregistration/{v1/defaults.go,validation/validation.go} and
 * k8s.io/apiserver/pkg/util/webhook/validation.go.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as Cel from "../../../cel/Cel.ts"
import * as MatchConditions from "../../../cel/MatchConditions.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as ClientConfigRules from "./ClientConfigRules.ts"
import * as LabelSelectorRules from "./LabelSelectorRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const withDefaults = (own: JsonValue.JsonObject, defaults: JsonValue.JsonObject): JsonValue.JsonObject => ({
  ...defaults,
  ...own
})

const withRules = (webhook: JsonValue.JsonObject): JsonValue.JsonObject =>
  webhook["rules"] === undefined
    ? webhook
    : { ...webhook, rules: arrayAt(webhook, "rules").map((rule) => withDefaults(objectAt(rule), { scope: "*" })) }

const withPort = (webhook: JsonValue.JsonObject): JsonValue.JsonObject => {
  const service = at(webhook, "clientConfig", "service")
  return service === undefined ? webhook : {
    ...webhook,
    clientConfig: { ...objectAt(webhook, "clientConfig"), service: withDefaults(objectAt(service), { port: 443 }) }
  }
}

/** A configuration with the defaults of its kind. */
export const applyDefaults = (mutating: boolean) => (configuration: JsonValue.JsonObject): JsonValue.JsonObject =>
  configuration["webhooks"] === undefined ? configuration : {
    ...configuration,
    webhooks: arrayAt(configuration, "webhooks").map((webhook) =>
      withPort(withRules(withDefaults(objectAt(webhook), {
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        timeoutSeconds: 10,
        ...(mutating ? { reinvocationPolicy: "Never" } : {})
      })))
    )
  }

const supported = (field: string, value: unknown, values: ReadonlyArray<string>): Faults =>
  value === undefined || values.includes(String(value)) ? [] : [FieldError.notSupported(field, value, values)]

/** A wildcard must be the only value. */
const wildcardFaults = (values: ReadonlyArray<unknown>, field: string, others: string): Faults =>
  values.length > 1 && values.includes("*")
    ? [FieldError.invalid(field, values, `if '*' is present, must not specify other ${others}`)]
    : []

const required = (values: ReadonlyArray<unknown>, field: string): Faults =>
  values.length === 0 ? [FieldError.required(field, "")] : []

const resourceFaults = (resources: ReadonlyArray<unknown>, path: string): Faults => {
  const faults = [...required(resources, path)]
  const wildResources = new Set<string>()
  const wildParts = new Set<string>()
  // As in the real server, only the last one counts.
  let plain = false
  for (const [index, value] of resources.entries()) {
    const text = String(value)
    const item = `${path}[${index}]`
    if (text === "") {
      faults.push(FieldError.required(item, ""))
      continue
    }
    const slash = text.indexOf("/")
    if (slash < 0) {
      plain = text !== "*"
      continue
    }
    const [resource, part] = [text.slice(0, slash), text.slice(slash + 1)]
    if (wildResources.has(resource)) {
      faults.push(FieldError.invalid(item, text, `if '${resource}/*' is present, must not specify ${text}`))
    }
    if (wildParts.has(part)) {
      faults.push(FieldError.invalid(item, text, `if '*/${part}' is present, must not specify ${text}`))
    }
    if (part === "*") wildResources.add(resource)
    if (resource === "*") wildParts.add(part)
  }
  if (resources.length > 1 && resources.includes("*/*")) {
    faults.push(FieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
  }
  if (resources.includes("*") && plain) {
    faults.push(
      FieldError.invalid(path, resources, "if '*' is present, must not specify other resources without subresources")
    )
  }
  return faults
}

/** Faults of a `RuleWithOperations`. */
export const ruleFaults = (
  rule: unknown,
  path: string,
  operations: ReadonlyArray<string> = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
): Faults => {
  const [groups, versions] = [arrayAt(rule, "apiGroups"), arrayAt(rule, "apiVersions")]
  const asked = arrayAt(rule, "operations")
  return [
    ...required(asked, `${path}.operations`),
    ...wildcardFaults(asked, `${path}.operations`, "operations"),
    ...asked.flatMap((operation, index) => supported(`${path}.operations[${index}]`, operation, operations)),
    ...required(groups, `${path}.apiGroups`),
    ...wildcardFaults(groups, `${path}.apiGroups`, "API groups"),
    ...required(versions, `${path}.apiVersions`),
    ...wildcardFaults(versions, `${path}.apiVersions`, "API versions"),
    ...versions.flatMap((version, index) =>
      version === "" ? [FieldError.required(`${path}.apiVersions[${index}]`, "")] : []
    ),
    ...resourceFaults(arrayAt(rule, "resources"), `${path}.resources`),
    ...supported(`${path}.scope`, at(rule, "scope"), ["*", "Cluster", "Namespaced"])
  ]
}

const nameFaults = (name: string, path: string): Faults => {
  if (name === "") return [FieldError.required(path, "")]
  const faults = Names.dnsSubdomain(name)
  if (faults.length > 0) return [FieldError.invalid(path, name, faults.join(","))]
  return name.split(".").length >= 3
    ? []
    : [FieldError.invalid(path, name, "should be a domain with at least three segments separated by dots")]
}

const clientFaults = (config: unknown, path: string): Faults => {
  const [service, url] = [at(config, "service"), at(config, "url")]
  if ((service === undefined) === (url === undefined)) {
    return [FieldError.required(path, "exactly one of url or service is required")]
  }
  return url === undefined
    ? ClientConfigRules.serviceFaults(service, `${path}.service`)
    : ClientConfigRules.urlFaults(String(url), `${path}.url`)
}

const versionFaults = (versions: ReadonlyArray<unknown>, path: string): Faults => {
  const known = ["v1", "v1beta1"]
  if (versions.length === 0) return [FieldError.required(path, `must specify one of ${known.join(", ")}`)]
  const faults = versions.flatMap((version, index) =>
    versions.indexOf(version) < index
      ? [FieldError.invalid(`${path}[${index}]`, version, "duplicate version")]
      : Names.dns1035Label(String(version)).map((fault) => FieldError.invalid(`${path}[${index}]`, version, fault))
  )
  return versions.some((version) => known.includes(String(version)))
    ? faults
    : [...faults, FieldError.invalid(path, versions, `must include at least one of ${known.join(", ")}`)]
}

/** Faults of the `matchConditions` of a webhook or policy. */
export const conditionFaults = (
  conditions: ReadonlyArray<unknown>,
  path: string,
  options: { readonly params: boolean }
): Faults => {
  if (conditions.length === 0) return []
  const environment = Cel.admission({ params: options.params, authorizer: true })
  const names = new Set<string>()
  return [
    ...(conditions.length > 64 ? [FieldError.tooMany(path, conditions.length, 64)] : []),
    ...conditions.flatMap((condition, index) => {
      const [expression, name] = [stringAt(condition, "expression").trim(), stringAt(condition, "name")]
      const item = `${path}[${index}]`
      const repeated = name !== "" && names.has(name)
      names.add(name)
      return [
        ...MatchConditions.expressionFaults(expression, `${item}.expression`, environment),
        ...(name === ""
          ? [FieldError.required(`${item}.name`, "")]
          : Names.labelKey(name).map((fault) => FieldError.invalid(`${item}.name`, name, fault))),
        ...(repeated ? [FieldError.duplicate(`${item}.name`, name)] : [])
      ]
    })
  ]
}

const sideEffects = ["None", "NoneOnDryRun"]

const webhookFaults = (webhook: unknown, path: string): Faults => {
  const timeout = at(webhook, "timeoutSeconds")
  const effects = at(webhook, "sideEffects")
  return [
    ...nameFaults(stringAt(webhook, "name"), `${path}.name`),
    ...arrayAt(webhook, "rules").flatMap((rule, index) => ruleFaults(rule, `${path}.rules[${index}]`)),
    ...supported(`${path}.failurePolicy`, at(webhook, "failurePolicy"), ["Fail", "Ignore"]),
    ...supported(`${path}.matchPolicy`, at(webhook, "matchPolicy"), ["Equivalent", "Exact"]),
    ...(effects === undefined
      ? [FieldError.required(`${path}.sideEffects`, `must specify one of ${sideEffects.join(", ")}`)]
      : supported(`${path}.sideEffects`, effects, sideEffects)),
    ...(typeof timeout === "number" && (timeout > 30 || timeout < 1)
      ? [FieldError.invalid(`${path}.timeoutSeconds`, timeout, "the timeout value must be between 1 and 30 seconds")]
      : []),
    ...LabelSelectorRules.validate(at(webhook, "namespaceSelector"), `${path}.namespaceSelector`),
    ...LabelSelectorRules.validate(at(webhook, "objectSelector"), `${path}.objectSelector`),
    ...supported(`${path}.reinvocationPolicy`, at(webhook, "reinvocationPolicy"), ["IfNeeded", "Never"]),
    ...clientFaults(at(webhook, "clientConfig"), `${path}.clientConfig`),
    ...conditionFaults(arrayAt(webhook, "matchConditions"), `${path}.matchConditions`, { params: false }),
    ...versionFaults(arrayAt(webhook, "admissionReviewVersions"), `${path}.admissionReviewVersions`)
  ]
}

/** Faults of a configuration. */
export const validate: Strategy["validate"] = (configuration) => {
  const names = new Set<string>()
  return arrayAt(configuration, "webhooks").flatMap((webhook, index) => {
    const path = `webhooks[${index}]`
    const name = stringAt(webhook, "name")
    const repeated = name !== "" && names.has(name)
    names.add(name)
    return [...webhookFaults(webhook, path), ...(repeated ? [FieldError.duplicate(`${path}.name`, name)] : [])]
  })
}
