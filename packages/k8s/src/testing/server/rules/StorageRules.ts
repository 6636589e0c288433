/**
 * `StorageRules`: validates PersistentVolumes, StorageClasses and VolumeAttributesClasses, and their updates.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidatePersistentVolumeSpec` and
 * pkg/apis/storage/validation/validation.go `ValidateStorageClass`.
 */
import { timestamp } from "../../../api/Identity.ts"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import * as Quantity from "../../../api/Quantity.ts"
import { type Faults, invalids, optional, required, subdomain, when } from "./Checks.ts"
import * as ClaimRules from "./ClaimRules.ts"
import { immutable } from "./Immutability.ts"
import * as NetworkDiskRules from "./pods/NetworkDiskRules.ts"
import * as PathRules from "./pods/PathRules.ts"
import * as PlacementRules from "./pods/PlacementRules.ts"
import * as VolumeRules from "./pods/VolumeRules.ts"

const secretRef = (csi: unknown, field: string, path: string): Faults => {
  const secret = at(csi, field)
  const here = `${path}.${field}`
  if (secret === undefined) return []
  const namespace = stringAt(secret, "namespace")
  return [
    ...(stringAt(secret, "name") === "" ? required(secret, here, "name") : subdomain(secret, "name", here)),
    ...(namespace === ""
      ? required(secret, here, "namespace")
      : invalids(`${here}.namespace`, namespace, Names.dnsLabel(namespace)))
  ]
}

const secrets = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef"
]

const sources: Readonly<Record<string, (source: unknown, path: string, spec: unknown, name: string) => Faults>> = {
  ...Object.fromEntries(
    [
      "hostPath",
      "gcePersistentDisk",
      "awsElasticBlockStore",
      "glusterfs",
      "flocker",
      "nfs",
      "rbd",
      "quobyte",
      "cephfs",
      "iscsi",
      "cinder",
      "fc",
      "flexVolume",
      "azureFile",
      "vsphereVolume",
      "photonPersistentDisk",
      "portworxVolume",
      "azureDisk",
      "scaleIO"
    ].map((name) => [name, (source: unknown, path: string) => VolumeRules.source(name, source, path)])
  ),
  iscsi: (source, path, _, name) => NetworkDiskRules.iscsiVolume(source, path, name),
  local: (source, path, spec) => [
    ...(stringAt(source, "path") === ""
      ? required(source, path, "path")
      : PathRules.noBacksteps(stringAt(source, "path"), `${path}.path`)),
    ...when(
      at(spec, "nodeAffinity", "required") === undefined,
      FieldError.required("spec.nodeAffinity", "Local volume requires node affinity")
    )
  ],
  storageos: () => [],
  csi: (source, path) => [
    ...VolumeRules.driver(source, path),
    ...required(source, path, "volumeHandle"),
    ...secrets.flatMap((field) => secretRef(source, field, path))
  ]
}

const givenSources = (spec: unknown): ReadonlyArray<string> =>
  Object.keys(sources).filter((name) => at(spec, name) !== undefined)

const sourceFaults = (spec: unknown, path: string, name: string): Faults => {
  const sourceOf = (source: string) => sources[source]!(at(spec, source), `${path}.${source}`, spec, name)
  const [first, ...others] = givenSources(spec)
  return first === undefined ? [FieldError.required(path, "must specify a volume type")] : [
    ...sourceOf(first),
    // A flexVolume counts as a source, but is never reported as the superfluous one.
    ...others.flatMap((name) => name === "flexVolume" ? sourceOf(name) : VolumeRules.oneTooMany(name, path))
  ]
}

const accessFaults = (spec: unknown, path: string): Faults => [
  ...when(arrayAt(spec, "accessModes").length === 0, FieldError.required(`${path}.accessModes`, "")),
  ...ClaimRules.modeFaults(arrayAt(spec, "accessModes"), `${path}.accessModes`)
]

/** Fields that an inline volume may not have, or may have with one value only. */
const inlineFields: Readonly<Record<string, string | undefined>> = {
  claimRef: undefined,
  capacity: undefined,
  persistentVolumeReclaimPolicy: "Retain",
  nodeAffinity: undefined,
  storageClassName: undefined,
  volumeMode: "Filesystem"
}

