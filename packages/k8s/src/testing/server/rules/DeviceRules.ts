/**
 * `DeviceRules`: validates ResourceClaims, their templates and DeviceClasses.
 *
 * The cost of CEL expressions on devices is not limited.
 *
 * Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go, pkg/apis/resource/v1/defaults.go.
 */
import * as MetadataRules from "../../../api/MetadataRules.ts"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as DeviceTypes from "../../../cel/DeviceTypes.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import { edit, fill, type Filled, map } from "../defaults/Filling.ts"
import { type Faults, invalids, when } from "./Checks.ts"
import * as DeviceWords from "./DeviceWords.ts"
import * as Disabled from "./Disabled.ts"
import { immutablePrinted } from "./Immutability.ts"
import * as VolumeRules from "./pods/VolumeRules.ts"

const most = { list: 32, alternatives: 8, expression: 10 * 1024, parameters: 10 * 1024, id: 32 } as const

export type Judge = (item: unknown, path: string) => Faults

/** Faults of the items of a list, or that it has too many. */
export const each = (items: ReadonlyArray<unknown>, limit: number, path: string, judge: Judge): Faults =>
  items.length > limit
    ? [FieldError.tooMany(path, items.length, limit)]
    : items.flatMap((item, index) => judge(item, `${path}[${index}]`))

/** `each` for items that must be unique. */
export const set = (
  items: ReadonlyArray<unknown>,
  limit: number,
  path: string,
  judge: Judge,
  keyOf: (item: unknown) => string
): Faults => {
  if (items.length > limit) return each(items, limit, path, judge)
  const keys = items.map(keyOf)
  return [
    ...each(items, limit, path, judge),
    ...keys.flatMap((key, index) => when(keys.indexOf(key) < index, FieldError.duplicate(`${path}[${index}]`, key)))
  ]
}

export const label = (name: string, path: string): Faults => invalids(path, name, Names.dnsLabel(name))

const identifier = (name: string, path: string): Faults => [
  ...when(Names.byteLength(name) > most.id, FieldError.tooLong(path, most.id)),
  ...when(
    !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name),
    FieldError.invalid(
      path,
      name,
      "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric " +
        "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is " +
        "'[A-Za-z_][A-Za-z0-9_]*')"
    )
  )
]

/** The name of an attribute or capacity, with or without a domain. */
export const qualifiedName = (name: string, path: string): Faults => {
  const [domain = "", own, more] = name.split("/")
  if (own === undefined) return identifier(domain, path)
  if (more !== undefined) return []
  return [
    ...(domain === ""
      ? [FieldError.invalid(path, "", "the domain must not be empty")]
      : VolumeRules.driverName(domain, path)),
    ...(own === "" ? [FieldError.invalid(path, "", "the name must not be empty")] : identifier(own, path))
  ]
}

const fullName = (name: string, path: string): Faults => [
  ...qualifiedName(name, path),
  ...when(
    !name.includes("/"),
    FieldError.invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash")
  )
]

const selector: Judge = (item, path) => {
  const cel = at(item, "cel")
  if (cel === undefined) return [FieldError.required(`${path}.cel`, "")]
  const expression = stringAt(cel, "expression")
  const here = `${path}.cel.expression`
  if (Names.byteLength(expression) > most.expression) return [FieldError.tooLong(here, most.expression)]
  const wrong = DeviceTypes.fault(expression)
  return wrong === undefined ? [] : [FieldError.invalid(here, expression, wrong)]
}

const modeFaults = (request: unknown, path: string): Faults => {
  const mode = stringAt(request, "allocationMode")
  const count = at(request, "count") ?? 0
  const refused = (why: string) => [FieldError.invalid(`${path}.count`, count, why)]
  switch (mode) {
    case "All":
      return count === 0 ? [] : refused("must not be specified when allocationMode is 'All'")
    case "ExactCount":
      return Number(count) > 0 ? [] : refused("must be greater than zero")
    default:
      return [FieldError.notSupported(`${path}.allocationMode`, mode, ["All", "ExactCount"])]
  }
}

const devices: Judge = (request, path) => {
  const name = stringAt(request, "deviceClassName")
  return [
    ...(name === ""
      ? [FieldError.required(`${path}.deviceClassName`, "")]
      : invalids(`${path}.deviceClassName`, name, Names.dnsSubdomain(name))),
    ...each(arrayAt(request, "selectors"), most.list, `${path}.selectors`, selector),
    ...modeFaults(request, path)
  ]
}

const nameOf = (item: unknown): string => stringAt(item, "name")

const request: Judge = (item, path) => {
  const [exactly, alternatives] = [at(item, "exactly"), arrayAt(item, "firstAvailable")]
  const one = "exactly one of `exactly` or `firstAvailable` is required"
  const named = (part: unknown, here: string) => label(nameOf(part), `${here}.name`)
  return [
    ...named(item, path),
    ...(exactly === undefined && alternatives.length === 0
      ? [FieldError.required(path, one)]
      : exactly !== undefined && alternatives.length > 0
      ? [FieldError.invalid(path, null, `${one}, but multiple fields are set`)]
      : exactly !== undefined
      ? devices(exactly, `${path}.exactly`)
      : set(
        alternatives,
        most.alternatives,
        `${path}.firstAvailable`,
        (part, here) => [...named(part, here), ...devices(part, here)],
        nameOf
      ))
  ]
}

