/**
 * `DeviceStatusRules`: validates the status of a ResourceClaim: allocated devices, reservations, and the state of
 * devices.
 *
 * Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go, `ValidateResourceClaimStatusUpdate`.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import * as AddressRules from "./AddressRules.ts"
import { type Faults, invalids, oneOfGiven, required, when } from "./Checks.ts"
import * as ConditionRules from "./ConditionRules.ts"
import * as DeviceRules from "./DeviceRules.ts"
import * as Disabled from "./Disabled.ts"
import * as PlacementRules from "./pods/PlacementRules.ts"
import * as VolumeRules from "./pods/VolumeRules.ts"

const most = { users: 256, results: 32, configurations: 64, conditions: 8, interface: 256, hardware: 128 }

export const poolName = (name: string, path: string): Faults =>
  name === "" ? [FieldError.required(path, "")] : [
    ...when(Names.byteLength(name) > 253, FieldError.tooLong(path, 253)),
    ...name.split("/").flatMap((part) => invalids(path, part, Names.dnsSubdomain(part)))
  ]

/** The reference to a device. */
const device: DeviceRules.Judge = (item, path) => [
  ...VolumeRules.driver(item, path),
  ...poolName(stringAt(item, "pool"), `${path}.pool`),
  ...DeviceRules.label(stringAt(item, "device"), `${path}.device`)
]

/** The identity of a device as the server prints it. */
const idOf = (item: unknown): string =>
  GoStruct.print({ ...objectAt(item), shareID: undefined }, [
    ["driver", "\"\""],
    ["pool", "\"\""],
    ["device", "\"\""],
    ["shareID", "\"\""]
  ])

const networkFaults = (network: unknown, path: string): Faults => {
  const long = (field: string, limit: number) =>
    when(Names.byteLength(stringAt(network, field)) > limit, FieldError.tooLong(`${path}.${field}`, limit))
  return network === undefined ? [] : [
    ...long("interfaceName", most.interface),
    ...long("hardwareAddress", most.hardware),
    ...DeviceRules.set(
      arrayAt(network, "ips"),
      Infinity,
      `${path}.ips`,
      (item, place) => AddressRules.withPrefix(place, String(item)),
      String
    )
  ]
}

const dataFaults = (data: unknown, path: string): Faults =>
  data === undefined || data === null ? [] : DeviceRules.parameters(data, path)

const deviceStatus = (allocated: ReadonlySet<string>): DeviceRules.Judge => (item, path) => {
  const conditions = arrayAt(item, "conditions")
  const here = `${path}.conditions`
  return [
    ...device(item, path),
    ...when(
      !allocated.has(idOf(item)),
      FieldError.invalidPrinted(path, idOf(item), "must be an allocated device in the claim")
    ),
    ...when(
      conditions.length > most.conditions,
      FieldError.tooMany(here, conditions.length, most.conditions)
    ),
    ...ConditionRules.list(conditions, here),
    ...dataFaults(at(item, "data"), `${path}.data`),
    ...networkFaults(at(item, "networkData"), `${path}.networkData`)
  ]
}

const devicesFaults = (claim: unknown, previous: unknown, allocated: ReadonlySet<string>): Faults => {
  const [devices, before] = [arrayAt(claim, "status", "devices"), arrayAt(previous, "status", "devices")]
  const ids = devices.map(idOf)
  const judge = deviceStatus(allocated)
  return [
    // Existing entries stay valid, even for a device that is no longer allocated.
    ...DeviceRules.each(
      devices,
      Infinity,
      "status.devices",
      (item, path) => before.some((known) => JsonValue.equals(known, item)) ? [] : judge(item, path)
    ),
    ...ids.flatMap((id, index) =>
      when(ids.indexOf(id) < index, FieldError.duplicatePrinted(`status.devices[${index}]`, id))
    )
  ]
}

const user: DeviceRules.Judge = (item, path) => required(item, path, "resource", "name", "uid")

const allocationFaults = (allocation: unknown, spec: unknown, path: string): Faults => {
  const names = DeviceRules.namesOf(arrayAt(spec, "devices", "requests"))
  const [here, nodes] = [`${path}.devices`, at(allocation, "nodeSelector")]
  return [
    ...DeviceRules.each(arrayAt(allocation, "devices", "results"), most.results, `${here}.results`, (item, place) => [
      ...DeviceRules.reference(names, stringAt(item, "request"), `${place}.request`),
      ...device(item, place)
    ]),
    ...DeviceRules.each(
      arrayAt(allocation, "devices", "config"),
      most.configurations,
      `${here}.config`,
      (item, place) => [
        ...(stringAt(item, "source") === ""
          ? [FieldError.required(`${place}.source`, "")]
          : oneOfGiven(item, "source", place, ["FromClaim", "FromClass"])),
        ...DeviceRules.references(names, item, place),
        ...DeviceRules.configuration(item, place)
      ]
    ),
    ...(nodes === undefined ? [] : PlacementRules.nodeSelector(nodes, `${path}.nodeSelector`))
  ]
}

const requirement: GoStruct.Fields = [["key", "\"\""], ["operator", "\"\""], ["values", "null"]]

const allocationFields: GoStruct.Fields = [
  ["devices", "{\"Results\":null,\"Config\":null}", [
    ["results", "null", [
      ["request", "\"\""],
      ["driver", "\"\""],
      ["pool", "\"\""],
      ["device", "\"\""],
      ["adminAccess", "null"],
      ["tolerations", "null"],
      ["bindingConditions", "null"],
      ["bindingFailureConditions", "null"],
      ["shareID", "null"],
      ["consumedCapacity", "null"]
    ]],
    ["config", "null", [
      ["source", "\"\""],
      ["requests", "null"],
      ["opaque", "null", [["driver", "\"\""], ["parameters", "null"]]]
    ]]
  ]],
  ["nodeSelector", "null", [
    ["nodeSelectorTerms", "null", [
      ["matchExpressions", "null", requirement],
      ["matchFields", "null", requirement]
    ]]
  ]],
  ["allocationTimestamp", "null"]
]

const ungranted = ["shareID", "bindingConditions", "bindingFailureConditions", "consumedCapacity"]

/** Drops the fields of features that are off. */
const prepare = Disabled.dropping(
  ...ungranted.map((field) => `status.allocation.devices.results.*.${field}`),
  "status.devices.*.shareID"
)

const validate: Strategy["validateStatus"] = (claim, previous) => {
  const path = "status.allocation"
  const [users, allocation] = [arrayAt(claim, "status", "reservedFor"), at(claim, "status", "allocation")]
  const before = at(previous, "status", "allocation")
  const allocated = new Set(arrayAt(allocation, "devices", "results").map(idOf))
  const isChanged = allocation !== undefined && before !== undefined && !JsonValue.equals(allocation, before)
  return [
    ...DeviceRules.set(users, most.users, "status.reservedFor", user, (item) => stringAt(item, "uid")),
    ...devicesFaults(claim, previous, allocated),
    ...when(
      users.length > 0 && allocation === undefined,
      FieldError.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    ),
    ...(isChanged
      ? [FieldError.invalidPrinted(path, GoStruct.print(allocation, allocationFields), "field is immutable")]
      : []),
    ...(allocation === undefined || before !== undefined ? [] : allocationFaults(allocation, at(claim, "spec"), path))
  ]
}

export const claim: Pick<Strategy, "prepareStatus" | "validateStatus"> = {
  prepareStatus: (object) => prepare(object),
  validateStatus: validate
}