/** Faults of an inline volume. */
export const inlineVolume = (spec: unknown, path: string): Faults => {
  const context = "in the context of inline volumes"
  return [
    ...Object.entries(inlineFields).flatMap(([field, only]) => {
      const value = at(spec, field)
      const words = field === "volumeMode" ? "may not specify volumeMode other than" : "may only be"
      return when(
        value !== undefined && value !== "" && value !== only && (field !== "capacity" || !isEmpty(value)),
        FieldError.forbidden(
          `${path}.${field}`,
          only === undefined ? `may not be specified ${context}` : `${words} ${only} ${context}`
        )
      )
    }),
    ...when(
      at(spec, "csi") === undefined,
      FieldError.required(`${path}.csi`, `has to be specified ${context}`)
    ),
    ...accessFaults(spec, path),
    ...sourceFaults(spec, path, "")
  ]
}

const isEmpty = (value: unknown): boolean => JsonValue.isObject(value) && Object.keys(value).length === 0

const capacityFaults = (spec: unknown): Faults => {
  const capacity = objectAt(spec, "capacity")
  const names = Object.keys(capacity)
  return [
    ...when(names.length === 0, FieldError.required("spec.capacity", "")),
    ...when(
      names.length !== 1 || names[0] !== "storage",
      FieldError.notSupported("spec.capacity", at(spec, "capacity") ?? null, ["storage"])
    ),
    ...Object.entries(capacity).flatMap(([name, amount]) => {
      const path = `spec.capacity[${name}]`
      const order = Quantity.compare(String(amount), "0")
      return [
        ...when(
          order < 0,
          FieldError.invalid(
            path,
            Number(Quantity.billionths(String(amount)) / 1_000_000_000n),
            "must be a valid resource quantity"
          )
        ),
        ...when(order <= 0, FieldError.invalid(path, amount, "must be greater than zero"))
      ]
    })
  ]
}

const affinityFaults = (spec: unknown): Faults => {
  const nodes = at(spec, "nodeAffinity", "required")
  return at(spec, "nodeAffinity") === undefined
    ? []
    : nodes === undefined
    ? [FieldError.required("spec.nodeAffinity.required", "must specify required node constraints")]
    : PlacementRules.nodeSelector(nodes, "spec.nodeAffinity.required")
}

const validateVolume: Strategy["validate"] = (volume) => {
  const spec = objectAt(volume, "spec")
  const attributes = at(spec, "volumeAttributesClassName")
  return [
    ...accessFaults(spec, "spec"),
    ...capacityFaults(spec),
    ...optional(spec, "persistentVolumeReclaimPolicy", "spec", ["Delete", "Recycle", "Retain"]),
    ...affinityFaults(spec),
    ...sourceFaults(spec, "spec", stringAt(volume, "metadata", "name")),
    ...when(
      stringAt(spec, "hostPath", "path") === "/" && stringAt(spec, "persistentVolumeReclaimPolicy") === "Recycle",
      FieldError.forbidden("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'")
    ),
    ...subdomain(spec, "storageClassName", "spec"),
    ...optional(spec, "volumeMode", "spec", ["Block", "Filesystem"]),
    ...(attributes === undefined ? [] : [
      ...(attributes === ""
        ? [FieldError.required("spec.volumeAttributesClassName", "an empty string is disallowed")]
        : subdomain(spec, "volumeAttributesClassName", "spec")),
      ...when(
        at(spec, "csi") === undefined,
        FieldError.required("spec.csi", "has to be specified when using volumeAttributesClassName")
      )
    ])
  ]
}

/** The source of a volume, without a secret for expansion that is added later. */
const sourceOf = (volume: unknown, previous: unknown): JsonValue.JsonObject => {
  const spec = objectAt(volume, "spec")
  const found = Object.fromEntries(givenSources(spec).map((name) => [name, spec[name]]))
  const late = "controllerExpandSecretRef"
  return at(previous, "spec", "csi") !== undefined && at(previous, "spec", "csi", late) === undefined &&
      found["csi"] !== undefined
    ? { ...found, csi: JsonValue.remove(objectAt(found, "csi"), late) }
    : found
}

