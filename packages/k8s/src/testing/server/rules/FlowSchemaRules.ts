/**
 * `FlowSchemaRules`: validates FlowSchemas: which requests they match, and the priority level of those. The two
 * mandatory ones are immutable.
 *
 * Source: k8s.io/kubernetes/pkg/apis/flowcontrol/validation/validation.go `ValidateFlowSchema`.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as BootstrapFlows from "../../auth/BootstrapFlows.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, invalids, when } from "./Checks.ts"

const mandatory = BootstrapFlows.mandatorySpecs(BootstrapFlows.schemas)

const mostPrecedence = 10_000

const kinds = ["Group", "ServiceAccount", "User"] as const

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"]

const accountFaults = (account: unknown, path: string): Faults => {
  const name = stringAt(account, "name")
  const namespace = stringAt(account, "namespace")
  return [
    ...(name === ""
      ? [FieldError.required(`${path}.name`, "")]
      : name === "*"
      ? []
      : invalids(`${path}.name`, name, Names.dnsSubdomain(name))),
    ...(namespace === ""
      ? [FieldError.required(`${path}.namespace`, "must specify namespace for service account")]
      : invalids(`${path}.namespace`, namespace, Names.dnsLabel(namespace)))
  ]
}

const fieldOf = (kind: string): string => kind.charAt(0).toLowerCase() + kind.slice(1)

const subjectFaults = (subject: unknown, path: string): Faults => {
  const kind = kinds.find((known) => known === stringAt(subject, "kind"))
  if (kind === undefined) return [FieldError.notSupported(`${path}.kind`, stringAt(subject, "kind"), kinds)]
  const field = fieldOf(kind)
  const who = at(subject, field)
  return [
    ...(who === undefined
      ? [FieldError.required(`${path}.${field}`, `${field} is required when subject kind is '${kind}'`)]
      : kind === "ServiceAccount"
      ? accountFaults(who, `${path}.${field}`)
      : when(stringAt(who, "name") === "", FieldError.required(`${path}.${field}.name`, ""))),
    ...(["ServiceAccount", "User", "Group"] as const).filter((other) => other !== kind).flatMap((other) =>
      when(
        at(subject, fieldOf(other)) !== undefined,
        FieldError.forbidden(
          `${path}.${fieldOf(other)}`,
          `${fieldOf(other)} is forbidden when subject kind is not '${other}'`
        )
      )
    )
  ]
}

/**
 * A list that must not be empty and in which `*` must be the only item. Other items are validated only in lists without
 * `*`.
 */
const listFaults = (
  object: unknown,
  path: string,
  field: string,
  missing: string,
  many: string,
  others: (values: ReadonlyArray<string>, path: string) => Faults = () => []
): Faults => {
  const values = arrayAt(object, field).map(String)
  const here = `${path}.${field}`
  return values.length === 0
    ? [FieldError.required(here, missing)]
    : values.includes("*")
    ? when(values.length > 1, FieldError.invalid(here, values, `if '*' is present, must not specify other ${many}`))
    : others(values, here)
}

const verbFaults = (rule: unknown, path: string): Faults =>
  listFaults(
    rule,
    path,
    "verbs",
    "verbs must contain at least one value",
    "verbs",
    (values, here) => when(!values.every((verb) => verbs.includes(verb)), FieldError.notSupported(here, values, verbs))
  )

const namespacesFaults = (rule: unknown, path: string): Faults =>
  arrayAt(rule, "namespaces").length === 0 && at(rule, "clusterScope") === true ? [] : listFaults(
    rule,
    path,
    "namespaces",
    "resource rules that are not cluster scoped must supply at least one namespace",
    "namespaces",
    (values, here) =>
      values.flatMap((namespace, index) =>
        invalids(
          `${here}[${index}]`,
          namespace,
          Names.dnsLabel(namespace).map((text) => `each member of this list must be '*' or a DNS-1123 label; ${text}`)
        )
      )
  )

const resourceRuleFaults = (rule: unknown, path: string): Faults => [
  ...verbFaults(rule, path),
  ...listFaults(rule, path, "apiGroups", "resource rules must supply at least one api group", "api groups"),
  ...listFaults(rule, path, "resources", "resource rules must supply at least one resource", "resources"),
  ...namespacesFaults(rule, path)
]

