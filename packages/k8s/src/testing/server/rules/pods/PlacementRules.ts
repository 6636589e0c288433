/**
 * `PlacementRules`: validates the scheduling of Pods: node selection, affinity, topology spread and tolerations.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateAffinity`, `ValidateTolerations`,
 * `validateTopologySpreadConstraints`.
 */
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, invalids, oneOfGiven, optional, when } from "../Checks.ts"
import * as LabelSelectorRules from "../LabelSelectorRules.ts"

const label = (path: string, key: string): Faults => invalids(path, key, Names.labelKey(key))

const operatorFaults = (operator: string, values: ReadonlyArray<unknown>, path: string): Faults => {
  switch (operator) {
    case "In":
    case "NotIn":
      return when(
        values.length === 0,
        FieldError.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")
      )
    case "Exists":
    case "DoesNotExist":
      return when(
        values.length > 0,
        FieldError.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
      )
    case "Gt":
    case "Lt":
      return when(
        values.length !== 1,
        FieldError.required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'")
      )
    default:
      return [FieldError.invalid(`${path}.operator`, operator, "not a valid selector operator")]
  }
}

const requirement = (value: unknown, path: string, judgesValues: boolean): Faults => {
  const values = arrayAt(value, "values").map(String)
  return [
    ...operatorFaults(stringAt(value, "operator"), values, path),
    ...label(`${path}.key`, stringAt(value, "key")),
    ...(judgesValues
      ? values.flatMap((text, index) => invalids(`${path}.values[${index}]`, text, Names.labelValue(text)))
      : [])
  ]
}

/** The only field of a node that can be selected is its name. */
const fieldRequirement = (value: unknown, path: string): Faults => {
  const values = arrayAt(value, "values").map(String)
  const [key, operator] = [stringAt(value, "key"), stringAt(value, "operator")]
  return [
    ...(operator === "In" || operator === "NotIn"
      ? when(
        values.length !== 1,
        FieldError.required(
          `${path}.values`,
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        )
      )
      : [FieldError.invalid(`${path}.operator`, operator, "not a valid selector operator")]),
    ...(key === "metadata.name"
      ? values.flatMap((text, index) => invalids(`${path}.values[${index}]`, text, Names.dnsSubdomain(text)))
      : [FieldError.invalid(`${path}.key`, key, "not a valid field selector key")])
  ]
}

const nodeTerm = (term: unknown, path: string, judgesValues: boolean): Faults => [
  ...arrayAt(term, "matchExpressions").flatMap((value, index) =>
    requirement(value, `${path}.matchExpressions[${index}]`, judgesValues)
  ),
  ...arrayAt(term, "matchFields").flatMap((value, index) => fieldRequirement(value, `${path}.matchFields[${index}]`))
]

/** Faults of a node selector. */
export const nodeSelector = (selector: unknown, path: string): Faults => {
  const terms = arrayAt(selector, "nodeSelectorTerms")
  const here = `${path}.nodeSelectorTerms`
  return terms.length === 0
    ? [FieldError.required(here, "must have at least one node selector term")]
    : terms.flatMap((term, index) => nodeTerm(term, `${here}[${index}]`, true))
}

const weight = (term: unknown, path: string): Faults => {
  const value = at(term, "weight") ?? 0
  return when(
    typeof value === "number" && (value <= 0 || value > 100),
    FieldError.invalid(`${path}.weight`, value, "must be in the range 1-100")
  )
}

const labelKeys = (keys: ReadonlyArray<string>, selector: unknown, path: string): Faults =>
  keys.length === 0
    ? []
    : selector === undefined
    ? [FieldError.forbidden(path, "must not be specified when labelSelector is not set")]
    : keys.flatMap((key, index) => label(`${path}[${index}]`, key))

/** `matchLabelKeys` and `mismatchLabelKeys`, whose values are taken from the Pod itself. */
const ownKeys = (term: unknown, path: string): Faults => {
  const selector = at(term, "labelSelector")
  const keys = arrayAt(term, "matchLabelKeys").map(String)
  const others = arrayAt(term, "mismatchLabelKeys").map(String)
  const seen = new Set(Object.keys(objectAt(selector, "matchLabels")))
  return [
    ...labelKeys(keys, selector, `${path}.matchLabelKeys`),
    ...labelKeys(others, selector, `${path}.mismatchLabelKeys`),
    ...arrayAt(selector, "matchExpressions").map((expression) => stringAt(expression, "key")).flatMap((key) => {
      const repeated = keys.includes(key) && seen.has(key)
      seen.add(key)
      return when(
        repeated,
        FieldError.invalid(`${path}[${keys.lastIndexOf(key)}]`, key, "exists in both matchLabelKeys and labelSelector")
      )
    }),
    ...keys.flatMap((key, index) =>
      when(
        others.includes(key),
        FieldError.invalid(
          `${path}.matchLabelKeys[${index}]`,
          key,
          "exists in both matchLabelKeys and mismatchLabelKeys"
        )
      )
    )
  ]
}

const podTerm = (term: unknown, path: string): Faults => {
  const key = stringAt(term, "topologyKey")
  return [
    ...LabelSelectorRules.validate(at(term, "labelSelector"), `${path}.labelSelector`),
    ...LabelSelectorRules.validate(at(term, "namespaceSelector"), `${path}.namespaceSelector`),
    ...arrayAt(term, "namespaces").map(String).flatMap((name) =>
      invalids(`${path}.namespace`, name, Names.dnsLabel(name))
    ),
    ...ownKeys(term, path),
    ...when(key === "", FieldError.required(`${path}.topologyKey`, "can not be empty")),
    ...label(`${path}.topologyKey`, key)
  ]
}