const validateVolumeUpdate: Strategy["validateUpdate"] = (next, previous) => [
  // The registry validates twice, and every fault is reported each time it is found.
  ...validateVolume(next),
  ...volumeChanges(next, previous)
]

const requirementFields: GoStruct.Fields = [["key", "\"\""], ["operator", "\"\""], ["values", "null"]]
const affinityFields: GoStruct.Fields = [
  ["required", "null", [
    ["nodeSelectorTerms", "null", [
      ["matchExpressions", "null", requirementFields],
      ["matchFields", "null", requirementFields]
    ]]
  ]]
]

/** The stable names of deprecated node labels. */
const stable: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": "kubernetes.io/arch",
  "beta.kubernetes.io/os": "kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
  "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type"
}

/** The previous affinity, with the stable names of labels if the new one uses them. */
const graduated = (before: unknown, next: unknown): unknown => {
  if (Array.isArray(before)) {
    return before.map((item, index) => graduated(item, Array.isArray(next) ? next[index] : undefined))
  }
  if (!JsonValue.isObject(before)) return before
  return Object.fromEntries(
    Object.entries(before).map(([key, value]) => {
      const after = at(next, key)
      return [
        key,
        key === "key" && stable[String(value)] === after && after !== undefined ? after : graduated(value, after)
      ]
    })
  )
}

const volumeChanges: Strategy["validateUpdate"] = (next, previous) => {
  const [mode, old] = [next, previous].map((volume) => at(volume, "spec", "volumeMode"))
  const [nodes, before] = [next, previous].map((volume) => at(volume, "spec", "nodeAffinity"))
  const [name, attributes] = [next, previous].map((volume) => at(volume, "spec", "volumeAttributesClassName"))
  return [
    ...when(
      !JsonValue.equals(sourceOf(next, previous), sourceOf(previous, previous)),
      FieldError.forbidden(
        "spec.persistentvolumesource",
        "spec.persistentvolumesource is immutable after creation"
      )
    ),
    ...when(mode !== old, FieldError.invalid("volumeMode", mode ?? null, "field is immutable")),
    ...when(
      before !== undefined && !JsonValue.equals(nodes, graduated(before, nodes)),
      FieldError.invalidPrinted(
        "nodeAffinity",
        nodes === undefined ? "null" : GoStruct.print(nodes, affinityFields),
        "field is immutable, except for updating from beta label to GA"
      )
    ),
    ...when(
      attributes !== undefined && name === undefined,
      FieldError.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")
    )
  ]
}

/** Sets the transition time of a volume whose phase changes, unless the client does. */
const prepareStatus: Strategy["prepareStatus"] = (next, previous, now) => {
  const [before, after] = [objectAt(previous, "status"), objectAt(next, "status")]
  const [known, given] = [before["lastPhaseTransitionTime"], after["lastPhaseTransitionTime"]]
  const time = before["phase"] === after["phase"]
    ? given ?? known
    : given === undefined || given === known
    ? timestamp(now)
    : given
  return time === given ? next : { ...next, status: { ...after, lastPhaseTransitionTime: time } }
}

export const volume: Partial<Strategy> = {
  prepareStatus,
  validate: validateVolume,
  validateUpdate: validateVolumeUpdate
}

const mostParameters = 512
const sizeOfParameters = 256 * 1024

const parameterFaults = (parameters: JsonValue.JsonObject): Faults => {
  const entries = Object.entries(parameters)
  if (entries.length > mostParameters) return [FieldError.tooLong("parameters", mostParameters)]
  const size = entries.reduce((sum, [key, value]) => sum + Names.byteLength(key) + Names.byteLength(String(value)), 0)
  return [
    ...when("" in parameters, FieldError.invalid("parameters", "", "field can not be empty.")),
    ...when(size > sizeOfParameters, FieldError.tooLong("parameters", sizeOfParameters))
  ]
}

