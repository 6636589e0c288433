/**
 * `DriverRules`: validates CSIDrivers and CSINodes: how a storage driver works, and where it runs.
 *
 * Most settings of a CSIDriver can change, but not whether it attaches and which life cycles its volumes have. A
 * driver's ID of a Node is immutable.
 *
 * Source: k8s.io/kubernetes/pkg/apis/storage/validation/validation.go `ValidateCSIDriver`, `ValidateCSINode` and the
 * strategies in pkg/registry/storage.
 */
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, invalids, optional, when } from "./Checks.ts"
import * as VolumeRules from "./pods/VolumeRules.ts"

const lifecycleModes = ["Persistent", "Ephemeral"]
const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"]

/** The minimum and maximum lifetime of a token, in seconds. */
const tokenLife = { least: 600, most: 2 ** 32 }

/** The minimum interval of updates of a Node's capacity, in seconds. */
const shortestPeriod = 10

const tokenFaults = (spec: unknown): Faults => {
  const audiences = new Set<string>()
  return arrayAt(spec, "tokenRequests").flatMap((request, index) => {
    const path = `spec.tokenRequests[${index}]`
    const audience = stringAt(request, "audience")
    const seconds = at(request, "expirationSeconds")
    if (audiences.has(audience)) return [FieldError.duplicate(`${path}.audience`, audience)]
    audiences.add(audience)
    const refused = (why: string) => FieldError.invalid(`${path}.expirationSeconds`, seconds, why)
    return typeof seconds !== "number" ? [] : [
      ...when(seconds < tokenLife.least, refused("may not specify a duration less than 10 minutes")),
      ...when(seconds > tokenLife.most, refused("may not specify a duration larger than 2^32 seconds"))
    ]
  })
}

const validateDriver: Strategy["validate"] = (object) => {
  const spec = at(object, "spec")
  const period = at(spec, "nodeAllocatableUpdatePeriodSeconds")
  const inSecrets = at(spec, "serviceAccountTokenInSecrets")
  return [
    ...optional(spec, "fsGroupPolicy", "spec", groupPolicies),
    ...tokenFaults(spec),
    ...arrayAt(spec, "volumeLifecycleModes").filter((mode) => !lifecycleModes.includes(String(mode))).map((mode) =>
      FieldError.notSupported("spec.volumeLifecycleModes", mode, lifecycleModes)
    ),
    ...when(
      typeof period === "number" && period < shortestPeriod,
      FieldError.invalid(
        "spec.nodeAllocatableUpdatePeriodSeconds",
        period,
        `must be greater than or equal to ${shortestPeriod} seconds`
      )
    ),
    ...when(
      inSecrets !== undefined && arrayAt(spec, "tokenRequests").length === 0,
      FieldError.invalid(
        "spec.serviceAccountTokenInSecrets",
        inSecrets,
        "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
      )
    )
  ]
}

/** Immutable fields, with their names in messages. */
const fixed = { attachRequired: "attachedRequired", volumeLifecycleModes: "volumeLifecycleModes" }

const validateDriverUpdate: Strategy["validateUpdate"] = (next, previous) =>
  Object.entries(fixed).flatMap(([field, told]) => {
    const value = at(next, "spec", field)
    return when(
      !JsonValue.equals(value, at(previous, "spec", field)),
      FieldError.invalid(`spec.${told}`, value ?? null, "field is immutable")
    )
  })

export const driver: Partial<Strategy> = {
  generation: "later",
  unconditionalUpdate: false,
  answersDeleted: true,
  validate: validateDriver,
  validateUpdate: validateDriverUpdate
}

/** The maximum length of a driver's ID of a Node, in bytes. */
const longestNodeId = 256

const topologyFaults = (keys: ReadonlyArray<string>, path: string): Faults =>
  keys.flatMap((key, index) => [
    ...when(key === "", FieldError.required(path, "")),
    ...when(keys.indexOf(key) < index, FieldError.duplicate(path, key)),
    ...invalids(path, key, Names.labelKey(key))
  ])

const validateNode: Strategy["validate"] = (object) => {
  const drivers = arrayAt(object, "spec", "drivers")
  const names = drivers.map((entry) => stringAt(entry, "name"))
  return drivers.flatMap((entry, index) => {
    const path = `spec.drivers[${index}]`
    const id = stringAt(entry, "nodeID")
    const count = at(entry, "allocatable", "count")
    return [
      ...VolumeRules.driverName(names[index]!, `${path}.name`),
      ...when(id === "", FieldError.required(`${path}.nodeID`, "")),
      ...when(
        Names.byteLength(id) > longestNodeId,
        FieldError.invalid(`${path}.nodeID`, id, `must be ${longestNodeId} characters or less`)
      ),
      ...when(
        typeof count === "number" && count < 0,
        FieldError.invalid(`${path}.allocatable.count`, count, "must be greater than or equal to 0")
      ),
      ...when(names.indexOf(names[index]!) < index, FieldError.duplicate(`${path}.name`, names[index])),
      ...topologyFaults(arrayAt(entry, "topologyKeys").map(String), path)
    ]
  })
}

/** The number of volumes that a Node can have may change. */
const driverFields: GoStruct.Fields = [
  ["name", "\"\""],
  ["nodeID", "\"\"", undefined, "NodeID"],
  ["topologyKeys", "null"],
  ["allocatable", "null"]
]

const withoutAllocatable = (entry: unknown): unknown =>
  JsonValue.isObject(entry) ? JsonValue.remove(entry, "allocatable") : entry

const validateNodeUpdate: Strategy["validateUpdate"] = (next, previous) => [
  // The server validates the new object twice, and reports each fault twice.
  ...validateNode(next),
  ...arrayAt(previous, "spec", "drivers").flatMap((old) =>
    arrayAt(next, "spec", "drivers").filter((entry) => stringAt(entry, "name") === stringAt(old, "name")).flatMap(
      (entry) => {
        const [now, before] = [withoutAllocatable(entry), withoutAllocatable(old)]
        return when(!JsonValue.equals(now, before), {
          ...FieldError.invalid("spec.drivers", now, "field is immutable"),
          printed: GoStruct.print(now, driverFields)
        })
      }
    )
  )
]

export const node: Partial<Strategy> = {
  unconditionalUpdate: false,
  answersDeleted: true,
  validate: validateNode,
  validateUpdate: validateNodeUpdate
}