const required = "requiredDuringSchedulingIgnoredDuringExecution"
const preferred = "preferredDuringSchedulingIgnoredDuringExecution"

/** Faults of node affinity, Pod affinity and Pod anti-affinity. */
export const affinity = (spec: unknown, path: string): Faults => {
  const own = at(spec, "affinity")
  if (own === undefined) return []
  const nodes = at(own, "nodeAffinity", required)
  const here = `${path}.affinity.nodeAffinity`
  return [
    ...(nodes === undefined ? [] : nodeSelector(nodes, `${here}.${required}`)),
    ...arrayAt(own, "nodeAffinity", preferred).flatMap((term, index) => [
      ...weight(term, `${here}.${preferred}[${index}]`),
      // A preference may contain values that are invalid for a node.
      ...nodeTerm(at(term, "preference"), `${here}.${preferred}[${index}].preference`, false)
    ]),
    ...["podAffinity", "podAntiAffinity"].flatMap((kind) => [
      ...arrayAt(own, kind, required).flatMap((term, index) =>
        podTerm(term, `${path}.affinity.${kind}.${required}[${index}]`)
      ),
      ...arrayAt(own, kind, preferred).flatMap((term, index) => [
        ...weight(term, `${path}.affinity.${kind}.${preferred}[${index}]`),
        ...podTerm(
          at(term, "podAffinityTerm"),
          `${path}.affinity.${kind}.${preferred}[${index}].podAffinityTerm`
        )
      ])
    ])
  ]
}

const positive = (object: unknown, field: string, path: string): Faults => {
  const value = at(object, field) ?? 0
  return when(
    typeof value === "number" && value <= 0,
    FieldError.invalid(`${path}.${field}`, value, "must be greater than zero")
  )
}

const spread = (constraint: unknown, rest: ReadonlyArray<unknown>, path: string): Faults => {
  const [key, action] = [stringAt(constraint, "topologyKey"), stringAt(constraint, "whenUnsatisfiable")]
  const domains = at(constraint, "minDomains")
  return [
    ...positive(constraint, "maxSkew", path),
    ...when(key === "", FieldError.required(`${path}.topologyKey`, "can not be empty")),
    ...oneOfGiven(constraint, "whenUnsatisfiable", path, ["DoNotSchedule", "ScheduleAnyway"]),
    ...when(
      rest.some((other) => stringAt(other, "topologyKey") === key && stringAt(other, "whenUnsatisfiable") === action),
      FieldError.duplicate(`${path}.{topologyKey, whenUnsatisfiable}`, `{${key}, ${action}}`)
    ),
    ...(domains === undefined ? [] : [
      ...positive(constraint, "minDomains", path),
      ...when(
        action !== "DoNotSchedule",
        FieldError.invalid(
          `${path}.minDomains`,
          domains,
          `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`
        )
      )
    ]),
    ...optional(constraint, "nodeAffinityPolicy", path, ["Honor", "Ignore"]),
    ...optional(constraint, "nodeTaintsPolicy", path, ["Honor", "Ignore"]),
    ...ownKeys(constraint, path),
    ...LabelSelectorRules.validate(at(constraint, "labelSelector"), `${path}.labelSelector`)
  ]
}

/** Faults of topology spread constraints. */
export const spreads = (spec: unknown, path: string): Faults =>
  arrayAt(spec, "topologySpreadConstraints").flatMap((constraint, index, all) =>
    spread(constraint, all.slice(index + 1), `${path}.topologySpreadConstraints[${index}]`)
  )

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"]

/** Faults of tolerations. */
export const tolerations = (spec: unknown, path: string): Faults =>
  arrayAt(spec, "tolerations").flatMap((toleration, index) => {
    const here = `${path}.tolerations[${index}]`
    const key = stringAt(toleration, "key")
    const operator = stringAt(toleration, "operator")
    const value = stringAt(toleration, "value")
    const effect = stringAt(toleration, "effect")
    return [
      ...(key === "" ? [] : invalids(`${here}.key`, key, Names.labelKey(key))),
      ...(key === "" && operator !== "Exists"
        ? [FieldError.invalid(
          `${here}.operator`,
          operator,
          "operator must be Exists when `key` is empty, which means \"match all values and all keys\""
        )]
        : []),
      ...(at(toleration, "tolerationSeconds") !== undefined && effect !== "NoExecute"
        ? [FieldError.invalid(`${here}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
        : []),
      ...(operator === "" || operator === "Equal"
        ? Names.labelValue(value).length > 0
          ? [FieldError.invalid(`${here}.operator`, value, Names.labelValue(value).join(";"))]
          : []
        : operator === "Exists"
        ? value === ""
          ? []
          : [FieldError.invalid(`${here}.operator`, value, "value must be empty when `operator` is 'Exists'")]
        : [FieldError.notSupported(
          `${here}.operator`,
          operator,
          // The comparison operators are known, but not accepted.
          ["Equal", "Exists", ...(["Lt", "Gt"].includes(operator) ? ["Lt", "Gt"] : [])]
        )]),
      ...(effect === "" || effects.includes(effect)
        ? []
        : [FieldError.notSupported(`${here}.effect`, effect, effects)])
    ]
  })