/** A top-level field with one of the values. */
const choice = (object: unknown, field: string, values: ReadonlyArray<string>): Faults =>
  when(!values.includes(stringAt(object, field)), FieldError.notSupported(field, stringAt(object, field), values))

/** What a term selects; of a repeated key, the first occurrence counts. */
const selected = (term: unknown): string => {
  const values = new Map<string, ReadonlyArray<string>>()
  for (const expression of arrayAt(term, "matchLabelExpressions")) {
    const key = stringAt(expression, "key")
    if (!values.has(key)) values.set(key, [...new Set(arrayAt(expression, "values").map(String))].toSorted())
  }
  return JSON.stringify([...values].toSorted(([a], [b]) => a < b ? -1 : 1))
}

/**
 * A term is reported once for each equal one before it. As in the real server, which starts its list with as many empty
 * terms as there are terms, an empty term equals all of those, too.
 */
const repeatedTerms = (terms: ReadonlyArray<unknown>, place: number): Faults => {
  const own = selected(terms[place])
  const before = [...terms.map(() => "[]"), ...terms.slice(0, place).map(selected)]
  return before.filter((other) => other === own).map(() =>
    FieldError.duplicate(`allowedTopologies[${place}].matchLabelExpressions`, "")
  )
}

const topologyFaults = (terms: ReadonlyArray<unknown>): Faults =>
  terms.flatMap((term, place) => {
    const keys = new Set<string>()
    const own = arrayAt(term, "matchLabelExpressions").flatMap((expression, index) => {
      const path = `allowedTopologies[${place}].matchLabelExpressions[${index}]`
      const key = stringAt(expression, "key")
      const values = arrayAt(expression, "values").map(String)
      const repeated = keys.has(key)
      keys.add(key)
      return [
        ...when(values.length === 0, FieldError.required(`${path}.values`, "")),
        ...values.flatMap((value, at) =>
          when(values.indexOf(value) < at, FieldError.duplicate(`${path}.values[${at}]`, value))
        ),
        ...invalids(`${path}.key`, key, Names.labelKey(key)),
        ...when(repeated, FieldError.duplicate(`${path}.key`, key))
      ]
    })
    return [...own, ...repeatedTerms(terms, place)]
  })

/** Faults of the provisioner of a class. */
const provisionerFaults = (object: unknown, field: string): Faults => {
  const provisioner = stringAt(object, field).toLowerCase()
  return provisioner === ""
    ? [FieldError.required(field, "")]
    : invalids(field, provisioner, Names.labelKey(provisioner))
}

/** Fields that are immutable. */
const fixed = (...fields: ReadonlyArray<string>): Strategy["validateUpdate"] => (next, previous) =>
  fields.flatMap((field) =>
    when(
      !JsonValue.equals(at(next, field), at(previous, field)),
      FieldError.forbidden(field, `updates to ${field} are forbidden.`)
    )
  )

const validateClass: Strategy["validate"] = (object) => [
  ...provisionerFaults(object, "provisioner"),
  ...parameterFaults(objectAt(object, "parameters")),
  ...when(stringAt(object, "reclaimPolicy") !== "", ...choice(object, "reclaimPolicy", ["Delete", "Retain"])),
  ...choice(object, "volumeBindingMode", ["Immediate", "WaitForFirstConsumer"]),
  ...topologyFaults(arrayAt(object, "allowedTopologies"))
]

const validateClassUpdate: Strategy["validateUpdate"] = (next, previous) => [
  ...fixed("parameters", "provisioner", "reclaimPolicy")(next, previous),
  ...immutable("volumeBindingMode")(next, previous)
]

export const storageClass: Partial<Strategy> = { validate: validateClass, validateUpdate: validateClassUpdate }

/** A VolumeAttributesClass: parameters that a driver applies to existing volumes. */
export const attributesClass: Partial<Strategy> = {
  validate: (object) => {
    const parameters = objectAt(object, "parameters")
    return [
      ...provisionerFaults(object, "driverName"),
      ...parameterFaults(parameters),
      ...when(
        Object.keys(parameters).length === 0,
        FieldError.required("parameters", "must contain at least one key/value pair")
      )
    ]
  },
  validateUpdate: fixed("driverName", "parameters")
}