/** The names by which other parts of a claim can refer to its requests. */
export const namesOf = (requests: ReadonlyArray<unknown>): ReadonlySet<string> =>
  new Set(requests.flatMap((item) => [
    nameOf(item),
    ...arrayAt(item, "firstAvailable").map((part) => `${nameOf(item)}/${nameOf(part)}`)
  ]))

/** Faults of a reference to a request. */
export const reference = (names: ReadonlySet<string>, name: string, here: string): Faults => {
  const unknown = FieldError.invalid(
    here,
    name,
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
  )
  const steps = name.split("/")
  return steps.length > 2 ? [unknown] : [
    ...steps.flatMap((step) => label(step, here)),
    ...when(!names.has(name), unknown)
  ]
}

/** `reference` for all `requests` of a part of a claim. */
export const references = (names: ReadonlySet<string>, part: unknown, path: string): Faults =>
  set(
    arrayAt(part, "requests"),
    most.list,
    `${path}.requests`,
    (item, here) => reference(names, String(item), here),
    String
  )

/** Faults of the opaque parameters of a driver. */
export const parameters = (value: unknown, path: string): Faults =>
  value === undefined || value === null
    ? [FieldError.required(path, "")]
    : Names.byteLength(JSON.stringify(value)) > most.parameters
    ? [FieldError.tooLong(path, most.parameters)]
    : JsonValue.isObject(value)
    ? []
    : [FieldError.invalid(path, "<value omitted>", "must be a valid JSON object")]

export const configuration: Judge = (item, path) => {
  const opaque = at(item, "opaque")
  return opaque === undefined ? [FieldError.required(`${path}.opaque`, "")] : [
    ...VolumeRules.driver(opaque, `${path}.opaque`),
    ...parameters(at(opaque, "parameters"), `${path}.opaque.parameters`)
  ]
}

const claimSpec = (spec: unknown, path: string): Faults => {
  const claim = at(spec, "devices")
  const here = `${path}.devices`
  const requests = arrayAt(claim, "requests")
  const names = namesOf(requests)
  return [
    ...set(requests, most.list, `${here}.requests`, request, nameOf),
    ...each(arrayAt(claim, "constraints"), most.list, `${here}.constraints`, (item, place) => {
      const attribute = at(item, "matchAttribute")
      return [
        ...references(names, item, place),
        ...(attribute === undefined
          ? [FieldError.required(`${place}.matchAttribute`, "")]
          : fullName(String(attribute), `${place}.matchAttribute`))
      ]
    }),
    ...each(
      arrayAt(claim, "config"),
      most.list,
      `${here}.config`,
      (item, place) => [...references(names, item, place), ...configuration(item, place)]
    )
  ]
}

const ungranted = (path: string): ReadonlyArray<string> => [
  ...["exactly", "firstAvailable.*"].flatMap((part) =>
    ["tolerations", "capacity"].map((field) => `${path}.devices.requests.*.${part}.${field}`)
  ),
  `${path}.devices.constraints.*.distinctAttribute`
]

export const claim: Partial<Strategy> = {
  answersDeleted: true,
  ...Disabled.without(...ungranted("spec")),
  statusMetadata: "kept",
  validate: (object, previous) => previous === undefined ? claimSpec(at(object, "spec"), "spec") : [],
  validateUpdate: immutablePrinted("spec", DeviceWords.claimSpec)
}

export const claimTemplate: Partial<Strategy> = {
  answersDeleted: true,
  ...Disabled.without(...ungranted("spec.spec")),
  validate: (object, previous) =>
    previous !== undefined ? [] : [
      ...MetadataRules.validateTemplateMeta(objectAt(object, "spec", "metadata"), "spec.metadata"),
      ...claimSpec(at(object, "spec", "spec"), "spec.spec")
    ],
  validateUpdate: immutablePrinted("spec", DeviceWords.templateSpec)
}

export const deviceClass: Partial<Strategy> = {
  answersDeleted: true,
  ...Disabled.without("spec.extendedResourceName"),
  generation: true,
  validate: (object) => {
    const spec = at(object, "spec")
    return [
      ...each(arrayAt(spec, "selectors"), most.list, "spec.selectors", selector),
      ...each(arrayAt(spec, "config"), most.list, "spec.config", configuration)
    ]
  }
}

const counted = (value: unknown): Filled => {
  const filled = fill(value, { allocationMode: "ExactCount" })
  return filled["allocationMode"] === "ExactCount" && (filled["count"] ?? 0) === 0 ? { ...filled, count: 1 } : filled
}

/** The default number of devices in a request is one. */
export const claimDefaults = (spec: unknown): Filled =>
  edit(
    objectAt(spec),
    "devices",
    (claim) =>
      map(
        objectAt(claim),
        "requests",
        (item) => map(edit(objectAt(item), "exactly", counted), "firstAvailable", counted)
      )
  )
