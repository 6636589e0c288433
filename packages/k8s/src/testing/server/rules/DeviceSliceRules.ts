/**
 * `DeviceSliceRules`: validates ResourceSlices, in which drivers publish their devices.
 *
 * Counters, taints and binding conditions are not validated.
 *
 * Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import { fieldsAt, type Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, invalids, when } from "./Checks.ts"
import * as DeviceRules from "./DeviceRules.ts"
import * as DeviceStatusRules from "./DeviceStatusRules.ts"
import * as Disabled from "./Disabled.ts"
import { immutable } from "./Immutability.ts"
import * as VolumeRules from "./pods/VolumeRules.ts"

const most = { devices: 128, facts: 32, text: 64 } as const

const poolFaults = (pool: unknown): Faults => {
  const [count, generation] = [at(pool, "resourceSliceCount"), at(pool, "generation")]
  const path = "spec.pool"
  return [
    ...DeviceStatusRules.poolName(stringAt(pool, "name"), `${path}.name`),
    ...when(
      Number(count ?? 0) <= 0,
      FieldError.invalid(`${path}.resourceSliceCount`, count ?? 0, "must be greater than zero")
    ),
    ...when(
      Number(generation ?? 0) < 0,
      FieldError.invalid(`${path}.generation`, generation, "must be greater than or equal to zero")
    )
  ]
}

const places = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"] as const

/** Devices belong to one node, to selected nodes, to all nodes, or each to its own. */
const placeFaults = (spec: unknown): Faults => {
  const said = places.filter((place) => ![undefined, "", false].includes(at(spec, place) as never))
  const one = `exactly one of ${places.map((place) => `\`${place}\``).join(", ")} is required`
  const [node, terms] = [at(spec, "nodeName"), arrayAt(spec, "nodeSelector", "nodeSelectorTerms")]
  return [
    ...(typeof node !== "string" ? [] : node === ""
      ? [FieldError.invalid("spec.nodeName", node, "must be either unset or set to a non-empty string")]
      : invalids("spec.nodeName", node, Names.dnsSubdomain(node))),
    ...when(
      at(spec, "nodeSelector") !== undefined && terms.length !== 1,
      FieldError.invalid("spec.nodeSelector.nodeSelectorTerms", terms, "must have exactly one node selector term")
    ),
    ...(["allNodes", "perDeviceNodeSelection"] as const).flatMap((place) =>
      when(
        at(spec, place) === false,
        FieldError.invalid(`spec.${place}`, false, "must be either unset or set to true")
      )
    ),
    ...(said.length === 0
      ? [FieldError.required("spec", one)]
      : said.length === 1
      ? []
      : [FieldError.invalid(
        "spec",
        `{${said.map((place) => `\`${place}\``).join(", ")}}`,
        `${one}, but multiple fields are set`
      )])
  ]
}

const attributeFields: GoStruct.Fields = [
  ["int", "null", undefined, "IntValue"],
  ["bool", "null", undefined, "BoolValue"],
  ["string", "null", undefined, "StringValue"],
  ["version", "null", undefined, "VersionValue"]
]

const version =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/

const attribute = (value: unknown, path: string): Faults => {
  const said = attributeFields.filter(([field]) => at(value, field) !== undefined)
  const [text, release] = [at(value, "string"), at(value, "version")]
  const long = (given: unknown, field: string) =>
    when(
      typeof given === "string" && Names.byteLength(given) > most.text,
      FieldError.tooLong(`${path}.${field}`, most.text)
    )
  return [
    ...long(text, "string"),
    ...when(
      typeof release === "string" && !version.test(release),
      FieldError.invalid(`${path}.version`, release, "must be a string compatible with semver.org spec 2.0.0")
    ),
    ...long(release, "version"),
    ...(said.length === 1 ? [] : [
      said.length === 0
        ? FieldError.invalid(path, "", "exactly one value must be specified")
        : FieldError.invalidPrinted(path, GoStruct.print(value, attributeFields), "exactly one value must be specified")
    ])
  ]
}

const device = (item: unknown, path: string): Faults => {
  const [attributes, capacity] = [objectAt(item, "attributes"), objectAt(item, "capacity")]
  const facts = Object.keys(attributes).length + Object.keys(capacity).length
  const name = stringAt(item, "name")
  return [
    ...invalids(`${path}.name`, name, Names.dnsLabel(name)),
    ...when(
      facts > most.facts,
      FieldError.invalid(path, facts, `the total number of attributes and capacities must not exceed ${most.facts}`)
    ),
    ...Object.entries(attributes).flatMap(([key, value]) => [
      ...DeviceRules.qualifiedName(key, `${path}.attributes[${key}]`),
      ...attribute(value, `${path}.attributes[${key}]`)
    ]),
    ...Object.keys(capacity).flatMap((key) => DeviceRules.qualifiedName(key, `${path}.capacity[${key}]`))
  ]
}

const validate: Strategy["validate"] = (slice) => {
  const spec = at(slice, "spec")
  return [
    ...VolumeRules.driver(spec, "spec"),
    ...poolFaults(at(spec, "pool")),
    ...placeFaults(spec),
    ...DeviceRules.set(arrayAt(spec, "devices"), most.devices, "spec.devices", device, (item) => stringAt(item, "name"))
  ]
}

const unknown = [
  "allNodes",
  "allowMultipleAllocations",
  "bindingConditions",
  "bindingFailureConditions",
  "bindsToNode",
  "consumesCounters",
  "nodeName",
  "nodeSelector",
  "taints"
]

export const slice: Partial<Strategy> = {
  answersDeleted: true,
  ...Disabled.without(
    "spec.perDeviceNodeSelection",
    "spec.sharedCounters",
    ...unknown.map((field) => `spec.devices.*.${field}`)
  ),
  generation: true,
  fields: fieldsAt("spec.nodeName", "spec.driver"),
  listsFields: false,
  validate,
  validateUpdate: immutable("spec.pool.name", "spec.driver", "spec.nodeName")
}