const urlFault = (url: string): string | undefined => {
  if (url === "") return "must not be empty"
  if (url === "/") return undefined
  if (!url.startsWith("/")) return "must start with slash"
  if (url.includes(" ")) return "must not contain white-space"
  if (url.includes("//")) return "must not contain double slash"
  const wildcards = url.split("*").length - 1
  return wildcards > 1 || (wildcards === 1 && !url.endsWith("/*")) ? "wildcard can only do suffix matching" : undefined
}

const nonResourceRuleFaults = (rule: unknown, path: string): Faults => [
  ...verbFaults(rule, path),
  ...listFaults(
    rule,
    path,
    "nonResourceURLs",
    "nonResourceURLs must contain at least one value",
    "non-resource URLs",
    (values, here) =>
      values.flatMap((url, index) => {
        const why = urlFault(url)
        return why === undefined ? [] : [FieldError.invalid(`${here}[${index}]`, url, why)]
      })
  )
]

const ruleFaults = (rule: unknown, path: string): Faults => {
  const each = (field: string, faults: (item: unknown, path: string) => Faults) =>
    arrayAt(rule, field).flatMap((item, index) => faults(item, `${path}.${field}[${index}]`))
  return [
    ...when(
      arrayAt(rule, "subjects").length === 0,
      FieldError.required(`${path}.subjects`, "subjects must contain at least one value")
    ),
    ...each("subjects", subjectFaults),
    ...when(
      arrayAt(rule, "resourceRules").length === 0 && arrayAt(rule, "nonResourceRules").length === 0,
      FieldError.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    ),
    ...each("resourceRules", resourceRuleFaults),
    ...each("nonResourceRules", nonResourceRuleFaults)
  ]
}

const named: GoStruct.Fields = [["name", "\"\""]]

const specFields: GoStruct.Fields = [
  ["priorityLevelConfiguration", "{\"Name\":\"\"}", named],
  ["matchingPrecedence", "0"],
  ["distinguisherMethod", "null", [["type", "\"\""]]],
  ["rules", "null", [
    ["subjects", "null", [
      ["kind", "\"\""],
      ["user", "null", named],
      ["group", "null", named],
      ["serviceAccount", "null", [["namespace", "\"\""], ["name", "\"\""]]]
    ]],
    ["resourceRules", "null", [
      ["verbs", "null"],
      ["apiGroups", "null", undefined, "APIGroups"],
      ["resources", "null"],
      ["clusterScope", "false"],
      ["namespaces", "null"]
    ]],
    ["nonResourceRules", "null", [["verbs", "null"], ["nonResourceURLs", "null"]]]
  ]]
]

const precedenceFaults = (name: string, precedence: number): Faults => {
  const fault = (why: string) => FieldError.invalid("spec.matchingPrecedence", precedence, why)
  return [
    ...when(precedence <= 0, fault("must be a positive value")),
    ...when(precedence > mostPrecedence, fault(`must not be greater than ${mostPrecedence}`)),
    ...when(
      precedence === 1 && name !== "exempt",
      fault("only the schema named 'exempt' may have matchingPrecedence 1")
    )
  ]
}

/** The fault contains the whole method rather than its type. */
const methodFaults = (method: unknown): Faults => {
  const type = stringAt(method, "type")
  return method === undefined || ["ByNamespace", "ByUser"].includes(type) ? [] : [{
    ...FieldError.notSupported("spec.distinguisherMethod.type", type, ["ByNamespace", "ByUser"]),
    printed: GoStruct.print(method, [["type", "\"\""]])
  }]
}

const levelFaults = (name: string): Faults =>
  name === ""
    ? [FieldError.required("spec.priorityLevelConfiguration.name", "must reference a priority level")]
    : invalids("spec.priorityLevelConfiguration.name", name, Names.dnsSubdomain(name))

/** Faults of a FlowSchema, a new one or a changed one. */
export const validate: Strategy["validate"] = (schema) => {
  const spec = objectAt(schema, "spec")
  const name = stringAt(schema, "metadata", "name")
  const fixed = mandatory.get(name)
  return [
    ...precedenceFaults(name, Number(at(spec, "matchingPrecedence") ?? 0)),
    ...methodFaults(at(spec, "distinguisherMethod")),
    ...levelFaults(stringAt(spec, "priorityLevelConfiguration", "name")),
    ...arrayAt(spec, "rules").flatMap((rule, index) => ruleFaults(rule, `spec.rules[${index}]`)),
    ...when(
      fixed !== undefined && !JsonValue.equals(spec, fixed),
      FieldError.invalidPrinted(
        "spec",
        GoStruct.print(spec, specFields),
        `spec of '${name}' must equal the fixed value`
      )
    )
  ]
}
